/*-------------------------------------------------------------------------
 *
 * exec_scan.c
 *	  Running a foreign scan.
 *
 * The query runs as a stream or through a cursor; scan_group.c says which,
 * and when it is sent.  A stream is one request whose rows are handed out as
 * they come, by COPY where they are very many.  A cursor is DECLARE and the first FETCH, sent together; the
 * next FETCH is sent when half of a batch has been used, and CLOSE travels
 * with whatever is sent next.  No more than two batches are here at a time.
 *
 * A batch has as many rows as was planned, or fewer if the memory the last one
 * took says so.  Where few rows may be wanted the first batches are small.
 *
 * Requests belong to the nest level at which the scan was begun: when that is
 * rolled back they are orphaned by the engine, and nothing is to be done
 * here.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"

#include "base/compat_executor.h"
#include "fdw/exec_scan.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/scan_group.h"
#include "fdw/text_only.h"
#include "fdw/tuple_io.h"

/* first batch of a scan that may not be read to its end, and growth from it */
#define TENTATIVE_FETCH_SIZE 100
#define FETCH_GROWTH 5

/*
 * So many rows take longer than the trip that COPY costs in a new session,
 * most likely.
 */
#define BULK_ROWS 50000

typedef struct ShardScan
{
	ScanMember	member;			/* must be first */
	const char *sql;
	int			flags;			/* ScanFlags */
	TupleReader *reader;
	ParamWriter *params;
	ExprState  *prune_state;	/* false: nothing to ask for; may be NULL */
	MemoryContext scratch;		/* for queueing */

	/* the query in progress */
	RemoteRequest *request;		/* the stream, or the FETCH whose rows are
								 * being returned */
	RemoteRequest *ahead;		/* FETCH sent, not yet looked at */
	RemoteRequest *declare;		/* until seen to have succeeded */
	uint32		cursor;			/* its number; 0 for a stream */
	bool		is_cursor_deeper;	/* declared below a younger savepoint */
	int			planned_fetch_size;
	int			fetch_size;		/* of ahead, or of the batch in hand */
	bool		is_batch_full;	/* so there may be another one */
	const RemoteResult *rows;	/* batch in hand */
	int			nrows;
	int			next_row;
	uint64		nbatches;		/* asked for, the end included */

	bool		is_polled;		/* see exec_scan_set_polled() */
	bool		was_blocked;

	/* of finished requests */
	bool		was_abandoned;	/* a request was given up unfinished */
	bool		was_sent;
	bool		uses_cursor;	/* or used one when it was sent last */
	bool		was_copied;
	bool		ran_without_block;
	bool		is_timed;
	bool		is_running;		/* between started_at and the end */
	instr_time	started_at;
	double		first_ms;
	double		total_ms;
	uint64		trips;
	uint64		total_rows;
	uint64		total_bytes;
	uint64		total_spooled;
} ShardScan;

/* ---- sending ---- */

static RemoteRequest *
queue(ShardScan *scan, const RemoteQuery *query)
{
	ScanMember *member = &scan->member;

	return branch_queue(member->branch, query, member->use, member->statement,
						member->owner_level);
}

static void
queue_fetch(ShardScan *scan)
{
	char		sql[64];
	RemoteQuery query = {0};

	snprintf(sql, sizeof(sql), "FETCH FORWARD %d FROM shard_fdw_c%u",
			 scan->fetch_size, scan->cursor);
	query.sql = sql;
	query.binary_result = tuple_reader_wants_binary(scan->reader);
	scan->ahead = queue(scan, &query);
	scan->trips++;
}

/*
 * Below a savepoint that is younger than the scan?
 */
static bool
is_below_scan_level(const ScanMember *member)
{
	return GetCurrentTransactionNestLevel() > member->owner_level;
}

static void
open_cursor(ShardScan *scan, RemoteQuery *query)
{
	scan->cursor = branch_next_cursor_number(scan->member.branch);
	scan->is_cursor_deeper = is_below_scan_level(&scan->member);
	query->sql = psprintf("DECLARE shard_fdw_c%u NO SCROLL CURSOR FOR %s",
						  scan->cursor, scan->sql);
	scan->declare = queue(scan, query);
	branch_count_cursor(scan->member.branch, 1);
	scan->fetch_size = scan->member.may_stop_early ?
		Min(scan->planned_fetch_size, TENTATIVE_FETCH_SIZE) :
		scan->planned_fetch_size;
	queue_fetch(scan);
}

/*
 * A cursor declared below a savepoint that is younger than the scan would be
 * gone when that is rolled back, and the scan goes on.  A stream has come
 * before the rollback does; but its locks would go with the savepoint, and
 * then it is better to fail.
 */
static bool
is_cursor_called_for(const ScanMember *member)
{
	return member->needs_cursor &&
		(member->locks_rows || !is_below_scan_level(member));
}

/*
 * ScanMember.start
 */
static void
start_scan(ScanMember *member)
{
	ShardScan  *scan = (ShardScan *) member;
	MemoryContext old_context = MemoryContextSwitchTo(scan->scratch);
	RemoteQuery query = {0};

	query.sql = scan->sql;
	query.param_values = param_writer_print_scan(scan->params, &query.nparams);
	query.param_types = param_writer_types(scan->params);
	scan->uses_cursor = is_cursor_called_for(member);
	if (scan->uses_cursor)
		open_cursor(scan, &query);
	else
	{
		query.binary_result = tuple_reader_wants_binary(scan->reader);
		query.is_stream = true;
		query.is_reusable = true;
		query.is_bulk = !scan->member.locks_rows &&
			scan->member.node->ss.ps.plan->plan_rows >= BULK_ROWS;
		scan->request = queue(scan, &query);
		scan->trips++;
	}
	if (scan->is_timed)
		INSTR_TIME_SET_CURRENT(scan->started_at);
	scan->is_running = true;
	scan->nbatches = 0;
	scan->nrows = scan->next_row = 0;
	scan->was_sent = true;
	scan->was_copied = false;
	scan->ran_without_block = branch_state(member->branch) == BRANCH_IDLE;

	MemoryContextSwitchTo(old_context);
	MemoryContextReset(scan->scratch);
}

/*
 * ScanMember.is_needed
 *
 * NULL is no reason not to ask, as in a partition constraint.
 */
static bool
is_scan_needed(ScanMember *member)
{
	ShardScan  *scan = (ShardScan *) member;

	return ExecCheck(scan->prune_state,
					 member->node->ss.ps.ps_ExprContext);
}

static void
init_params(ForeignScanState *node, ShardScan *scan)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	int			nparams = intVal(list_nth(plan->fdw_private,
										  SCAN_PRIVATE_NPARAMS));
	List	   *conditions = list_copy_tail(plan->fdw_exprs, nparams);

	scan->params = param_writer_create_for_scan(node, nparams);
	if (conditions == NIL)
		return;
	scan->prune_state = ExecInitCheck(conditions, &node->ss.ps);
	scan->member.is_needed = is_scan_needed;
}

/* ---- receiving ---- */

/* False for a scan that was started without anything to send. */
static bool
is_asking(const ShardScan *scan)
{
	return scan->cursor != 0 || scan->request != NULL;
}

static double
elapsed_ms(const ShardScan *scan)
{
	instr_time	now;

	if (!scan->is_timed)
		return 0;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, scan->started_at);
	return INSTR_TIME_GET_MILLISEC(now);
}

/*
 * The query in progress has given all that was wanted of it.
 */
static void
note_end(ShardScan *scan)
{
	if (scan->is_running)
		scan->total_ms += elapsed_ms(scan);
	scan->is_running = false;
}

static void
release(ShardScan *scan, RemoteRequest **request)
{
	if (*request == NULL)
		return;
	scan->was_abandoned |= !remote_request_is_final(*request);
	scan->total_rows += remote_request_rows(*request);
	scan->total_bytes += remote_request_bytes(*request);
	scan->total_spooled += remote_request_spooled_rows(*request);
	scan->was_copied |= remote_request_is_copied(*request);
	remote_request_release(*request);
	*request = NULL;
}

/*
 * The size of the FETCH after the one given, which returned full: as planned,
 * or on the way there, unless the rows turn out so wide that two batches
 * would not fit into work_mem.
 */
static int
choose_fetch_size(ShardScan *scan, const RemoteRequest *request)
{
	uint64		rows = Max(remote_request_rows(request), 1);
	uint64		row_bytes = Max(remote_request_bytes(request) / rows, 1);
	uint64		limit = (uint64) work_mem * 1024 / 2 / row_bytes;
	uint64		wanted = Min((uint64) scan->fetch_size * FETCH_GROWTH,
							 (uint64) scan->planned_fetch_size);

	return (int) Max(Min(wanted, limit), 1);
}

/*
 * Asks for the batch after the one in hand, if there can be one.
 */
static void
read_ahead(ShardScan *scan)
{
	if (!scan->is_batch_full || scan->ahead != NULL)
		return;
	scan->fetch_size = choose_fetch_size(scan, scan->request);
	queue_fetch(scan);
	branch_flush(scan->member.branch);
}

/*
 * The shard cannot send one of the types in the binary format: it must be
 * asked for text the next time.
 */
static void
note_refusal(ShardScan *scan, const RemoteRequest *request)
{
	if (remote_request_state(request) == REMOTE_REQUEST_FAILED &&
		remote_request_query(request)->binary_result &&
		remote_result_sqlstate(remote_request_result(request)) ==
		ERRCODE_UNDEFINED_FUNCTION)
		text_only_add(scan->member.serverid, scan->sql);
}

static void
next_stream_batch(ShardScan *scan)
{
	if (scan->nbatches <= 1)
	{
		remote_request_wait(scan->request);
		note_refusal(scan, scan->request);
		scan->rows = branch_next(scan->member.branch, &scan->request);
	}
	else
		scan->rows = remote_request_next(scan->request);
	scan->nrows = scan->rows ? remote_result_nrows(scan->rows) : 0;
}

/*
 * DECLARE is looked at first: when it failed the FETCH only says that the
 * transaction is aborted.
 */
static void
next_cursor_batch(ShardScan *scan)
{
	scan->rows = NULL;
	scan->nrows = 0;
	if (scan->nbatches > 1)
		read_ahead(scan);
	if (scan->ahead == NULL)
		return;
	if (scan->declare)
	{
		remote_request_finish(scan->declare);
		release(scan, &scan->declare);
	}
	if (scan->nbatches <= 1)
	{
		remote_request_finish_all(&scan->ahead, 1, 0);
		note_refusal(scan, scan->ahead);
	}
	scan->rows = remote_request_finish(scan->ahead);
	scan->nrows = remote_result_nrows(scan->rows);
	scan->is_batch_full = scan->nrows >= scan->fetch_size;
	release(scan, &scan->request);
	scan->request = scan->ahead;
	scan->ahead = NULL;
}

/* ---- ending ---- */

/*
 * CLOSE is queued as long as the cursor is known to be there: the branch is
 * alive, and the cursor is not of a deeper level, which may have been rolled
 * back since.  Else it ends with the shard's transaction.  It counts until
 * CLOSE is queued, which belongs into the cursor's block.
 */
static void
close_cursor(ShardScan *scan)
{
	TxnBranch  *branch = scan->member.branch;

	if (branch_state(branch) == BRANCH_OPEN && !scan->is_cursor_deeper)
	{
		char		sql[64];
		RemoteQuery query = {0};

		snprintf(sql, sizeof(sql), "CLOSE shard_fdw_c%u", scan->cursor);
		query.sql = sql;
		remote_request_release(branch_queue(branch, &query, BRANCH_USE_CLOSE,
											scan->member.statement,
											scan->member.owner_level));
	}
	branch_count_cursor(branch, -1);
	scan->cursor = 0;
}

/*
 * Lets go of what was sent; the scan can be started anew after it.
 */
static void
close_remote(ShardScan *scan)
{
	note_end(scan);
	release(scan, &scan->declare);
	release(scan, &scan->ahead);
	release(scan, &scan->request);
	scan->rows = NULL;
	scan->nrows = scan->next_row = 0;
	scan->is_batch_full = false;
	if (scan->cursor)
		close_cursor(scan);
	scan->member.is_started = false;
}

/* ---- batches ---- */

/*
 * The first rows tell the types.
 */
static bool
is_readable(ShardScan *scan)
{
	return tuple_reader_accept(scan->reader, scan->rows,
							   remote_request_query(scan->request)->binary_result);
}

/*
 * Sends the query again, as nothing was handed out yet.
 */
static void
ask_as_text(ShardScan *scan)
{
	text_only_add(scan->member.serverid, scan->sql);
	tuple_reader_set_binary(scan->reader, false);
	close_remote(scan);
	start_scan(&scan->member);
	scan->member.is_started = true;
	branch_flush(scan->member.branch);
}

/*
 * Makes rows available; false at the end, or when that would mean waiting
 * while the scan is polled.
 */
static bool
next_batch(ForeignScanState *node, ShardScan *scan)
{
	if (!is_asking(scan))
		return false;
	do
	{
		if (scan->is_polled && !exec_scan_is_ready(node))
		{
			scan->was_blocked = true;
			return false;
		}
		scan->nbatches++;
		scan->next_row = 0;
		if (scan->cursor)
			next_cursor_batch(scan);
		else
			next_stream_batch(scan);
		if (scan->rows == NULL)
		{
			note_end(scan);
			return false;
		}
		if (scan->nbatches == 1 && !is_readable(scan))
			ask_as_text(scan);
		else if (scan->nbatches == 1 && scan->first_ms == 0)
			scan->first_ms = elapsed_ms(scan);
	} while (scan->nrows == 0);
	return true;
}

/* ---- callbacks ---- */

void
shardBeginForeignScan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = castNode(ForeignScan, node->ss.ps.plan);
	List	   *private = plan->fdw_private;
	ShardScan  *scan;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	scan = palloc0(sizeof(ShardScan));
	node->fdw_state = scan;
	scan->sql = strVal(list_nth(private, SCAN_PRIVATE_SQL));
	scan->flags = intVal(list_nth(private, SCAN_PRIVATE_FLAGS));
	scan->planned_fetch_size = Max(intVal(list_nth(private,
												   SCAN_PRIVATE_FETCH_SIZE)), 1);
	scan->reader = tuple_reader_create(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
									   list_nth(private,
												SCAN_PRIVATE_RETRIEVED_ATTRS),
									   NULL, node);
	if (compat_is_result_relation(node->ss.ps.state->es_plannedstmt,
								  plan->scan.scanrelid))
		tuple_reader_keep_identity(scan->reader);
	tuple_reader_set_binary(scan->reader,
							!text_only_contains(plan->fs_server, scan->sql));
	init_params(node, scan);
	scan->scratch = AllocSetContextCreate(CurrentMemoryContext,
										  "shard_fdw scan",
										  ALLOCSET_SMALL_SIZES);

	scan->is_timed = (node->ss.ps.state->es_instrument & INSTRUMENT_TIMER) != 0;
	scan->member.node = node;
	scan->member.start = start_scan;
	scan->member.eflags = eflags;
	scan->member.locks_rows = (scan->flags & SCAN_FLAG_LOCKS_ROWS) != 0;
	scan->member.may_stop_early = (scan->flags & SCAN_FLAG_MAY_STOP_EARLY) != 0;
	scan_group_register(&scan->member);
}

TupleTableSlot *
shardIterateForeignScan(ForeignScanState *node)
{
	ShardScan  *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	scan_group_start(&scan->member);
	if (scan->next_row >= scan->nrows && !next_batch(node, scan))
		return ExecClearTuple(slot);
	tuple_reader_store(scan->reader, scan->rows, scan->next_row++, slot);
	if (scan->cursor && scan->next_row * 2 >= scan->nrows)
		read_ahead(scan);
	return slot;
}

/*
 * What was sent is kept when it still answers the question and its first rows
 * are still at hand.
 */
void
shardReScanForeignScan(ForeignScanState *node)
{
	ShardScan  *scan = node->fdw_state;

	if (!scan->member.is_started)
		return;
	if (!bms_overlap(node->ss.ps.chgParam, scan->member.exec_params) &&
		scan->nbatches <= 1)
	{
		scan->next_row = 0;
		return;
	}
	close_remote(scan);

	/* a query sent twice shares its snapshot with the first time */
	if (scan->member.use == BRANCH_USE_ALONE)
		scan->member.use = BRANCH_USE_READ;
}

void
shardEndForeignScan(ForeignScanState *node)
{
	ShardScan  *scan = node->fdw_state;

	if (scan == NULL)
		return;
	close_remote(scan);
	scan_group_leave(&scan->member);
	if (scan->was_abandoned)
		branch_stop_orphans(scan->member.branch, false);
}

/*
 * Conditions that ran on the shard are rechecked by core.  Where a join did,
 * the local plan for it makes the row of the join from those of its parts.
 */
bool
shardRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot)
{
	PlanState  *outer_plan = outerPlanState(node);
	TupleTableSlot *row;

	if (((Scan *) node->ss.ps.plan)->scanrelid > 0)
		return true;
	if (outer_plan == NULL)
		elog(ERROR, "no local plan to recheck a row of a remote join");
	row = ExecProcNode(outer_plan);
	if (TupIsNull(row))
		return false;
	ExecCopySlot(slot, row);
	return true;
}

/* ---- for exec_async.c and fdw_explain.c ---- */

void
exec_scan_start(ForeignScanState *node)
{
	scan_group_start(&((ShardScan *) node->fdw_state)->member);
}

bool
exec_scan_is_ready(ForeignScanState *node)
{
	ShardScan  *scan = node->fdw_state;

	if (scan->next_row < scan->nrows || !is_asking(scan))
		return true;
	if (scan->cursor == 0)
		return remote_request_is_ready(scan->request);
	if (scan->nbatches > 0)
		read_ahead(scan);
	return scan->ahead == NULL || remote_request_is_ready(scan->ahead);
}

void
exec_scan_set_polled(ForeignScanState *node, bool is_polled)
{
	ShardScan  *scan = node->fdw_state;

	scan->is_polled = is_polled;
	scan->was_blocked = false;
}

bool
exec_scan_was_blocked(ForeignScanState *node)
{
	return ((ShardScan *) node->fdw_state)->was_blocked;
}

static RemoteRequest *
awaited_request(ForeignScanState *node)
{
	ShardScan  *scan = node->fdw_state;

	return scan->ahead ? scan->ahead : scan->request;
}

pgsocket
exec_scan_socket(ForeignScanState *node)
{
	RemoteRequest *request = awaited_request(node);

	return request ? remote_request_socket(request) : PGINVALID_SOCKET;
}

void
exec_scan_note_outside_wait(ForeignScanState *node)
{
	remote_request_note_outside_wait(awaited_request(node));
}

/* How the rows came, for EXPLAIN. */
static const char *
name_way(const ShardScan *scan)
{
	if (scan->uses_cursor)
		return "cursor";
	if (scan->was_copied ||
		(scan->request && remote_request_is_copied(scan->request)))
		return scan->ran_without_block ? "copy without a block" : "copy";
	return scan->ran_without_block ? "stream without a block" : "stream";
}

void
exec_scan_wait_for_socket(ForeignScanState *node)
{
	RemoteRequest *request = awaited_request(node);

	if (request)
		remote_request_wait_for_socket(request);
}

bool
exec_scan_report(ForeignScanState *node, ExecReport *report)
{
	ShardScan  *scan = node->fdw_state;
	RemoteRequest *open_requests[2] = {scan->request, scan->ahead};
	int			which;

	if (!scan->was_sent)
		return false;
	report->way = name_way(scan);
	report->is_binary = tuple_reader_wants_binary(scan->reader);
	report->trips = scan->trips;
	report->rows = scan->total_rows;
	report->bytes = scan->total_bytes;
	report->spooled = scan->total_spooled;
	report->first_ms = scan->first_ms;
	report->total_ms = scan->total_ms + (scan->is_running ? elapsed_ms(scan) : 0);
	for (which = 0; which < lengthof(open_requests); which++)
	{
		if (open_requests[which] == NULL)
			continue;
		report->rows += remote_request_rows(open_requests[which]);
		report->bytes += remote_request_bytes(open_requests[which]);
		report->spooled += remote_request_spooled_rows(open_requests[which]);
	}
	return true;
}
