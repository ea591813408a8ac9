/*-------------------------------------------------------------------------
 *
 * sql_functions.c
 *	  The functions of schema shard_fdw that users call.
 *
 * Arguments and privileges are checked here, what is asked for is done
 * elsewhere, and rows are made of the answer.  transaction_status() is in
 * status_function.c.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/xid8.h"

#include "base/compat.h"
#include "base/settings.h"
#include "remote/remote_cache.h"
#include "remote/remote_options.h"
#include "txn/commit_log.h"
#include "txn/coordinator.h"
#include "txn/recovery.h"
#include "worker/worker_shared.h"
#include "worker/worker_stats.h"

/* how long the view in_doubt waits for shards, and the least for resolve() */
#define LOOK_LIMIT_MS 2000
#define RESOLVE_LIMIT_MS 10000

PGDLLEXPORT Datum shard_fdw_get_connections(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_connection(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_disconnect(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_disconnect_all(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_resolve(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_find_in_doubt(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_get_stat_shards(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum shard_fdw_get_stat_transactions(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(shard_fdw_get_connections);
PG_FUNCTION_INFO_V1(shard_fdw_connection);
PG_FUNCTION_INFO_V1(shard_fdw_disconnect);
PG_FUNCTION_INFO_V1(shard_fdw_disconnect_all);
PG_FUNCTION_INFO_V1(shard_fdw_resolve);
PG_FUNCTION_INFO_V1(shard_fdw_find_in_doubt);
PG_FUNCTION_INFO_V1(shard_fdw_get_stat_shards);
PG_FUNCTION_INFO_V1(shard_fdw_get_stat_transactions);

static void
put_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* a text that may be missing */
static void
set_text(Datum *values, bool *nulls, int column, const char *string)
{
	nulls[column] = string == NULL;
	values[column] = string ? CStringGetTextDatum(string) : (Datum) 0;
}

static void
set_time(Datum *values, bool *nulls, int column, TimestampTz time)
{
	nulls[column] = time == 0;
	values[column] = TimestampTzGetDatum(time);
}

/* ---- connections ---- */

static char *
server_name(Oid serverid)
{
	ForeignServer *server = GetForeignServerExtended(serverid, FSV_MISSING_OK);

	return server ? server->servername : NULL;
}

/*
 * The user a mapping is for; NULL when it has been dropped.
 */
static const char *
mapping_user(Oid umid)
{
	HeapTuple	tuple = SearchSysCache1(USERMAPPINGOID, ObjectIdGetDatum(umid));
	Oid			userid;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	userid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umuser;
	ReleaseSysCache(tuple);
	return MappingUserName(userid);
}

Datum
shard_fdw_get_connections(PG_FUNCTION_ARGS)
{
	bool		checks_conn = PG_GETARG_BOOL(0);
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, (List *) remote_cache_list())
	{
		RemoteCacheItem *item = lfirst(cell);
		int			pid = remote_conn_backend_pid(item->conn);
		Datum		values[6];
		bool		nulls[6] = {false};

		if (remote_conn_state(item->conn) == REMOTE_CONN_IDLE)
			continue;
		set_text(values, nulls, 0, server_name(item->serverid));
		set_text(values, nulls, 1, mapping_user(item->umid));
		values[2] = BoolGetDatum(item->is_valid);
		values[3] = BoolGetDatum(coordinator_is_in_use(item->conn));
		nulls[4] = !checks_conn;
		values[4] = BoolGetDatum(checks_conn &&
								 remote_conn_is_closed_by_peer(item->conn));
		nulls[5] = pid == 0;
		values[5] = Int32GetDatum(pid);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * Closes the connections to a server (InvalidOid: to all) that no transaction
 * uses; true if there was one.
 */
static bool
disconnect(Oid serverid)
{
	bool		has_closed = false;
	ListCell   *cell;

	foreach(cell, (List *) remote_cache_list())
	{
		RemoteCacheItem *item = lfirst(cell);

		if ((OidIsValid(serverid) && item->serverid != serverid) ||
			remote_conn_state(item->conn) == REMOTE_CONN_IDLE)
			continue;
		if (coordinator_is_in_use(item->conn))
			ereport(WARNING,
					(errmsg("cannot close connection for server \"%s\" because it is still in use",
							remote_conn_server_name(item->conn))));
		else
		{
			remote_cache_discard_noerror(item->conn);
			has_closed = true;
		}
	}
	return has_closed;
}

Datum
shard_fdw_disconnect(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	PG_RETURN_BOOL(disconnect(GetForeignServerByName(name, false)->serverid));
}

Datum
shard_fdw_disconnect_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(disconnect(InvalidOid));
}

/*
 * What CREATE SUBSCRIPTION ... SERVER asks the wrapper for, with the user
 * first; the third argument keeps it from being called in SQL.
 */
Datum
shard_fdw_connection(PG_FUNCTION_ARGS)
{
	Oid			userid = PG_GETARG_OID(0);
	Oid			serverid = PG_GETARG_OID(1);

	PG_RETURN_TEXT_P(cstring_to_text(remote_options_conninfo(GetForeignServer(serverid),
															 GetUserMapping(userid, serverid))));
}

/* ---- recovery ---- */

/*
 * The pass would not see what this transaction has begun, and its own
 * branches must not wait for it.
 */
static void
refuse_after_use_of_shards(const char *what)
{
	ListCell   *cell;

	foreach(cell, (List *) remote_cache_list())
	{
		if (coordinator_is_in_use(((RemoteCacheItem *) lfirst(cell))->conn))
			ereport(ERROR,
					(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
					 errmsg("%s cannot be called in a transaction that has used shards",
							what)));
	}
}

static void
put_report(FunctionCallInfo fcinfo, const RecoveryReport *report)
{
	Datum		values[8];
	bool		nulls[8] = {false};
	ListCell   *cell;

	foreach(cell, report->incidents)
		ereport(WARNING,
				(errcode(ERRCODE_T_R_INTEGRITY_CONSTRAINT_VIOLATION),
				 errmsg("server \"%s\" has lost a part of a committed transaction",
						report->server_name),
				 errdetail("%s.", (char *) lfirst(cell)),
				 errhint("The row in shard_fdw.commit_log is kept. Repair the data, then delete the row.")));
	worker_stats_count_recovered(report->serverid,
								 report->committed + report->rolled_back);
	set_text(values, nulls, 0, report->server_name);
	values[1] = BoolGetDatum(report->is_complete);
	values[2] = Int32GetDatum(report->committed);
	values[3] = Int32GetDatum(report->rolled_back);
	values[4] = Int32GetDatum(report->waiting);
	values[5] = Int32GetDatum(report->failed);
	values[6] = Int32GetDatum(report->lost);
	set_text(values, nulls, 7, report->error);
	put_row(fcinfo, values, nulls);
}

/*
 * What is prepared on a shard is newer than what has been replayed here: a
 * transaction that has committed would be taken for aborted.
 */
static void
refuse_on_standby(const char *what)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot use %s during recovery", what),
				 errdetail("A standby does not know what its primary runs and has decided by now."),
				 errhint("Use it on the primary. The rows of shard_fdw.commit_log can be read here.")));
}

Datum
shard_fdw_resolve(PG_FUNCTION_ARGS)
{
	List	   *servers = NIL;
	ListCell   *cell;
	TimestampTz deadline;

	refuse_on_standby("shard_fdw.resolve()");
	PreventCommandIfReadOnly("shard_fdw.resolve()");
	refuse_after_use_of_shards("shard_fdw.resolve()");
	if (!PG_ARGISNULL(0))
	{
		char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

		servers = list_make1_oid(GetForeignServerByName(name, false)->serverid);
	}
	InitMaterializedSRF(fcinfo, 0);
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
										   Max(setting_commit_timeout,
											   RESOLVE_LIMIT_MS));
	foreach(cell, recovery_run(servers, deadline, NULL))
		put_report(fcinfo, lfirst(cell));
	return (Datum) 0;
}

static const char *
branch_state_name(RecoveryBranchState state)
{
	switch (state)
	{
		case RECOVERY_RUNNING:
			return "running";
		case RECOVERY_USER_PREPARED:
			return "prepared by PREPARE TRANSACTION";
		case RECOVERY_ELSEWHERE:
			return "running elsewhere";
		case RECOVERY_COMMIT_PENDING:
			return "commit pending";
		case RECOVERY_ABORT_PENDING:
			return "abort pending";
		case RECOVERY_LOST:
			return "lost";
		case RECOVERY_UNREACHABLE:
			return "not reachable";
	}
	return NULL;				/* keep compiler quiet */
}

/*
 * One row of in_doubt; without a branch it is the shard that cannot be asked.
 */
static void
put_in_doubt(FunctionCallInfo fcinfo, const RecoverySight *sight,
			 const RecoveryBranch *branch)
{
	WorkerServer server = worker_shared_get_server(sight->serverid);
	const char *error = server.attempts > 0 && server.last_error[0] != '\0' ?
	server.last_error : sight->error;
	char		gid[GID_MAX_LENGTH + 1];
	Datum		values[8];
	bool		nulls[8] = {false};

	set_text(values, nulls, 0, sight->server_name);
	nulls[1] = nulls[2] = branch == NULL;
	if (branch)
	{
		gid_format(&branch->gid, gid);
		values[1] = CStringGetTextDatum(gid);
		values[2] = FullTransactionIdGetDatum(FullTransactionIdFromU64(branch->gid.xid));
	}
	set_text(values, nulls, 3, branch_state_name(branch ? branch->state :
												 RECOVERY_UNREACHABLE));
	set_time(values, nulls, 4, branch ? branch->since :
			 server.attempts > 0 ? server.since : 0);
	values[5] = Int32GetDatum(server.attempts);
	set_text(values, nulls, 6, error);
	set_time(values, nulls, 7, server.attempts > 0 ? server.next_try : 0);
	put_row(fcinfo, values, nulls);
}

Datum
shard_fdw_find_in_doubt(PG_FUNCTION_ARGS)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   LOOK_LIMIT_MS);
	ListCell   *cell;

	refuse_on_standby("shard_fdw.in_doubt");
	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, recovery_look(NIL, deadline))
	{
		RecoverySight *sight = lfirst(cell);
		ListCell   *branch;

		if (sight->error && sight->branches == NIL)
			put_in_doubt(fcinfo, sight, NULL);
		foreach(branch, sight->branches)
			put_in_doubt(fcinfo, sight, lfirst(branch));
	}
	return (Datum) 0;
}

/* ---- statistics ---- */

Datum
shard_fdw_get_stat_shards(PG_FUNCTION_ARGS)
{
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, worker_stats_list_servers())
	{
		ServerStats *stats = lfirst(cell);
		Datum		values[STAT_NCOUNTERS + 1];
		bool		nulls[STAT_NCOUNTERS + 1] = {false};
		int			counter;

		values[0] = ObjectIdGetDatum(stats->serverid);
		for (counter = 0; counter < STAT_NCOUNTERS; counter++)
			values[counter + 1] = Int64GetDatum((int64) stats->counters[counter]);
		values[STAT_WAIT_US + 1] =
			Float8GetDatum(stats->counters[STAT_WAIT_US] / 1000.0);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

Datum
shard_fdw_get_stat_transactions(PG_FUNCTION_ARGS)
{
	/* in the order of CommitMethod */
	static const char *const names[STAT_NMETHODS] = {
		"read only", "one phase", "two phase"
	};
	TransactionStats stats = worker_stats_transactions();
	int			method;

	InitMaterializedSRF(fcinfo, 0);
	for (method = 0; method < STAT_NMETHODS; method++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = CStringGetTextDatum(names[method]);
		values[1] = Int64GetDatum((int64) stats.commits[method]);
		values[2] = Int64GetDatum((int64) stats.rollbacks[method]);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}
