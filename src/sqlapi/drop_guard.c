/*-------------------------------------------------------------------------
 *
 * drop_guard.c
 *	  Keeps what something in doubt needs from being dropped.
 *
 * Rows stay in the log for a moment after a transaction is finished, so
 * before a drop is refused one recovery pass is made over the server and the
 * others that its rows name; its deletions are part of the dropping
 * transaction.
 *
 * The log does not name transactions that aborted.  What the recovery worker
 * could not roll back on a server is known from its last pass, when there is
 * shared memory.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/acl.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "sqlapi/drop_guard.h"
#include "txn/commit_log.h"
#include "txn/recovery.h"
#include "txn/recovery_catalog.h"
#include "worker/worker_shared.h"
#include "worker/worker_stats.h"

/* how long a drop waits for what is in doubt to be settled */
#define SETTLE_LIMIT_MS 5000

/* What is being dropped. */
typedef struct DropTarget
{
	Oid			serverid;		/* InvalidOid: all servers */
	bool		is_mapping;
	Oid			userid;			/* of the mapping, InvalidOid for PUBLIC */
	char	   *description;	/* for messages */
} DropTarget;

static object_access_hook_type previous_hook = NULL;

static bool
has_own_mapping(Oid userid, Oid serverid)
{
	return SearchSysCacheExists2(USERMAPPINGUSERSERVER,
								 ObjectIdGetDatum(userid),
								 ObjectIdGetDatum(serverid));
}

static bool
needs_target(const CommitLogParticipant *participant, const DropTarget *target)
{
	if (OidIsValid(target->serverid) && participant->serverid != target->serverid)
		return false;
	if (!target->is_mapping)
		return true;
	if (OidIsValid(target->userid))
		return participant->userid == target->userid;
	return !has_own_mapping(participant->userid, participant->serverid);
}

/* The rows of the log that need the target. */
static List *
list_rows(const DropTarget *target)
{
	List	   *rows = NIL;
	ListCell   *cell;

	foreach(cell, commit_log_list_with_uncommitted())
	{
		const CommitLogEntry *entry = lfirst(cell);
		int			position;

		for (position = 0; position < entry->nparticipants; position++)
		{
			if (needs_target(&entry->participants[position], target))
			{
				rows = lappend(rows, lfirst(cell));
				break;
			}
		}
	}
	return rows;
}

/*
 * The servers to look at: a row goes when nothing is left to do on any of its
 * own.
 */
static List *
list_servers(const DropTarget *target, List *rows)
{
	List	   *servers;
	ListCell   *cell;

	if (!OidIsValid(target->serverid))
		return NIL;
	servers = list_make1_oid(target->serverid);
	foreach(cell, rows)
	{
		const CommitLogEntry *entry = lfirst(cell);
		int			position;

		for (position = 0; position < entry->nparticipants; position++)
			servers = list_append_unique_oid(servers,
											 entry->participants[position].serverid);
	}
	return servers;
}

/*
 * Makes one pass; returns how many branches it had to leave on the server.
 */
static int
try_to_settle(const DropTarget *target, List *rows)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   SETTLE_LIMIT_MS);
	int			nleft = 0;
	ListCell   *cell;

	foreach(cell, recovery_run(list_servers(target, rows), deadline, NULL))
	{
		RecoveryReport *report = lfirst(cell);

		if (!OidIsValid(target->serverid) || report->serverid == target->serverid)
			nleft += report->failed;
	}
	return nleft;
}

static void
refuse(const DropTarget *target, int nrows, int nbranches)
{
	if (!setting_allow_drop_in_doubt)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot drop %s because transactions in doubt need it",
						target->description),
				 errdetail("%d committed and %d aborted transactions are not known to be finished there.",
						   nrows, nbranches),
				 errhint("See the view shard_fdw.in_doubt, and settle them with shard_fdw.resolve().")));
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("dropping %s although transactions in doubt need it",
					target->description),
			 errdetail("%d committed and %d aborted transactions are not known to be finished there.",
					   nrows, nbranches)));
	ereport(LOG,
			(errmsg("%s is dropped by user \"%s\" with shard_fdw.allow_drop_in_doubt although %d committed and %d aborted transactions need it",
					target->description, GetUserNameFromId(GetUserId(), true),
					nrows, nbranches)));
}

static void
check_target(const DropTarget *target)
{
	List	   *rows;
	int			nbranches;

	if (!commit_log_is_installed())
		return;
	rows = list_rows(target);
	if (rows == NIL &&
		!(OidIsValid(target->serverid) &&
		  worker_shared_get_server(target->serverid).attempts > 0))
		return;
	nbranches = try_to_settle(target, rows);
	rows = list_rows(target);
	if (rows != NIL || nbranches > 0)
		refuse(target, list_length(rows), nbranches);
}

void
drop_guard_check_server(Oid serverid)
{
	DropTarget	target = {0};

	if (!recovery_catalog_has_server(serverid))
		return;
	target.serverid = serverid;
	target.description = psprintf("server \"%s\"",
								  GetForeignServer(serverid)->servername);
	check_target(&target);
}

static void
check_mapping(Oid umid)
{
	HeapTuple	tuple = SearchSysCache1(USERMAPPINGOID, ObjectIdGetDatum(umid));
	DropTarget	target = {0};

	if (!HeapTupleIsValid(tuple))
		return;
	target.is_mapping = true;
	target.userid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umuser;
	target.serverid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umserver;
	ReleaseSysCache(tuple);
	if (!recovery_catalog_has_server(target.serverid))
		return;
	target.description = psprintf("user mapping of \"%s\" for server \"%s\"",
								  MappingUserName(target.userid),
								  GetForeignServer(target.serverid)->servername);
	check_target(&target);
}

/*
 * The log, its index or the identity, so the extension.  Whichever is dropped
 * first, the others are still there.
 */
static void
check_relation(Oid relid, int subid)
{
	DropTarget	target = {0};

	if (subid != 0 || !commit_log_is_relation(relid))
		return;
	target.description = "extension \"shard_fdw\"";
	check_target(&target);
}

static void
drop_guard(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id,
		   void *arg)
{
	if (previous_hook)
		previous_hook(access, class_id, object_id, sub_id, arg);
	if (access != OAT_DROP)
		return;
	if (class_id == ForeignServerRelationId)
	{
		drop_guard_check_server(object_id);
		worker_shared_forget_server(object_id);
		worker_stats_forget_server(object_id);
	}
	else if (class_id == UserMappingRelationId)
		check_mapping(object_id);
	else if (class_id == RelationRelationId)
		check_relation(object_id, sub_id);
}

static void
check_mapping_statement(DropUserMappingStmt *statement)
{
	ForeignServer *server = GetForeignServerByName(statement->servername, true);
	bool		is_public = statement->user->roletype == ROLESPEC_PUBLIC;
	Oid			userid = is_public ? InvalidOid :
	get_rolespec_oid(statement->user, true);
	Oid			umid;

	if (server == NULL || (!is_public && !OidIsValid(userid)))
		return;
	umid = GetSysCacheOid2(USERMAPPINGUSERSERVER, Anum_pg_user_mapping_oid,
						   ObjectIdGetDatum(userid),
						   ObjectIdGetDatum(server->serverid));
	if (OidIsValid(umid) &&
		(has_privs_of_role(GetUserId(), server->owner) || userid == GetUserId()))
		check_mapping(umid);
}

static void
check_server_statement(DropStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->objects)
	{
		ForeignServer *server = GetForeignServerByName(strVal(lfirst(cell)), true);

		if (server && has_privs_of_role(GetUserId(), server->owner))
			drop_guard_check_server(server->serverid);
	}
}

void
drop_guard_check_statement(Node *statement)
{
	if (setting_allow_drop_in_doubt)
		return;					/* to be reported once */
	if (IsA(statement, DropUserMappingStmt))
		check_mapping_statement((DropUserMappingStmt *) statement);
	else if (IsA(statement, DropStmt) &&
			 ((DropStmt *) statement)->removeType == OBJECT_FOREIGN_SERVER)
		check_server_statement((DropStmt *) statement);
}

void
drop_guard_init(void)
{
	previous_hook = object_access_hook;
	object_access_hook = drop_guard;
}
