/*-------------------------------------------------------------------------
 *
 * status_function.c
 *	  shard_fdw.transaction_status(): what became of a transaction.
 *
 * Two kinds of names are understood.
 *
 * The name of a prepared transaction: the log and the commit status here
 * decide (A).  A row says committed.  No row, and the xid aborted, says
 * aborted.  No row, and the xid committed, says nothing: either the row was
 * deleted because all shards are past the transaction, or the xid was handed
 * out a second time after a crash (K).
 *
 * The token of a one-phase commit whose answer was lost: the shard decides.
 * Whatever it says of the xid is the truth as long as it has run without a
 * crash since; after one, xids that had not reached its disk were handed out
 * again, so "committed" may be another transaction's, while "aborted", "in
 * progress" and "not handed out yet" all mean that ours did not commit, since
 * a commit that was on disk would still be there.  So after a crash or restart
 * of the shard a commit is not provable, and the answer is "unknown".  What
 * another server at the same address says is worth nothing either way.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "remote/remote_conn.h"
#include "txn/commit_log.h"
#include "txn/gid.h"
#include "txn/local_xact.h"
#include "txn/recovery_catalog.h"
#include "txn/shard_history.h"

/* the least time a shard gets to answer */
#define ASK_LIMIT_MS 10000

PGDLLEXPORT Datum shard_fdw_transaction_status(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(shard_fdw_transaction_status);

static const char *
status_of_gid(const Gid *gid)
{
	if (!gid_is_ours(gid, commit_log_identity(), MyDatabaseId))
		return "unknown";

	/* first whether it runs, then the log (C) */
	if (local_xact_is_running(gid->xid))
		return "in progress";
	if (commit_log_exists(gid->xid, gid->token))
		return "committed";
	return local_xact_status(gid->xid) == LOCAL_XACT_ABORTED ? "aborted" :
		"unknown";
}

/*
 * What the status of the xid says, on a shard that has or has not run without
 * a crash since.  After one the xid may have been handed out again; whose it
 * is shows when it has ended.
 */
static const char *
interpret_status(const char *status, bool is_same_run)
{
	if (strcmp(status, "committed") == 0)
		return is_same_run ? "committed" : "unknown";
	return strcmp(status, "aborted") == 0 ? "aborted" : "in progress";
}

/*
 * The first request asks for the server, the second for the transaction.
 */
static const char *
read_answers(const OnePhaseToken *token, RemoteRequest **requests)
{
	RemoteResult *server = remote_request_result(requests[0]);
	RemoteResult *status = remote_request_result(requests[1]);
	ShardHistory then = {0};
	ShardHistory now;
	bool		is_same_run;

	if (remote_request_state(requests[0]) != REMOTE_REQUEST_DONE)
		remote_request_report(ERROR, requests[0]);

	/* a standby may not have heard of the transaction yet */
	if (strcmp(remote_result_value(server, 0, 0), "t") == 0)
		return "unknown";
	then.system = token->system;
	now = shard_history_parse(remote_result_value(server, 0, 2));
	if (shard_history_is_other_server(&then, &now))
		return "unknown";
	is_same_run = strtoull(remote_result_value(server, 0, 1), NULL, 10) ==
		token->start_time;
	if (remote_request_state(requests[1]) == REMOTE_REQUEST_DONE)
		return remote_result_is_null(status, 0, 0) ? "unknown" :
			interpret_status(remote_result_value(status, 0, 0), is_same_run);

	/* the xid is in the future: the shard's history goes on without ours */
	if (remote_request_state(requests[1]) == REMOTE_REQUEST_FAILED &&
		remote_result_sqlstate(status) == ERRCODE_INVALID_PARAMETER_VALUE)
		return "aborted";
	remote_request_report(ERROR, requests[1]);
	return NULL;				/* not reached */
}

static const char *
ask_shard(const OnePhaseToken *token, RemoteConn *conn)
{
	RemoteRequest *requests[2];
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   Max(setting_commit_timeout,
														   ASK_LIMIT_MS));

	requests[0] = remote_request_queue_sql(conn,
										   "SELECT pg_catalog.pg_is_in_recovery(), "
										   ONE_PHASE_START_TIME_SQL ", "
										   SHARD_HISTORY_SQL,
										   0);
	remote_request_queue_sync(conn);
	requests[1] = remote_request_queue_sql(conn,
										   psprintf("SELECT pg_catalog.pg_xact_status('"
													UINT64_FORMAT "'::pg_catalog.xid8)",
													token->remote_xid),
										   0);
	remote_request_queue_sync(conn);
	if (!remote_request_finish_all(requests, 2, deadline))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("server \"%s\" did not answer in time",
						remote_conn_server_name(conn))));
	return read_answers(token, requests);
}

static const char *
status_of_one_phase(const OnePhaseToken *token)
{
	RemoteConn *conn;
	const char *volatile status = NULL;

	if (token->identity != commit_log_identity() ||
		token->database != MyDatabaseId ||
		!recovery_catalog_has_server(token->server))
		return "unknown";
	if (!has_privs_of_role(GetUserId(), token->user))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to ask for a transaction of another user")));
	conn = remote_conn_create(token->user, token->server);
	PG_TRY();
	{
		status = pstrdup(ask_shard(token, conn));
	}
	PG_FINALLY();
	{
		remote_conn_free_noerror(conn);
	}
	PG_END_TRY();
	return status;
}

Datum
shard_fdw_transaction_status(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Gid			gid;
	OnePhaseToken token;
	const char *status;

	if (gid_parse(name, &gid))
		status = status_of_gid(&gid);
	else if (one_phase_token_parse(name, &token))
		status = status_of_one_phase(&token);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid transaction token: \"%s\"", name),
				 errhint("Give the token that came with the error, or the name of a prepared transaction.")));
	PG_RETURN_TEXT_P(cstring_to_text(status));
}
