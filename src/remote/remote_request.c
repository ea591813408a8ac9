/*-------------------------------------------------------------------------
 *
 * remote_request.c
 *	  The request engine: the FIFO of a connection, and the life of what is
 *	  in it.
 *
 * Life of a request: queued (a deep copy) -> handed to libpq once the
 * connection is up -> answered, in order -> final, moved to the list of
 * finished ones -> freed when its owner releases it.  A request that was
 * released early stays in the FIFO until it is answered.  How requests are
 * handed over is remote_send.c's, how they are answered remote_receive.c's.
 *
 * Nothing here waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "remote/remote_internal.h"

/* ---- making and freeing requests ---- */

RemoteRequest *
remote_request_make(RemoteConn *conn, RemoteRequestKind kind)
{
	MemoryContext context = AllocSetContextCreate(conn->context,
												  "shard_fdw request",
												  ALLOCSET_SMALL_SIZES);
	RemoteRequest *request = MemoryContextAllocZero(context,
													sizeof(RemoteRequest));

	request->conn = conn;
	request->context = context;
	request->kind = kind;
	request->state = REMOTE_REQUEST_QUEUED;
	request->outcome = REMOTE_REQUEST_DONE;
	request->is_released = kind == REMOTE_KIND_PREPARE ||
		kind == REMOTE_KIND_SYNC;
	request->is_replayable = conn->is_replay_armed;
	return request;
}

static void *
copy_array(const void *source, Size size)
{
	void	   *copy;

	if (source == NULL || size == 0)
		return NULL;
	copy = palloc(size);
	memcpy(copy, source, size);
	return copy;
}

static void
copy_query(RemoteRequest *request, const RemoteQuery *query)
{
	MemoryContext old_context = MemoryContextSwitchTo(request->context);
	RemoteQuery *copy = &request->query;
	const char **values;
	int			param;

	*copy = *query;
	copy->sql = pstrdup(query->sql);
	copy->param_types = copy_array(query->param_types,
								   query->nparams * sizeof(Oid));
	copy->param_lengths = copy_array(query->param_lengths,
									 query->nparams * sizeof(int));
	copy->param_formats = copy_array(query->param_formats,
									 query->nparams * sizeof(int));
	values = palloc0(sizeof(char *) * Max(query->nparams, 1));
	for (param = 0; param < query->nparams; param++)
	{
		const char *value = query->param_values[param];

		if (value == NULL)
			continue;
		if (query->param_formats && query->param_formats[param] == 1)
			values[param] = copy_array(value, Max(query->param_lengths[param], 1));
		else
			values[param] = pstrdup(value);
	}
	copy->param_values = values;
	MemoryContextSwitchTo(old_context);
}

static void
free_request(RemoteRequest *request)
{
	dlist_delete(&request->node);
	remote_rows_clear(request);
	remote_result_unref(request->result);
	remote_rows_untake(request);
	MemoryContextDelete(request->context);
}

RemoteRequest *
remote_request_queue(RemoteConn *conn, const RemoteQuery *query,
					 int owner_level)
{
	RemoteRequest *request = remote_request_make(conn, REMOTE_KIND_QUERY);

	copy_query(request, query);
	request->owner_level = owner_level;
	dlist_push_tail(&conn->fifo, &request->node);
	return request;
}

RemoteRequest *
remote_request_queue_sql(RemoteConn *conn, const char *sql, int owner_level)
{
	RemoteQuery query = {0};

	query.sql = sql;
	return remote_request_queue(conn, &query, owner_level);
}

bool
remote_request_requeue(RemoteRequest *request)
{
	if (request->state != REMOTE_REQUEST_QUEUED)
		return false;
	dlist_delete(&request->node);
	dlist_push_tail(&request->conn->fifo, &request->node);
	return true;
}

/*
 * Will there be, when all that is queued has been sent, statements without a
 * Sync?
 */
static bool
is_segment_unended(RemoteConn *conn)
{
	RemoteRequest *last;

	if (dlist_is_empty(&conn->fifo))
		return conn->is_segment_open;
	last = dlist_tail_element(RemoteRequest, node, &conn->fifo);
	return last->kind == REMOTE_KIND_QUERY || last->kind == REMOTE_KIND_PREPARE;
}

RemoteRequest *
remote_request_queue_copy(RemoteConn *conn, const char *sql, int owner_level)
{
	RemoteRequest *request;
	RemoteQuery query = {0};
	MemoryContext old_context;

	if (is_segment_unended(conn))
		remote_request_queue_sync(conn);
	request = remote_request_make(conn, REMOTE_KIND_COPY);
	query.sql = sql;
	copy_query(request, &query);
	old_context = MemoryContextSwitchTo(request->context);
	initStringInfo(&request->copy.pending);
	MemoryContextSwitchTo(old_context);
	request->owner_level = owner_level;
	dlist_push_tail(&conn->fifo, &request->node);
	return request;
}

void
remote_request_queue_sync(RemoteConn *conn)
{
	RemoteRequest *request = remote_request_make(conn, REMOTE_KIND_SYNC);

	dlist_push_tail(&conn->fifo, &request->node);
}

/*
 * A statement of the engine's own, to go first on a new connection.
 */
void
remote_request_insert_setup(RemoteConn *conn, const char *sql, bool is_vital)
{
	RemoteQuery query = {0};
	RemoteRequest *sync = remote_request_make(conn, REMOTE_KIND_SYNC);
	RemoteRequest *request = remote_request_make(conn, REMOTE_KIND_QUERY);

	query.sql = sql;
	copy_query(request, &query);
	request->is_released = true;
	request->is_setup = sync->is_setup = true;
	request->is_vital = sync->is_vital = is_vital;
	dlist_push_head(&conn->fifo, &sync->node);
	dlist_push_head(&conn->fifo, &request->node);
}

void
remote_request_set_observer(RemoteRequest *request,
							RemoteRequestObserver observer, void *arg)
{
	request->observer = observer;
	request->observer_arg = arg;
}

/* ---- looking ---- */

RemoteRequestState
remote_request_state(const RemoteRequest *request)
{
	return request->state;
}

bool
remote_request_is_final(const RemoteRequest *request)
{
	return request->state >= REMOTE_REQUEST_DONE;
}

bool
remote_request_is_satisfied(const RemoteRequest *request)
{
	return remote_request_is_final(request) ||
		(request->query.is_stream && !remote_rows_is_empty(request));
}

RemoteConn *
remote_request_conn(const RemoteRequest *request)
{
	return request->conn;
}

const RemoteQuery *
remote_request_query(const RemoteRequest *request)
{
	return &request->query;
}

int
remote_request_owner_level(const RemoteRequest *request)
{
	return request->owner_level;
}

RemoteResult *
remote_request_result(const RemoteRequest *request)
{
	return request->result;
}

/*
 * Errors of a statement that was prepared for tables that have changed since:
 * its result has other types, or a parameter has a type that does not go with
 * the column any more.
 */
static bool
is_misfit(int sqlstate)
{
	switch (sqlstate)
	{
		case ERRCODE_DATATYPE_MISMATCH:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_INVALID_TEXT_REPRESENTATION:
		case ERRCODE_UNDEFINED_FUNCTION:
			return true;
		default:
			return false;
	}
}

bool
remote_request_is_outdated(const RemoteRequest *request)
{
	int			sqlstate;

	if (request->statement == NULL || request->state != REMOTE_REQUEST_FAILED)
		return false;
	sqlstate = remote_result_sqlstate(request->result);
	return sqlstate == ERRCODE_UNDEFINED_PSTATEMENT || is_misfit(sqlstate);
}

uint64
remote_request_rows(const RemoteRequest *request)
{
	return request->nrows;
}

bool
remote_request_is_copied(const RemoteRequest *request)
{
	return request->copy_out.is_used;
}

uint64
remote_request_spooled_rows(const RemoteRequest *request)
{
	return request->rows.total_spooled;
}

uint64
remote_request_bytes(const RemoteRequest *request)
{
	return request->nbytes;
}

pgsocket
remote_request_socket(const RemoteRequest *request)
{
	/* whoever waits for the socket to become readable sends nothing */
	return request->conn->state == REMOTE_CONN_READY &&
		!request->conn->has_unsent_output ?
		PQsocket(request->conn->pg) : PGINVALID_SOCKET;
}

RemoteRequest *
remote_request_first_unanswered(RemoteConn *conn)
{
	if (conn->nsent == 0 || dlist_is_empty(&conn->fifo))
		return NULL;
	return dlist_head_element(RemoteRequest, node, &conn->fifo);
}

bool
remote_conn_runs_orphan(RemoteConn *conn)
{
	dlist_iter	iter;

	dlist_foreach(iter, &conn->fifo)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);

		if (request->state == REMOTE_REQUEST_SENT &&
			(request->kind == REMOTE_KIND_QUERY ||
			 request->kind == REMOTE_KIND_COPY) && request->owner_level > 0)
			return request->is_released;
	}
	return false;
}

bool
remote_conn_runs_only_orphans(RemoteConn *conn)
{
	dlist_iter	iter;
	bool		runs_orphan = false;

	dlist_foreach(iter, &conn->fifo)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);

		if (request->kind != REMOTE_KIND_QUERY || request->owner_level == 0)
			continue;
		if (!request->is_released)
			return false;
		if (request->state == REMOTE_REQUEST_SENT)
			runs_orphan = true;
	}
	return runs_orphan;
}

bool
remote_conn_is_quiet(RemoteConn *conn)
{
	return dlist_is_empty(&conn->fifo);
}

/* ---- getting final ---- */

static void
note_statement_outcome(RemoteRequest *request)
{
	RemoteStatement *statement = request->statement;
	int			sqlstate;

	if (statement == NULL)
		return;
	if (request->kind == REMOTE_KIND_PREPARE)
	{
		statement->pending_segment = 0;
		statement->is_prepared = request->state == REMOTE_REQUEST_DONE;
		return;
	}
	if (request->state != REMOTE_REQUEST_FAILED)
		return;
	/* lost by a pooler or DISCARD, or the tables have changed */
	sqlstate = remote_result_sqlstate(request->result);
	if (sqlstate == ERRCODE_UNDEFINED_PSTATEMENT)
		remote_statement_rename_all(request->conn);
	else if (is_misfit(sqlstate))
		remote_statement_retire(request->conn, statement);
}

void
remote_request_make_final(RemoteRequest *request, RemoteRequestState state)
{
	RemoteConn *conn = request->conn;

	if (request->state == REMOTE_REQUEST_SENT)
		conn->nsent--;
	conn->nfinal++;
	request->state = state;
	if (state == REMOTE_REQUEST_SKIPPED && conn->segment_error)
	{
		remote_result_unref(request->result);
		request->result = remote_result_share(conn->segment_error);
		if (conn->segment_error_sql)
			request->culprit_sql = MemoryContextStrdup(request->context,
													   conn->segment_error_sql);
	}
	note_statement_outcome(request);
	dlist_delete(&request->node);
	dlist_push_tail(&conn->finished, &request->node);
	if (request->observer)
		request->observer(request, request->observer_arg);
	if (request->is_released)
		free_request(request);
}

/*
 * The session is gone.  Requests that may be sent again go back to the start
 * of their life, the others are lost.
 */
void
remote_request_lose_all(RemoteConn *conn, bool keeps_replayable)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &conn->fifo)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);

		if (request->state == REMOTE_REQUEST_SENT)
			conn->nsent--;
		request->state = REMOTE_REQUEST_QUEUED;
		if (keeps_replayable && request->is_replayable &&
			request->nrows == 0 && request->result == NULL &&
			request->kind != REMOTE_KIND_PREPARE)
		{
			request->outcome = REMOTE_REQUEST_DONE;
			request->is_replayable = false;
			request->statement = NULL;
			request->copy_out.is_used = false;
		}
		else
			remote_request_make_final(request, REMOTE_REQUEST_LOST);
	}
	Assert(conn->nsent == 0);
}

/* ---- ending ---- */

static void
report_lost(int elevel, const RemoteRequest *request)
{
	const RemoteConn *conn = request->conn;
	const char *message = conn->lost_message;

	if (message == NULL)
		message = conn->lost_sqlstate == ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION ?
			psprintf("could not connect to server \"%s\"", conn->server_name) :
			psprintf("connection to server \"%s\" was lost", conn->server_name);
	ereport(elevel,
			errcode(conn->lost_sqlstate ? conn->lost_sqlstate :
					ERRCODE_CONNECTION_FAILURE),
			errmsg_internal("%s", message),
			conn->lost_detail ? errdetail_internal("%s", conn->lost_detail) : 0,
			conn->lost_hint ? errhint("%s", conn->lost_hint) : 0,
			request->query.sql ?
			errcontext("remote SQL on server \"%s\": %s", conn->server_name,
					   request->query.sql) : 0);
}

/* What a statement failed for that was prepared earlier can be told. */
static const char *
hint_for(const RemoteRequest *request)
{
	if (request->statement == NULL)
		return NULL;
	switch (remote_result_sqlstate(request->result))
	{
		case ERRCODE_UNDEFINED_PSTATEMENT:
			return "The session on the server has lost its prepared statements. Try the transaction again.";
		case ERRCODE_FEATURE_NOT_SUPPORTED:
			return "The table may have changed on the server. Try the transaction again.";
		default:
			return NULL;
	}
}

/*
 * A transaction that has failed refuses everything.  What made it fail may be
 * a request that its owner has not come to look at yet.
 */
static const RemoteRequest *
find_cause(const RemoteRequest *request)
{
	const RemoteRequest *cause = request;
	dlist_iter	iter;

	if (request->result == NULL ||
		remote_result_sqlstate(request->result) != ERRCODE_IN_FAILED_SQL_TRANSACTION)
		return request;
	dlist_foreach(iter, &request->conn->finished)
	{
		const RemoteRequest *earlier = dlist_container(RemoteRequest, node,
													   iter.cur);
		int			sqlstate = earlier->result ?
		remote_result_sqlstate(earlier->result) : 0;

		if (earlier == request)
			break;
		if (sqlstate != 0 && sqlstate != ERRCODE_IN_FAILED_SQL_TRANSACTION)
			cause = earlier;
	}
	return cause;
}

void
remote_request_report(int elevel, const RemoteRequest *request)
{
	request = find_cause(request);
	if (request->state == REMOTE_REQUEST_LOST)
		report_lost(elevel, request);
	else if (request->result && remote_result_sqlstate(request->result) != 0)
		remote_result_report(elevel, request->result,
							 request->conn->server_name,
							 request->culprit_sql ? request->culprit_sql :
							 request->query.sql, hint_for(request));
	else
		ereport(elevel,
				errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
				errmsg("statement for server \"%s\" was not executed",
					   request->conn->server_name),
				errcontext("remote SQL on server \"%s\": %s",
						   request->conn->server_name, request->query.sql));
}

void
remote_request_release(RemoteRequest *request)
{
	request->is_released = true;
	if (remote_request_is_final(request))
		free_request(request);
	else if (request->kind == REMOTE_KIND_COPY &&
			 request->state == REMOTE_REQUEST_QUEUED)
		remote_request_make_final(request, REMOTE_REQUEST_SKIPPED);
	else
		remote_rows_clear(request);
}

void
remote_request_forget_observers_noerror(RemoteConn *conn)
{
	dlist_iter	iter;

	dlist_foreach(iter, &conn->fifo)
		dlist_container(RemoteRequest, node, iter.cur)->observer = NULL;
}

/*
 * Releases a request of the level or a deeper one.  What has not been sent
 * will not be, except with level 0: it may be what ends the transaction.
 */
static void
release_if_of_level(RemoteRequest *request, int level)
{
	if (request->is_released || request->owner_level < level)
		return;
	request->is_released = true;
	if (remote_request_is_final(request))
		free_request(request);
	else if (request->state == REMOTE_REQUEST_QUEUED && level > 0)
		remote_request_make_final(request, REMOTE_REQUEST_SKIPPED);
	else
		remote_rows_clear(request);
}

void
remote_request_orphan_level_noerror(RemoteConn *conn, int level)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &conn->finished)
	{
		release_if_of_level(dlist_container(RemoteRequest, node, iter.cur),
							level);
	}
	dlist_foreach_modify(iter, &conn->fifo)
	{
		release_if_of_level(dlist_container(RemoteRequest, node, iter.cur),
							level);
	}
}

void
remote_request_lower_level_noerror(RemoteConn *conn, int level)
{
	dlist_iter	iter;

	dlist_foreach(iter, &conn->finished)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);

		request->owner_level = Min(request->owner_level, level);
	}
	dlist_foreach(iter, &conn->fifo)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);

		request->owner_level = Min(request->owner_level, level);
	}
}

void
remote_request_drop_unsent_noerror(RemoteConn *conn)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &conn->fifo)
	{
		RemoteRequest *request = dlist_container(RemoteRequest, node, iter.cur);

		if (request->state == REMOTE_REQUEST_QUEUED && !request->is_vital)
			remote_request_make_final(request, REMOTE_REQUEST_SKIPPED);
	}
	if (conn->is_segment_open)
		remote_request_queue_sync(conn);
}
