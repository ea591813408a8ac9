/*-------------------------------------------------------------------------
 *
 * remote_send.c
 *	  The request engine: from the FIFO of a connection to libpq.
 *
 * Requests are handed over in their order, as soon as the connection is up; a
 * text that comes again gets a prepared statement on the way.  Row-by-row
 * delivery must be asked for right when a streaming request becomes the first
 * unanswered one, before libpq parses anything for it: see
 * remote_send_note_first().
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
mark_sent(RemoteConn *conn, RemoteRequest *request)
{
	request->state = REMOTE_REQUEST_SENT;
	if (conn->nsent++ == 0)
		conn->is_unanswered = true;
	conn->is_segment_open = (request->kind == REMOTE_KIND_QUERY &&
							 !request->copy_out.is_used) ||
		request->kind == REMOTE_KIND_PREPARE;
	conn->has_unsent_output = true;
	conn->has_unwaited_flush = true;
	if (request->kind == REMOTE_KIND_SYNC)
		conn->segment++;
	else
		conn->stats.statements++;
}

/*
 * To be called when another request has become the first unanswered one.
 *
 * Not in chunks, where libpq has them: it hands out nothing before a chunk is
 * full, so the first rows of a slow query would be held back.
 */
void
remote_send_note_first(RemoteConn *conn)
{
	RemoteRequest *first = remote_request_first_unanswered(conn);

	if (first == NULL || first->state != REMOTE_REQUEST_SENT ||
		!first->query.is_stream || first->copy_out.is_used)
		return;
	(void) PQsetSingleRowMode(conn->pg);
}

/*
 * Sends the Parse of a named statement just before the request that wants
 * it; false when libpq refuses.
 */
static bool
send_prepare(RemoteConn *conn, RemoteRequest *request,
			 RemoteStatement *statement)
{
	RemoteRequest *prepare = remote_request_make(conn, REMOTE_KIND_PREPARE);
	char		name[NAMEDATALEN];
	bool		was_first = conn->nsent == 0;

	prepare->statement = statement;
	dlist_insert_before(&request->node, &prepare->node);
	remote_statement_name(statement, name);
	if (!PQsendPrepare(conn->pg, name, request->query.sql,
					   request->query.nparams, request->query.param_types))
		return false;
	statement->pending_segment = conn->segment + 1;
	mark_sent(conn, prepare);
	if (was_first)
		remote_send_note_first(conn);
	return true;
}

/*
 * Sets the prepared statement that the request is to execute, if it is to
 * execute one, and prepares it where its text has come often enough; false
 * when libpq refuses.
 */
static bool
choose_statement(RemoteConn *conn, RemoteRequest *request)
{
	RemoteStatement *statement;

	if (!request->query.is_reusable ||
		conn->options->pooling == REMOTE_POOLING_TRANSACTION)
		return true;
	statement = remote_statement_lookup(conn, &request->query);
	if (statement == NULL)
		return true;
	if (!statement->is_prepared && statement->pending_segment == 0 &&
		statement->uses > 1)
	{
		if (!send_prepare(conn, request, statement))
			return false;
	}
	if (statement->is_prepared ||
		statement->pending_segment == conn->segment + 1)
		request->statement = statement;
	return true;
}

static bool
send_query(RemoteConn *conn, RemoteRequest *request)
{
	RemoteQuery *query = &request->query;
	char		name[NAMEDATALEN];

	if (!choose_statement(conn, request))
		return false;
	if (request->statement == NULL)
		return PQsendQueryParams(conn->pg, query->sql, query->nparams,
								 query->param_types, query->param_values,
								 query->param_lengths, query->param_formats,
								 query->binary_result ? 1 : 0) == 1;
	remote_statement_name(request->statement, name);
	return PQsendQueryPrepared(conn->pg, name, query->nparams,
							   query->param_values, query->param_lengths,
							   query->param_formats,
							   query->binary_result ? 1 : 0) == 1;
}

/*
 * Makes room in the table of prepared statements, in a segment of its own.
 */
static void
retire_statement(RemoteConn *conn)
{
	RemoteStatement *victim;
	char		name[NAMEDATALEN];

	if (conn->is_segment_open)
		return;
	if (conn->stale_statement != 0)
	{
		remote_request_insert_setup(conn,
									psprintf("DEALLOCATE shard_fdw_%u",
											 conn->stale_statement),
									false);
		conn->stale_statement = 0;
		return;
	}
	victim = remote_statement_victim(conn);
	if (victim == NULL)
		return;
	if (victim->is_prepared)
	{
		remote_statement_name(victim, name);
		remote_request_insert_setup(conn, psprintf("DEALLOCATE %s", name),
									false);
	}
	remote_statement_remove(conn, victim);
}

/* Can it be sent only when nothing is outstanding? */
static bool
must_be_alone(const RemoteConn *conn, const RemoteRequest *request)
{
	return request->kind == REMOTE_KIND_COPY ||
		remote_copy_out_suits(conn, request);
}

static bool
send_alone(RemoteConn *conn, RemoteRequest *request)
{
	return request->kind == REMOTE_KIND_COPY ?
		remote_copy_start(conn, request) :
		remote_copy_out_start(conn, request);
}

static bool
send_in_pipeline(RemoteConn *conn, RemoteRequest *request)
{
	switch (request->kind)
	{
		case REMOTE_KIND_SYNC:
			return PQpipelineSync(conn->pg) == 1;
		case REMOTE_KIND_QUERY:
		case REMOTE_KIND_PREPARE:
			return send_query(conn, request);
		case REMOTE_KIND_COPY:
			break;				/* never in a pipeline */
	}
	return false;
}

/*
 * Hands what is queued to libpq, up to a COPY that has to wait for the
 * answers to what goes before; false when libpq refuses.
 */
static bool
send_requests(RemoteConn *conn)
{
	RemoteRequest *copy = remote_copy_current(conn);
	dlist_iter	iter;

	if (copy)
		return remote_copy_push(conn, copy);
	if (conn->nsent == 0)
		retire_statement(conn);
	dlist_foreach(iter, &conn->fifo)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);
		bool		was_first = conn->nsent == 0;
		bool		is_alone;

		if (request->state != REMOTE_REQUEST_QUEUED)
			continue;
		is_alone = must_be_alone(conn, request);
		if (is_alone && !was_first)
			break;
		if (!(is_alone ? send_alone(conn, request) :
			  send_in_pipeline(conn, request)))
			return false;
		mark_sent(conn, request);
		if (is_alone)
			break;
		if (was_first)
			remote_send_note_first(conn);
	}
	return true;
}

/*
 * Hands what is queued to libpq and as much of that as possible to the
 * network.
 */
void
remote_send_queued(RemoteConn *conn)
{
	int			rc = 0;

	if (conn->state != REMOTE_CONN_READY)
		return;
	if (!send_requests(conn))
		rc = -1;
	else if (conn->has_unsent_output)
		rc = PQflush(conn->pg);
	if (rc < 0)
		remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL,
						 PQerrorMessage(conn->pg), NULL);
	else
		conn->has_unsent_output = rc > 0;
}
