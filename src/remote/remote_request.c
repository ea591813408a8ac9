/*-------------------------------------------------------------------------
 *
 * remote_request.c
 *	  The request engine: the FIFO of a connection, what goes out and what
 *	  comes back.
 *
 * Life of a request: queued (a deep copy) -> handed to libpq once the
 * connection is up -> answered, in order -> final, moved to the list of
 * finished ones -> freed when its owner releases it.  A request that was
 * released early stays in the FIFO until it is answered.
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

static void
make_final(RemoteRequest *request, RemoteRequestState state)
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
			make_final(request, REMOTE_REQUEST_LOST);
	}
	Assert(conn->nsent == 0);
}

/* ---- receiving ---- */

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
		make_final(sync, REMOTE_REQUEST_DONE);
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
	make_final(request, request->outcome);
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
			make_final(request, REMOTE_REQUEST_DONE);
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
	remote_conn_fail(conn, ERRCODE_PROTOCOL_VIOLATION, NULL,
					 "The server sent rows that were not in the format asked for.",
					 NULL);
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
		make_final(request, REMOTE_REQUEST_SKIPPED);
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
		make_final(request, REMOTE_REQUEST_SKIPPED);
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
			make_final(request, REMOTE_REQUEST_SKIPPED);
	}
	if (conn->is_segment_open)
		remote_request_queue_sync(conn);
}
