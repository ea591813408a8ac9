/*-------------------------------------------------------------------------
 *
 * remote_receive.c
 *	  The request engine: from libpq to the request that is answered.
 *
 * libpq answers a statement with its results and a NULL, a Sync with one
 * PGRES_PIPELINE_SYNC and no NULL.  Row-by-row delivery must be asked for
 * right when a streaming request becomes the first unanswered one, before
 * libpq parses anything for it: see remote_send_note_first().
 *
 * Nothing here waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "remote/remote_internal.h"

static void
keep_result(RemoteRequest *request, PGresult *pgres)
{
	remote_result_unref(request->result);
	request->result = remote_result_create(pgres);
}

static uint64
value_bytes(const PGresult *pgres, int nrows)
{
	int			nfields = PQnfields(pgres);
	uint64		nbytes = 0;
	int			row;
	int			col;

	for (row = 0; row < nrows; row++)
	{
		for (col = 0; col < nfields; col++)
			nbytes += PQgetlength(pgres, row, col);
	}
	return nbytes;
}

void
remote_request_count_rows(RemoteRequest *request, uint64 nrows, uint64 nbytes)
{
	request->nrows += nrows;
	request->nbytes += nbytes;
	request->conn->stats.rows += nrows;
	request->conn->stats.bytes += nbytes;
}

static void
note_setup_answer(RemoteConn *conn, const PGresult *pgres)
{
	if (conn->setup_answer)
		pfree(conn->setup_answer);
	conn->setup_answer = MemoryContextStrdup(conn->context,
											 PQgetvalue(pgres, 0, 0));
}

static void
receive_rows(RemoteRequest *request, PGresult *pgres)
{
	int			nrows = PQntuples(pgres);

	remote_request_count_rows(request, nrows, value_bytes(pgres, nrows));
	if (request->is_vital && nrows > 0)
		note_setup_answer(request->conn, pgres);
	if (request->query.is_stream && nrows > 0 && !request->is_released)
		remote_rows_add(request, pgres);
	else if (request->is_released && request->observer == NULL)
		PQclear(pgres);
	else
		keep_result(request, pgres);
}

static void
receive_error(RemoteRequest *request, PGresult *pgres)
{
	RemoteConn *conn = request->conn;

	keep_result(request, pgres);
	request->outcome = REMOTE_REQUEST_FAILED;
	conn->stats.errors++;
	remote_result_unref(conn->segment_error);
	conn->segment_error = remote_result_share(request->result);
	if (conn->segment_error_sql)
		pfree(conn->segment_error_sql);
	conn->segment_error_sql = request->query.sql ?
		MemoryContextStrdup(conn->context, request->query.sql) : NULL;
}

/*
 * A FATAL message, or libpq's own word for a broken socket, is the end of
 * the session, whatever the request was.
 */
static bool
receive_end_of_session(RemoteConn *conn, PGresult *pgres)
{
	RemoteResult *result;
	char	   *message;

	if (PQresultStatus(pgres) != PGRES_FATAL_ERROR)
		return false;
	result = remote_result_create(pgres);
	if (PQstatus(conn->pg) != CONNECTION_BAD && !remote_result_is_fatal(result))
	{
		result->pgres = NULL;
		remote_result_unref(result);
		return false;
	}
	message = pstrdup(remote_result_message(result));
	remote_result_unref(result);
	remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL, message, NULL);
	pfree(message);
	return true;
}

static void
setup_failed(RemoteConn *conn, PGresult *pgres)
{
	RemoteResult *result = remote_result_create(pgres);
	char	   *message = pstrdup(remote_result_message(result));

	remote_result_unref(result);
	remote_conn_fail(conn, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
					 NULL, message, NULL);
	pfree(message);
}

/*
 * A query that was sent as COPY has ended its segment, and what stands behind
 * it to end it is not sent.
 */
static void
end_copied_segment(RemoteConn *conn, const RemoteRequest *request)
{
	dlist_node *next = request->node.next;
	RemoteRequest *sync;

	if (!request->copy_out.is_used || next == &conn->fifo.head)
		return;
	sync = dlist_container(RemoteRequest, node, next);
	if (sync->kind == REMOTE_KIND_SYNC)
		remote_request_make_final(sync, REMOTE_REQUEST_DONE);
}

/*
 * The answer is complete; false when that ended the session.
 */
static bool
receive_end(RemoteConn *conn, RemoteRequest *request)
{
	if (request->kind == REMOTE_KIND_COPY || request->copy_out.is_used)
	{
		remote_result_unref(conn->segment_error);
		conn->segment_error = NULL;
		end_copied_segment(conn, request);
		if (!remote_copy_leave(conn))
		{
			remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL,
							 PQerrorMessage(conn->pg), NULL);
			return false;
		}
	}
	remote_request_make_final(request, request->outcome);
	remote_send_note_first(conn);
	return true;
}

/*
 * The first answer has come: nothing that was queued until now may be sent a
 * second time, even if something queued later may.
 */
static void
disarm_replay(RemoteConn *conn)
{
	dlist_iter	iter;

	conn->is_replay_armed = false;
	dlist_foreach(iter, &conn->fifo)
		dlist_container(RemoteRequest, node, iter.cur)->is_replayable = false;
}

/*
 * Gives one result of libpq to the request it answers; false when that ended
 * the session.
 */
static bool
receive_one(RemoteConn *conn, RemoteRequest *request, PGresult *pgres)
{
	if (conn->is_replay_armed && request->is_replayable)
		disarm_replay(conn);
	if (pgres == NULL)
		return receive_end(conn, request);
	switch (PQresultStatus(pgres))
	{
		case PGRES_COPY_IN:
			PQclear(pgres);
			request->copy.is_open = true;
			remote_send_queued(conn);
			return conn->state == REMOTE_CONN_READY;
		case PGRES_COPY_OUT:
			PQclear(pgres);
			remote_copy_out_open(request);
			return true;
		case PGRES_PIPELINE_SYNC:
			PQclear(pgres);
			remote_result_unref(conn->segment_error);
			conn->segment_error = NULL;
			remote_request_make_final(request, REMOTE_REQUEST_DONE);
			remote_send_note_first(conn);
			return true;
		case PGRES_PIPELINE_ABORTED:
			PQclear(pgres);
			request->outcome = REMOTE_REQUEST_SKIPPED;
			return true;
		case PGRES_SINGLE_TUPLE:
		case PGRES_TUPLES_OK:
			receive_rows(request, pgres);
			return true;
		case PGRES_COMMAND_OK:
		case PGRES_EMPTY_QUERY:
			keep_result(request, pgres);
			return true;
		case PGRES_FATAL_ERROR:
			if (request->is_vital)
			{
				setup_failed(conn, pgres);
				return false;
			}
			receive_error(request, pgres);
			return true;
		default:
			PQclear(pgres);
			remote_conn_fail(conn, ERRCODE_PROTOCOL_VIOLATION, NULL,
							 "The server answered with an unexpected message.",
							 NULL);
			return false;
	}
}

/*
 * A stream is not read further while rows of it wait for its owner: the shard
 * is held back by its full socket.  It is read on for a target behind it,
 * which does not come before.
 */
static bool
is_held_back(const RemoteRequest *first, const RemoteRequest *target)
{
	if (!first->query.is_stream || first->is_released)
		return false;
	if (first == target || target == NULL)
		return !remote_rows_is_empty(first);
	return false;
}

static bool
is_part_of_stream(const PGresult *pgres)
{
	return PQresultStatus(pgres) == PGRES_SINGLE_TUPLE;
}

static void
fail_copy_out(RemoteConn *conn)
{
	const char *detail = PQerrorMessage(conn->pg);

	if (*detail == '\0')
		detail = "The server sent rows that were not in the format asked for.";
	remote_conn_fail(conn, ERRCODE_PROTOCOL_VIOLATION, NULL, detail, NULL);
}

static bool
take_copied(RemoteRequest *request)
{
	char	   *copied;
	int			size;

	switch (remote_copy_out_read(request, &copied, &size))
	{
		case REMOTE_COPY_OUT_ROW:
			remote_rows_take_copied(request, copied);
			return true;
		case REMOTE_COPY_OUT_FAILED:
			fail_copy_out(request->conn);
			return false;
		case REMOTE_COPY_OUT_NOTHING:
		case REMOTE_COPY_OUT_END:
			break;
	}
	return false;
}

/*
 * The short way for a stream that is read by its owner: takes the next of its
 * rows if libpq has it already, else false.  Called for nearly every row.
 */
bool
remote_request_take_buffered(RemoteRequest *request)
{
	RemoteConn *conn = request->conn;
	PGresult   *pgres;

	if (request->state != REMOTE_REQUEST_SENT || request->nrows == 0 ||
		conn->fifo.head.next != &request->node ||
		!remote_rows_is_empty(request))
		return false;
	if (request->copy_out.is_open)
		return take_copied(request);
	if (PQisBusy(conn->pg))
		return false;
	pgres = PQgetResult(conn->pg);
	if (pgres && is_part_of_stream(pgres))
	{
		remote_request_count_rows(request, PQntuples(pgres),
								  value_bytes(pgres, PQntuples(pgres)));
		request->taken.pgres = pgres;
		return true;
	}
	if (pgres == NULL || !receive_end_of_session(conn, pgres))
		receive_one(conn, request, pgres);
	return false;
}

/*
 * Takes in a row that libpq has; false when it has none, or what there is ended
 * the session.
 */
static bool
receive_copied(RemoteConn *conn, RemoteRequest *request)
{
	char	   *copied;
	int			size;

	switch (remote_copy_out_read(request, &copied, &size))
	{
		case REMOTE_COPY_OUT_ROW:
			if (request->is_released)
				PQfreemem(copied);
			else
				remote_rows_add_copied(request, copied, size);
			return true;
		case REMOTE_COPY_OUT_END:
			return true;
		case REMOTE_COPY_OUT_FAILED:
			fail_copy_out(conn);
			return false;
		case REMOTE_COPY_OUT_NOTHING:
			break;
	}
	return false;
}

/*
 * Has libpq nothing to hand out before more has been read?  A row that is
 * copied has been taken in when this returns.
 */
static bool
is_waiting(RemoteConn *conn, RemoteRequest *first)
{
	if (first->copy_out.is_open)
		return !receive_copied(conn, first) &&
			conn->state == REMOTE_CONN_READY;
	return PQisBusy(conn->pg);
}

/*
 * Takes what has arrived, until the target is satisfied.  Without a target,
 * everything up to the first stream with rows waiting.
 */
void
remote_request_receive(RemoteConn *conn, RemoteRequest *target)
{
	RemoteRequest *first;
	bool		has_read = false;

	while (conn->state == REMOTE_CONN_READY &&
		   (first = remote_request_first_unanswered(conn)) != NULL)
	{
		bool		was_copying = first->copy_out.is_open;
		PGresult   *pgres;

		if (is_held_back(first, target) ||
			(target && remote_request_is_final(target)))
			return;
		if (first->copy.is_open && !first->copy.is_end_sent)
		{
			remote_copy_listen(conn, first);
			if (conn->state != REMOTE_CONN_READY || !first->copy.is_end_sent)
				return;
		}
		if (is_waiting(conn, first))
		{
			if (has_read)
				return;
			has_read = true;
			conn->is_unanswered = false;
			if (!PQconsumeInput(conn->pg) && is_waiting(conn, first))
			{
				remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL,
								 PQerrorMessage(conn->pg), NULL);
				return;
			}
			continue;
		}
		if (was_copying)
			continue;
		pgres = PQgetResult(conn->pg);
		if (pgres && receive_end_of_session(conn, pgres))
			return;
		if (!receive_one(conn, first, pgres))
			return;
	}
}

/*
 * Something has come without being asked for: a notice, a parameter's new
 * value, or the end of the session.
 */
void
remote_request_receive_unasked(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONN_READY && conn->nsent == 0 &&
		!PQconsumeInput(conn->pg))
		remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL,
						 PQerrorMessage(conn->pg), NULL);
}
