/*-------------------------------------------------------------------------
 *
 * exec_direct.c
 *	  Running an UPDATE or DELETE that its shard executes by itself.
 *
 * The statement is sent together with those for the other partitions, see
 * scan_group.h.  Without RETURNING the shard answers with a number; with it
 * the rows arrive as a stream, and each goes to core twice: as the scan's row
 * and as the row on which RETURNING is evaluated.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"

#include "fdw/exec_direct.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/scan_group.h"
#include "fdw/tuple_io.h"

typedef struct DirectModify
{
	ScanMember	member;			/* must be first */
	const char *sql;
	bool		has_returning;
	bool		sets_processed;
	TupleReader *reader;
	ParamWriter *params;
	MemoryContext scratch;		/* for queueing */
	RemoteRequest *request;
	const RemoteResult *rows;	/* of RETURNING, being handed out */
	int			nrows;
	int			next_row;
	uint64		changed;		/* rows so far */
	bool		is_timed;
	instr_time	started_at;
	double		first_ms;		/* until the first row of RETURNING */
	double		total_ms;
} DirectModify;

/*
 * ScanMember.start
 */
static void
start_modify(ScanMember *member)
{
	DirectModify *direct = (DirectModify *) member;
	MemoryContext old_context = MemoryContextSwitchTo(direct->scratch);
	RemoteQuery query = {0};

	query.sql = direct->sql;
	query.param_values = param_writer_print_scan(direct->params,
												 &query.nparams);
	query.param_types = param_writer_types(direct->params);
	query.binary_result = tuple_reader_wants_binary(direct->reader);
	query.is_stream = direct->has_returning;
	query.is_reusable = true;
	direct->request = branch_queue(member->branch, &query, member->use,
								   member->statement, member->owner_level);
	if (direct->is_timed)
		INSTR_TIME_SET_CURRENT(direct->started_at);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(direct->scratch);
}

void
shardBeginDirectModify(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = castNode(ForeignScan, node->ss.ps.plan);
	List	   *private = plan->fdw_private;
	DirectModify *direct;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	direct = palloc0(sizeof(DirectModify));
	node->fdw_state = direct;
	direct->sql = strVal(list_nth(private, DIRECT_PRIVATE_SQL));
	direct->has_returning = intVal(list_nth(private,
											DIRECT_PRIVATE_HAS_RETURNING)) != 0;
	direct->sets_processed = intVal(list_nth(private,
											 DIRECT_PRIVATE_SET_PROCESSED)) != 0;
	direct->reader = tuple_reader_create(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
										 list_nth(private,
												  DIRECT_PRIVATE_RETRIEVED_ATTRS),
										 NULL, node);
	direct->params = param_writer_create_for_scan(node,
												  list_length(plan->fdw_exprs));
	direct->scratch = AllocSetContextCreate(CurrentMemoryContext,
											"shard_fdw direct modification",
											ALLOCSET_SMALL_SIZES);

	direct->is_timed = (node->ss.ps.state->es_instrument & INSTRUMENT_TIMER) != 0;
	direct->member.node = node;
	direct->member.start = start_modify;
	direct->member.eflags = eflags;
	direct->member.is_modify = true;
	scan_group_register(&direct->member);
}

static void
count_rows(ForeignScanState *node, DirectModify *direct, uint64 rows)
{
	direct->changed += rows;
	if (direct->sets_processed)
		node->ss.ps.state->es_processed += rows;
}

static double
elapsed_ms(const DirectModify *direct)
{
	instr_time	now;

	if (!direct->is_timed)
		return 0;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, direct->started_at);
	return INSTR_TIME_GET_MILLISEC(now);
}

/*
 * The rows of RETURNING are counted by core's instrumentation as they pass;
 * those that do not pass are told to it here.
 */
static TupleTableSlot *
finish_without_returning(ForeignScanState *node, DirectModify *direct)
{
	uint64		rows;

	if (direct->rows == NULL)
	{
		direct->rows = branch_finish(direct->member.branch,
									 &direct->request);
		direct->total_ms = elapsed_ms(direct);
		rows = remote_result_affected(direct->rows);
		count_rows(node, direct, rows);
		if (node->ss.ps.instrument)
			InstrUpdateTupleCount(node->ss.ps.instrument, rows);
	}
	return ExecClearTuple(node->ss.ss_ScanTupleSlot);
}

TupleTableSlot *
shardIterateDirectModify(ForeignScanState *node)
{
	DirectModify *direct = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ResultRelInfo *rinfo = node->resultRelInfo;

	scan_group_start(&direct->member);
	if (!direct->has_returning)
		return finish_without_returning(node, direct);

	while (direct->next_row >= direct->nrows)
	{
		direct->rows = direct->rows ? remote_request_next(direct->request) :
			branch_next(direct->member.branch, &direct->request);
		if (direct->rows == NULL)
		{
			direct->total_ms = elapsed_ms(direct);
			return ExecClearTuple(slot);
		}
		if (direct->first_ms == 0)
			direct->first_ms = elapsed_ms(direct);
		direct->nrows = remote_result_nrows(direct->rows);
		direct->next_row = 0;
	}
	tuple_reader_store(direct->reader, direct->rows, direct->next_row++, slot);
	count_rows(node, direct, 1);
	if (rinfo && rinfo->ri_projectReturning)
		rinfo->ri_projectReturning->pi_exprContext->ecxt_scantuple = slot;
	return slot;
}

void
shardEndDirectModify(ForeignScanState *node)
{
	DirectModify *direct = node->fdw_state;

	if (direct == NULL)
		return;
	if (direct->request)
		remote_request_release(direct->request);
	direct->request = NULL;
	scan_group_leave(&direct->member);
}

bool
exec_direct_report(ForeignScanState *node, ExecReport *report)
{
	DirectModify *direct = node->fdw_state;

	if (direct == NULL || direct->request == NULL)
		return false;
	report->way = "direct";
	report->is_binary = false;
	report->trips = 1;
	report->first_ms = direct->first_ms;
	report->total_ms = direct->total_ms;
	report->spooled = remote_request_spooled_rows(direct->request);
	report->rows = direct->changed;
	report->bytes = remote_request_bytes(direct->request);
	return true;
}
