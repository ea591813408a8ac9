/*-------------------------------------------------------------------------
 *
 * remote_copy.c
 *	  COPY FROM STDIN, which libpq cannot do in pipeline mode.
 *
 * The statement leaves when nothing else is outstanding, so it and its answer
 * are alone on the connection.  Its data wait in the request until the shard
 * has said that it takes them, then go to libpq as they come.
 *
 * While libpq sends data it does not show an error that has arrived: the
 * message stays unread until the data have ended.  So when the shard says
 * something that is no notice, the data are ended at once.  Mostly it was an
 * error; if not, the shard has taken all that was given so far, and the owner
 * goes on with another COPY.
 *
 * Nothing here waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <poll.h>

#include "remote/remote_internal.h"

/* data kept for a shard that does not take them yet */
#define MAX_PENDING (256 * 1024)

RemoteRequest *
remote_copy_current(RemoteConn *conn)
{
	RemoteRequest *first = remote_request_first_unanswered(conn);

	return first && first->state == REMOTE_REQUEST_SENT &&
		(first->kind == REMOTE_KIND_COPY || first->copy_out.is_used) ?
		first : NULL;
}

bool
remote_copy_start(RemoteConn *conn, RemoteRequest *request)
{
	return PQexitPipelineMode(conn->pg) == 1 &&
		PQsendQuery(conn->pg, request->query.sql) == 1;
}

bool
remote_copy_leave(RemoteConn *conn)
{
	return PQenterPipelineMode(conn->pg) == 1;
}

static bool
send_end(RemoteConn *conn, RemoteRequest *request, const char *error)
{
	request->copy.is_end_sent = true;
	conn->has_unsent_output = true;
	conn->has_unwaited_flush = true;
	return PQputCopyEnd(conn->pg, error) == 1;
}

bool
remote_copy_push(RemoteConn *conn, RemoteRequest *request)
{
	RemoteCopy *copy = &request->copy;

	if (!copy->is_open || copy->is_end_sent)
		return true;
	if (request->is_released)
		return send_end(conn, request, "the statement has been given up");
	if (copy->pending.len > 0)
	{
		if (PQputCopyData(conn->pg, copy->pending.data, copy->pending.len) != 1)
			return false;
		resetStringInfo(&copy->pending);
		conn->has_unsent_output = true;
		conn->has_unwaited_flush = true;
	}
	return !copy->is_complete || send_end(conn, request, NULL);
}

void
remote_copy_listen(RemoteConn *conn, RemoteRequest *request)
{
	uint64		nnotices = conn->nnotices;
	struct pollfd pfd;

	pfd.fd = PQsocket(conn->pg);
	pfd.events = POLLIN;
	pfd.revents = 0;
	if (poll(&pfd, 1, 0) <= 0)
		return;

	/* asking whether it is busy makes libpq look at notices */
	if (!PQconsumeInput(conn->pg) ||
		(!PQisBusy(conn->pg) && conn->nnotices == nnotices &&
		 !send_end(conn, request, NULL)))
	{
		remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL,
						 PQerrorMessage(conn->pg), NULL);
		return;
	}
	remote_send_queued(conn);
}

/* ---- for owners ---- */

bool
remote_copy_put(RemoteRequest *request, const char *data, Size size)
{
	Assert(!request->copy.is_complete);
	if (remote_request_is_final(request) || request->copy.is_end_sent)
		return false;
	appendBinaryStringInfo(&request->copy.pending, data, size);
	remote_wait_advance(request->conn, request);
	return true;
}

bool
remote_copy_has_room(const RemoteRequest *request)
{
	const RemoteCopy *copy = &request->copy;

	if (remote_request_is_final(request))
		return true;
	if (copy->is_end_sent)
		return false;
	return copy->pending.len < MAX_PENDING &&
		!(copy->is_open && request->conn->has_unsent_output);
}

void
remote_copy_end(RemoteRequest *request)
{
	request->copy.is_complete = true;
}
