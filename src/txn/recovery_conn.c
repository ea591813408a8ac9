/*-------------------------------------------------------------------------
 *
 * recovery_conn.c
 *	  Connections of a recovery pass, and what fails on them as text.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/resowner.h"

#include "base/catch_point.h"
#include "txn/recovery_conn.h"

/*
 * Message and detail in one line.
 */
static char *
error_text(ErrorData *error)
{
	char	   *line = error->detail ?
	psprintf("%s: %s", error->message, error->detail) : error->message;
	char	   *blank;

	for (blank = line; *blank != '\0'; blank++)
	{
		if (*blank == '\n' || *blank == '\t')
			*blank = ' ';
	}
	return line;
}

char *
recovery_conn_error(RemoteRequest *request)
{
	CatchPoint	before = catch_point_here();
	char	   *volatile message = NULL;

	PG_TRY();
	{
		remote_request_report(ERROR, request);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(before.context);
		message = error_text(CopyErrorData());
		catch_point_return(&before);
	}
	PG_END_TRY();
	return message;
}

int
recovery_conn_sqlstate(const RemoteRequest *request)
{
	RemoteResult *result = remote_request_result(request);

	return remote_request_state(request) == REMOTE_REQUEST_FAILED && result ?
		remote_result_sqlstate(result) : 0;
}

RemoteConn *
recovery_conn_open(Oid userid, Oid serverid, char **error)
{
	CatchPoint	before = catch_point_here();
	ResourceOwner owner = CurrentResourceOwner;
	RemoteConn *volatile conn = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(before.context);
	PG_TRY();
	{
		conn = remote_conn_create(userid, serverid);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(before.context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(before.context);
		*error = error_text(CopyErrorData());
		catch_point_return(&before);
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(before.context);
		CurrentResourceOwner = owner;
	}
	PG_END_TRY();
	return conn;
}

RemoteRequest *
recovery_conn_queue(RemoteConn *conn, const char *sql)
{
	RemoteRequest *request = remote_request_queue_sql(conn, sql, 0);

	remote_request_queue_sync(conn);
	return request;
}
