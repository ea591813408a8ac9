/*-------------------------------------------------------------------------
 *
 * bulk_insert.c
 *	  Many rows on their way to shards.
 *
 * The first rows go by INSERT, which needs no more than the trip that BEGIN
 * makes anyway.  When there are MIN_ROWS_FOR_COPY the shard is asked, ahead of
 * them, whether COPY would do the same; until the answer comes rows go on by
 * INSERT, and nobody waits for it.
 *
 * Rows to be changed go by one statement each until there are
 * MIN_ROWS_FOR_CHANGES, then many by one UPDATE or DELETE that joins a VALUES
 * list, which the shard carries out several times as fast.  Before that
 * UPDATE the shard is asked too, since such a list has the types of the local
 * columns.
 *
 * A connection carries one COPY at a time, and nothing else meanwhile.  Where
 * several tables of a statement are on one shard their writers take turns: a
 * writer that has something to send ends the COPY of the other, without
 * waiting for the answer, and its own stands behind that.
 *
 * Rows that a query of the same plan would find, which the table does not have
 * as far as that is concerned, are held back until the plan has run to its end:
 * in memory as many as are sent together, more in a temporary file.
 *
 * What has been sent and not answered is bounded by number (MAX_SENT) and by
 * the request engine, which tells how much data a COPY should be given.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/tuptable.h"
#include "lib/ilist.h"
#include "storage/buffile.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "fdw/bulk_insert.h"
#include "fdw/copy_format.h"
#include "fdw/remote_sql.h"
#include "fdw/scan_group.h"
#include "txn/coordinator.h"

/* rows after which COPY is worth two more trips */
#define MIN_ROWS_FOR_COPY 500
/* rows after which changes are gathered */
#define MIN_ROWS_FOR_CHANGES 50
/* rows are sent when they have this many bytes */
#define CHUNK_SIZE (64 * 1024)
/* the same for tables that share a shard, and for all of them together */
#define MIN_SHARED_CHUNK_SIZE (32 * 1024)
#define MAX_SHARED_CHUNK_SIZE (256 * 1024)
#define MAX_SHARED_SIZE (1024 * 1024)
/* parameters of one INSERT; more of them make it no faster */
#define MAX_PARAMS 2000
/* those of an INSERT that is prepared even if it is the first of its size */
#define MAX_REUSABLE_PARAMS 500
/* statements of one writer without an answer */
#define MAX_SENT 4
/* the same for statements for one row each, and how many are sent together */
#define MAX_ROW_STATEMENTS 256
#define FLUSHED_ROW_STATEMENTS 64

typedef enum BulkMode
{
	BULK_INSERT,				/* until there are many rows */
	BULK_INSERT_ASKED,			/* until the shard has answered the question */
	BULK_INSERT_ONLY,			/* final: COPY would not do the same */
	BULK_COPY,					/* final */

	/* UPDATE and DELETE */
	BULK_CHANGE,				/* as BULK_INSERT */
	BULK_CHANGE_ASKED,
	BULK_CHANGE_ONLY,
	BULK_CHANGE_MANY			/* as BULK_COPY */
} BulkMode;

/* A statement that has been queued completely. */
typedef struct SentRows
{
	RemoteRequest *request;
	uint64		nrows;
} SentRows;

struct BulkWriter
{
	dlist_node	link;			/* in writers */
	BulkTarget	target;
	BranchWriter whose;
	TxnBranch  *branch;
	BulkMode	mode;
	RemoteRequest *question;	/* of mode BULK_INSERT_ASKED */
	CopyFormat *format;
	int			ncolumns;		/* parameters of a row */
	int			max_rows;		/* of one statement that is no COPY */
	const char *row_sql;		/* BULK_CHANGE_MANY: for a single row */
	Datum	   *values;			/* of a row, for INSERT */
	bool	   *nulls;

	/*
	 * Rows kept.  In mode BULK_COPY as COPY takes them; else for each
	 * parameter a byte that tells whether it is NULL, and its text with the
	 * terminator.
	 */
	StringInfoData rows;
	int			nrows;
	int			chunk_size;
	uint64		nrows_sent;
	bool		is_held;		/* until the plan has run */
	BufFile    *held;			/* chunks of rows, before those kept */
	int			nheld;			/* chunks */

	SentRows	copy;			/* the COPY that takes more rows, if any */
	SentRows   *sent;			/* oldest first */
	int			nsent;
	int			max_sent;
	MemoryContext context;		/* scratch, reset for each row */
	MemoryContextCallback callback;
};

/* of all running statements, inner ones behind outer ones */
static dlist_head writers = DLIST_STATIC_INIT(writers);

static void
forget_writer(void *arg)
{
	dlist_delete(&((BulkWriter *) arg)->link);
}

static void
init_changes(BulkWriter *writer)
{
	const BulkTarget *target = &writer->target;

	writer->mode = BULK_CHANGE;
	writer->ncolumns = list_length(target->attrs) + 2;
	if (!remote_sql_can_change_many(target->rel, target->attrs) ||
		(target->operation == CMD_UPDATE && target->attrs == NIL))
		writer->mode = BULK_CHANGE_ONLY;
	writer->max_sent = MAX_ROW_STATEMENTS;
}

static void
init_rows(BulkWriter *writer)
{
	const BulkTarget *target = &writer->target;

	writer->ncolumns = list_length(target->attrs);
	writer->max_sent = MAX_SENT;
	writer->format = copy_format_create(target->rel, target->attrs,
										target->params);
	if (target->conflict || target->take_answer)
		writer->mode = BULK_INSERT_ONLY;
	writer->values = palloc(sizeof(Datum) * writer->ncolumns);
	writer->nulls = palloc(sizeof(bool) * writer->ncolumns);
}

BulkWriter *
bulk_create(const BulkTarget *target)
{
	MemoryContext query_context = target->estate->es_query_cxt;
	MemoryContext old_context = MemoryContextSwitchTo(query_context);
	BulkWriter *writer = palloc0(sizeof(BulkWriter));

	writer->target = *target;
	writer->whose.statement = scan_group_statement(target->estate);
	writer->whose.owner_level = GetCurrentTransactionNestLevel();
	writer->whose.lock_timeout = LockTimeout;
	writer->branch = coordinator_get_branch_to_write(target->userid,
													 target->serverid);
	writer->mode = BULK_INSERT;
	if (target->operation == CMD_INSERT)
		init_rows(writer);
	else
		init_changes(writer);
	writer->is_held = target->take_answer == NULL &&
		scan_group_may_see_table(target->estate, target->userid,
								 target->serverid,
								 RelationGetRelid(target->rel));
	if (writer->is_held)
		writer->mode = target->operation == CMD_INSERT ? BULK_INSERT_ONLY :
			BULK_CHANGE_ONLY;
	writer->max_rows = Max(Min(Min(target->batch_size, MIN_ROWS_FOR_COPY),
							   MAX_PARAMS / writer->ncolumns), 1);
	writer->chunk_size = CHUNK_SIZE;
	writer->sent = palloc(sizeof(SentRows) * writer->max_sent);
	initStringInfo(&writer->rows);
	writer->context = AllocSetContextCreate(query_context,
											"shard_fdw row to be sent",
											ALLOCSET_DEFAULT_SIZES);
	dlist_push_tail(&writers, &writer->link);
	writer->callback.func = forget_writer;
	writer->callback.arg = writer;
	MemoryContextRegisterResetCallback(query_context, &writer->callback);
	MemoryContextSwitchTo(old_context);
	return writer;
}

/* ---- answers ---- */

/*
 * Awaits the answer to a statement with rows.
 */
static void
settle(BulkWriter *writer, SentRows *sent)
{
	RemoteRequest *request = sent->request;
	const RemoteResult *result;
	uint64		nskipped;

	sent->request = NULL;
	result = branch_finish(writer->branch, &request);
	nskipped = sent->nrows - remote_result_affected(result);
	exec_conflict_note_answer(writer->target.conflict, result);
	if (writer->target.counter)
		*writer->target.counter -= nskipped;
	if (writer->target.take_answer)
		writer->target.take_answer(writer->target.taker, request, sent->nrows);
	else
		remote_request_release(request);
}

static void
settle_oldest(BulkWriter *writer)
{
	SentRows	oldest = writer->sent[0];

	writer->nsent--;
	memmove(&writer->sent[0], &writer->sent[1],
			writer->nsent * sizeof(SentRows));
	settle(writer, &oldest);
}

/*
 * For one more statement.
 */
static void
make_room(BulkWriter *writer)
{
	int			max_sent = writer->mode == BULK_CHANGE_MANY ? MAX_SENT :
	writer->max_sent;

	while (writer->nsent >= max_sent)
		settle_oldest(writer);
}

static void
remember_sent(BulkWriter *writer, RemoteRequest *request, uint64 nrows)
{
	Assert(writer->nsent < writer->max_sent);
	writer->sent[writer->nsent].request = request;
	writer->sent[writer->nsent++].nrows = nrows;
}

/* ---- turns on the connection ---- */

/*
 * The COPY under way gets no more rows.
 */
static void
end_copy(BulkWriter *writer)
{
	StringInfoData trailer;

	if (writer->copy.request == NULL)
		return;
	make_room(writer);
	initStringInfo(&trailer);
	copy_format_append_trailer(writer->format, &trailer);
	(void) remote_copy_put(writer->copy.request, trailer.data, trailer.len);
	pfree(trailer.data);
	remote_copy_end(writer->copy.request);
	remember_sent(writer, writer->copy.request, writer->copy.nrows);
	writer->copy.request = NULL;
	branch_flush(writer->branch);
}

static bool
has_something(const BulkWriter *writer)
{
	return writer->nrows > 0 || writer->held || writer->copy.request ||
		writer->nsent > 0;
}

static void finish_writers(EState *estate, TxnBranch *branch,
						   uint64 statement);

/*
 * To be called before anything is queued for the writer.  Older writers of
 * other statements belong to statements further out, which have been
 * interrupted by this one: their rows go first.
 */
static void
take_turn(BulkWriter *writer)
{
	dlist_iter	iter;
	bool		is_older = true;
	int			npeers = 0;

	dlist_foreach(iter, &writers)
	{
		BulkWriter *peer = dlist_container(BulkWriter, link, iter.cur);

		if (peer == writer)
			is_older = false;
		else if (peer->branch == writer->branch &&
				 peer->target.estate == writer->target.estate)
		{
			end_copy(peer);
			npeers++;
		}
		else if (peer->branch == writer->branch && is_older &&
				 has_something(peer))
			finish_writers(peer->target.estate, writer->branch, 0);
	}
	if (npeers > 0)
		writer->chunk_size = Max(MIN_SHARED_CHUNK_SIZE,
								 Min(MAX_SHARED_CHUNK_SIZE,
									 MAX_SHARED_SIZE / (npeers + 1)));
}

/* ---- by INSERT, UPDATE and DELETE ---- */

static const char *
make_change(const BulkWriter *writer, int nrows)
{
	const BulkTarget *target = &writer->target;
	StringInfoData sql;

	if (nrows == 1)
		return writer->row_sql;
	initStringInfo(&sql);
	if (target->operation == CMD_UPDATE)
		remote_sql_update_many(&sql, target->rel, target->attrs, nrows);
	else
		remote_sql_delete_many(&sql, target->rel, nrows);
	return sql.data;
}

static const char *
make_insert(const BulkTarget *target, int nrows)
{
	RemoteInsert insert = {target->rel, target->attrs, nrows};
	StringInfoData sql;

	insert.conflict = exec_conflict_clause(target->conflict);
	insert.returning_attrs = target->returning_attrs;
	insert.returns_key = exec_conflict_wants_key(target->conflict);
	initStringInfo(&sql);
	remote_sql_insert(&sql, &insert);
	return sql.data;
}

/*
 * Queues a statement for some of the rows kept; returns what follows them.
 */
static char *
queue_rows(BulkWriter *writer, char *next, int nrows)
{
	const BulkTarget *target = &writer->target;
	int			nshared;
	const char *const *shared = exec_conflict_values(target->conflict,
													 &nshared);
	const char **values;
	RemoteQuery query = {0};
	int			param;

	query.nparams = nshared + nrows * writer->ncolumns;
	values = palloc(sizeof(char *) * query.nparams);
	for (param = 0; param < nshared; param++)
		values[param] = shared[param];
	for (; param < query.nparams; param++)
	{
		values[param] = *next ? NULL : next + 1;
		next += strlen(next + 1) + 2;
	}
	query.sql = target->operation == CMD_INSERT ?
		make_insert(target, nrows) : make_change(writer, nrows);
	query.param_values = values;
	query.is_reusable = nrows == writer->max_rows ||
		query.nparams <= MAX_REUSABLE_PARAMS;
	make_room(writer);
	remember_sent(writer,
				  branch_queue_put_off(writer->branch, &query,
									   &writer->whose), nrows);
	return next;
}

static void
send_rows(BulkWriter *writer)
{
	MemoryContext old_context;
	char	   *next = writer->rows.data;
	int			max_rows = writer->mode == BULK_CHANGE_ONLY ? 1 :
	writer->max_rows;
	int			nrows;

	take_turn(writer);
	old_context = MemoryContextSwitchTo(writer->context);
	while (writer->nrows > 0)
	{
		exec_conflict_note_statement(writer->target.conflict);
		nrows = Min(writer->nrows, max_rows);
		next = queue_rows(writer, next, nrows);
		writer->nrows -= nrows;
		writer->nrows_sent += nrows;
		MemoryContextReset(writer->context);
	}
	MemoryContextSwitchTo(old_context);
	resetStringInfo(&writer->rows);
}

static void
keep_row(BulkWriter *writer, const char *const *texts)
{
	int			col;

	for (col = 0; col < writer->ncolumns; col++)
	{
		const char *text = texts[col] ? texts[col] : "";

		appendStringInfoCharMacro(&writer->rows, texts[col] == NULL);
		appendBinaryStringInfo(&writer->rows, text, strlen(text) + 1);
	}
	writer->nrows++;
}

static void
keep_for_insert(BulkWriter *writer, TupleTableSlot *slot)
{
	ListCell   *cell;
	int			col = 0;

	foreach(cell, writer->target.attrs)
	{
		writer->values[col] = slot_getattr(slot, lfirst_int(cell),
										   &writer->nulls[col]);
		col++;
	}
	keep_row(writer, param_writer_print(writer->target.params, writer->values,
										writer->nulls));
}

/* ---- what the shard allows ---- */

static void
ask_shard(BulkWriter *writer)
{
	bool		is_change = writer->mode == BULK_CHANGE;
	RemoteQuery query = {0};
	StringInfoData sql;

	take_turn(writer);
	initStringInfo(&sql);
	remote_sql_copy_check(&sql, writer->target.rel, writer->target.attrs,
						  is_change || copy_format_is_binary(writer->format));
	query.sql = sql.data;
	query.is_reusable = true;
	writer->question =
		branch_queue_put_off(writer->branch, &query,
							 &writer->whose);
	writer->mode = is_change ? BULK_CHANGE_ASKED : BULK_INSERT_ASKED;
	pfree(sql.data);
}

static void
note_answer_if_there(BulkWriter *writer)
{
	bool		is_change = writer->mode == BULK_CHANGE_ASKED;
	RemoteResult *result;

	if (!remote_request_is_final(writer->question))
		return;
	writer->mode = is_change ? BULK_CHANGE_ONLY : BULK_INSERT_ONLY;
	result = remote_request_finish(writer->question);
	if (remote_result_nrows(result) == 1 &&
		!remote_result_is_null(result, 0, 0) &&
		*remote_result_value(result, 0, 0) == 't')
		writer->mode = is_change ? BULK_CHANGE_MANY : BULK_COPY;
	remote_request_release(writer->question);
	writer->question = NULL;
}

/* ---- by COPY ---- */

static void
start_copy(BulkWriter *writer)
{
	const BulkTarget *target = &writer->target;
	StringInfoData buf;

	make_room(writer);
	initStringInfo(&buf);
	remote_sql_copy(&buf, target->rel, target->attrs,
					copy_format_is_binary(writer->format));
	writer->copy.request =
		branch_queue_copy(writer->branch, buf.data,
						  &writer->whose);
	writer->copy.nrows = 0;
	resetStringInfo(&buf);
	copy_format_append_header(writer->format, &buf);
	(void) remote_copy_put(writer->copy.request, buf.data, buf.len);
	pfree(buf.data);
}

/*
 * Waits until the shard has taken some of what it was given; the other shards
 * go on meanwhile.
 */
static void
wait_for_room(BulkWriter *writer)
{
	RemoteRequest **requests;
	int			nrequests = 0;
	dlist_iter	iter;

	if (remote_copy_has_room(writer->copy.request))
		return;
	dlist_foreach(iter, &writers)
		nrequests++;
	requests = palloc(sizeof(RemoteRequest *) * nrequests);
	nrequests = 0;
	dlist_foreach(iter, &writers)
	{
		BulkWriter *peer = dlist_container(BulkWriter, link, iter.cur);

		if (peer->copy.request &&
			peer->target.estate == writer->target.estate)
			requests[nrequests++] = peer->copy.request;
	}
	remote_copy_wait(writer->copy.request, requests, nrequests);
	pfree(requests);
}

static void
send_by_copy(BulkWriter *writer)
{
	take_turn(writer);
	for (;;)
	{
		if (writer->copy.request == NULL)
			start_copy(writer);
		if (remote_copy_put(writer->copy.request, writer->rows.data,
							writer->rows.len))
			break;
		/* it ended early: raise the error, or go on with another one */
		settle(writer, &writer->copy);
	}
	writer->copy.nrows += writer->nrows;
	writer->nrows = 0;
	resetStringInfo(&writer->rows);
	wait_for_room(writer);
}

/* ---- rows held back ---- */

static void
hold_rows(BulkWriter *writer)
{
	int			header[2] = {writer->nrows, writer->rows.len};

	if (writer->held == NULL)
	{
		MemoryContext old_context =
		MemoryContextSwitchTo(writer->target.estate->es_query_cxt);

		writer->held = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old_context);
	}
	BufFileWrite(writer->held, header, sizeof(header));
	BufFileWrite(writer->held, writer->rows.data, writer->rows.len);
	writer->nheld++;
	writer->nrows = 0;
	resetStringInfo(&writer->rows);
}

static void
read_held(BulkWriter *writer, void *data, size_t length)
{
	if (compat_buffile_read(writer->held, data, length) != length)
		ereport(ERROR,
				errcode_for_file_access(),
				errmsg("could not read temporary file of rows to be sent: %m"));
}

static void
send_held(BulkWriter *writer)
{
	int			header[2];

	if (writer->nrows > 0)
		hold_rows(writer);
	if (BufFileSeek(writer->held, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				errcode_for_file_access(),
				errmsg("could not rewind temporary file of rows to be sent: %m"));
	for (; writer->nheld > 0; writer->nheld--)
	{
		read_held(writer, header, sizeof(header));
		resetStringInfo(&writer->rows);
		enlargeStringInfo(&writer->rows, header[1]);
		read_held(writer, writer->rows.data, header[1]);
		writer->nrows = header[0];
		writer->rows.len = header[1];
		send_rows(writer);
		branch_flush(writer->branch);
	}
	BufFileClose(writer->held);
	writer->held = NULL;
}

/* ---- rows ---- */

static bool
is_full(const BulkWriter *writer)
{
	if (writer->rows.len >= writer->chunk_size)
		return true;
	return !writer->is_held && writer->mode != BULK_COPY &&
		writer->nrows >= writer->max_rows;
}

/*
 * Does something about the rows kept, if there are enough of them.
 */
static void
send_if_full(BulkWriter *writer)
{
	if (!is_full(writer))
		return;

	if (writer->is_held)
	{
		hold_rows(writer);
		return;
	}
	if (writer->mode == BULK_COPY)
	{
		send_by_copy(writer);
		return;
	}
	if (writer->mode == BULK_INSERT &&
		writer->nrows_sent + writer->nrows >= MIN_ROWS_FOR_COPY)
		ask_shard(writer);
	send_rows(writer);
	branch_flush(writer->branch);
	if (writer->mode == BULK_INSERT_ASKED)
		note_answer_if_there(writer);
}

Size
bulk_add(BulkWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old_context = MemoryContextSwitchTo(writer->context);
	int			length = writer->rows.len;

	if (writer->mode == BULK_COPY)
	{
		copy_format_append_row(writer->format, &writer->rows, slot);
		writer->nrows++;
	}
	else
		keep_for_insert(writer, slot);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(writer->context);
	length = writer->rows.len - length;
	send_if_full(writer);
	return length;
}

/* ---- changes ---- */

static void
queue_change(BulkWriter *writer, const RemoteQuery *query)
{
	take_turn(writer);
	make_room(writer);
	remember_sent(writer,
				  branch_queue_put_off(writer->branch, query,
									   &writer->whose), 1);
	if (++writer->nrows_sent % FLUSHED_ROW_STATEMENTS == 0)
		branch_flush(writer->branch);
}

/* The identity of rows to be deleted has the same types everywhere. */
static void
note_many_changes(BulkWriter *writer)
{
	if (writer->mode == BULK_CHANGE_ASKED)
		note_answer_if_there(writer);
	else if (writer->mode == BULK_CHANGE &&
			 writer->nrows_sent >= MIN_ROWS_FOR_CHANGES)
	{
		if (writer->target.attrs == NIL)
			writer->mode = BULK_CHANGE_MANY;
		else
			ask_shard(writer);
	}
}

void
bulk_put_off(BulkWriter *writer, const RemoteQuery *query)
{
	note_many_changes(writer);
	if (writer->mode != BULK_CHANGE_MANY && !writer->is_held)
	{
		queue_change(writer, query);
		return;
	}
	writer->row_sql = query->sql;
	keep_row(writer, query->param_values);
	if (is_full(writer) && writer->is_held)
		hold_rows(writer);
	else if (is_full(writer))
	{
		send_rows(writer);
		branch_flush(writer->branch);
	}
}

/* ---- the end ---- */

static void
send_rest(BulkWriter *writer)
{
	if (writer->held)
		send_held(writer);
	if (writer->nrows > 0)
	{
		if (writer->mode == BULK_COPY)
			send_by_copy(writer);
		else
			send_rows(writer);
	}
	end_copy(writer);
	branch_flush(writer->branch);
}

/* Are its rows none that the statement must see? */
static bool
is_held_from(const BulkWriter *writer, uint64 statement)
{
	return statement != 0 && writer->is_held &&
		writer->whose.statement == statement;
}

/*
 * The writers that have something, by EState and by branch, where given.
 * Those of a level that has been rolled back are about to go.
 */
static List *
list_writers(const EState *estate, const TxnBranch *branch, uint64 statement)
{
	List	   *found = NIL;
	dlist_iter	iter;

	dlist_foreach(iter, &writers)
	{
		BulkWriter *writer = dlist_container(BulkWriter, link, iter.cur);

		if ((estate == NULL || writer->target.estate == estate) &&
			(branch == NULL || writer->branch == branch) &&
			writer->whose.owner_level <= GetCurrentTransactionNestLevel() &&
			has_something(writer) && !is_held_from(writer, statement))
			found = lappend(found, writer);
	}
	return found;
}

void
bulk_finish_writers(List *list)
{
	RemoteRequest **requests;
	int			nrequests = 0;
	ListCell   *cell;

	foreach(cell, list)
		send_rest(lfirst(cell));
	foreach(cell, list)
		nrequests += ((BulkWriter *) lfirst(cell))->nsent;
	requests = palloc(sizeof(RemoteRequest *) * nrequests);
	nrequests = 0;
	foreach(cell, list)
	{
		BulkWriter *writer = lfirst(cell);
		int			position;

		for (position = 0; position < writer->nsent; position++)
			requests[nrequests++] = writer->sent[position].request;
	}
	(void) remote_request_finish_all(requests, nrequests, 0);
	foreach(cell, list)
	{
		BulkWriter *writer = lfirst(cell);

		while (writer->nsent > 0)
			settle_oldest(writer);
	}
	pfree(requests);
}

static void
finish_writers(EState *estate, TxnBranch *branch, uint64 statement)
{
	List	   *found = list_writers(estate, branch, statement);

	if (found == NIL)
		return;
	bulk_finish_writers(found);
	list_free(found);
}

bool
bulk_is_holding(const EState *estate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &writers)
	{
		const BulkWriter *writer = dlist_container(BulkWriter, link, iter.cur);

		if (writer->target.estate == estate && writer->is_held &&
			has_something(writer))
			return true;
	}
	return false;
}

void
bulk_finish(EState *estate)
{
	finish_writers(estate, NULL, 0);
}

void
bulk_finish_branch(TxnBranch *branch, uint64 statement)
{
	if (!dlist_is_empty(&writers))
		finish_writers(NULL, branch, statement);
}
