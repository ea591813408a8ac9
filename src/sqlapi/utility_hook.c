/*-------------------------------------------------------------------------
 *
 * utility_hook.c
 *	  Commands that shard_fdw has to take part in.
 *
 * Which branches belong to a prepared transaction is in its log row, which is
 * not visible before COMMIT PREPARED and never after ROLLBACK PREPARED.  So
 * the rows of all prepared transactions are read before the command, without
 * regard to visibility, and afterwards those that have ended are settled.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/catch_point.h"
#include "base/compat.h"
#include "base/settings.h"
#include "sqlapi/drop_guard.h"
#include "sqlapi/utility_hook.h"
#include "txn/commit_log.h"
#include "txn/gid.h"
#include "txn/local_xact.h"
#include "txn/notify_watch.h"
#include "txn/recovery.h"
#include "worker/worker_launch.h"
#include "worker/worker_shared.h"
#include "worker/worker_stats.h"

static ProcessUtility_hook_type previous_hook = NULL;

/* ---- the user's prepared transactions ---- */

/*
 * Does the command end a transaction that may have branches?  One of our own
 * branches, on a server that is a shard as well, has none.
 */
static bool
ends_prepared_transaction(Node *statement)
{
	TransactionStmt *command = (TransactionStmt *) statement;
	Gid			gid;

	return IsA(statement, TransactionStmt) &&
		(command->kind == TRANS_STMT_COMMIT_PREPARED ||
		 command->kind == TRANS_STMT_ROLLBACK_PREPARED) &&
		!gid_parse(command->gid, &gid) &&
		!RecoveryInProgress() &&
		IsTransactionState() &&
		commit_log_is_installed();
}

static List *
list_prepared_rows(void)
{
	List	   *prepared = NIL;
	ListCell   *cell;

	foreach(cell, commit_log_list_with_uncommitted())
	{
		if (local_xact_is_prepared(((CommitLogEntry *) lfirst(cell))->xid))
			prepared = lappend(prepared, lfirst(cell));
	}
	return prepared;
}

/*
 * The servers of those of the transactions that have ended.
 */
static List *
list_servers_of_ended(List *rows)
{
	List	   *servers = NIL;
	ListCell   *cell;

	foreach(cell, rows)
	{
		CommitLogEntry *entry = lfirst(cell);
		int			position;

		if (local_xact_is_running(entry->xid))
			continue;
		for (position = 0; position < entry->nparticipants; position++)
			servers = list_append_unique_oid(servers,
											 entry->participants[position].serverid);
	}
	return servers;
}

static void
warn_of_failure(const RecoveryReport *report)
{
	const char *reason = report->error;

	if (reason == NULL && report->incidents != NIL)
		reason = linitial(report->incidents);
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("prepared transaction is not yet finished on server \"%s\"",
					report->server_name),
			 reason ? errdetail("%s", reason) : 0,
			 errhint("The recovery worker goes on with it. See the view shard_fdw.in_doubt.")));
}

/*
 * True if nothing is left to do.
 */
static bool
take_reports(List *reports)
{
	bool		is_complete = true;
	ListCell   *cell;

	foreach(cell, reports)
	{
		RecoveryReport *report = lfirst(cell);

		worker_stats_count_recovered(report->serverid,
									 report->committed + report->rolled_back);
		if (report->is_complete)
			continue;
		is_complete = false;
		warn_of_failure(report);
	}
	return is_complete;
}

/*
 * One pass.  The command has already succeeded, so nothing here may make it
 * fail.
 */
static bool
settle(List *servers)
{
	CatchPoint	before = catch_point_here();
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool is_complete = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(before.context);
	PG_TRY();
	{
		TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									setting_commit_timeout);

		is_complete = take_reports(recovery_run(servers, deadline, NULL));
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(before.context);
		error = CopyErrorData();
		catch_point_return(&before);
		RollbackAndReleaseCurrentSubTransaction();
		ereport(WARNING,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("prepared transaction is not yet finished on all servers"),
				 errdetail("%s", error->message),
				 errhint("The recovery worker goes on with it. See the view shard_fdw.in_doubt.")));
	}
	PG_END_TRY();
	MemoryContextSwitchTo(before.context);
	CurrentResourceOwner = owner;
	return is_complete;
}

static void
settle_ended(List *rows)
{
	List	   *servers = list_servers_of_ended(rows);

	if (servers != NIL && !settle(servers))
		worker_launch_wake_noerror();
}

/* ---- databases without sessions ---- */

/*
 * The database the command needs for itself; NULL for other commands.
 */
static char *
wanted_database(Node *statement)
{
	ListCell   *cell;

	if (IsA(statement, DropdbStmt))
		return ((DropdbStmt *) statement)->dbname;
	if (IsA(statement, RenameStmt) &&
		((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
		return ((RenameStmt *) statement)->subname;
	if (!IsA(statement, CreatedbStmt))
		return NULL;
	foreach(cell, ((CreatedbStmt *) statement)->options)
	{
		DefElem    *option = lfirst(cell);

		if (strcmp(option->defname, "template") == 0 && option->arg)
			return defGetString(option);
	}
	return NULL;
}

/*
 * Only for who may carry out the command.
 */
static void
stop_worker_of(const char *name)
{
	Oid			database = get_database_oid(name, true);
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return;
	owner = ((Form_pg_database) GETSTRUCT(tuple))->datdba;
	ReleaseSysCache(tuple);
	if (has_privs_of_role(GetUserId(), owner))
		worker_shared_stop_worker(database);
}

/* ---- the hook ---- */

static void
utility_hook(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *query_env, DestReceiver *dest,
			 QueryCompletion *qc)
{
	Node	   *statement = pstmt->utilityStmt;
	bool		ends_prepared = ends_prepared_transaction(statement);
	List	   *rows = ends_prepared ? list_prepared_rows() : NIL;
	char	   *database = wanted_database(statement);

	if (database && worker_shared_is_available())
		stop_worker_of(database);
	drop_guard_check_statement(statement);
	if (IsA(statement, NotifyStmt))
		notify_watch_note();
	if (previous_hook)
		previous_hook(pstmt, query_string, read_only_tree, context, params,
					  query_env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query_string, read_only_tree, context,
								params, query_env, dest, qc);
	if (rows != NIL)
		settle_ended(rows);
}

void
utility_hook_init(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility_hook;
}
