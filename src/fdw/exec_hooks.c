/*-------------------------------------------------------------------------
 *
 * exec_hooks.c
 *	  Where statements end.
 *
 * Runs and COPYs nest (a trigger, a function), so they are kept as a stack of
 * frames that live on the C stack.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "tcop/utility.h"

#include "base/compat_executor.h"
#include "fdw/bulk_insert.h"
#include "fdw/exec_hooks.h"
#include "fdw/fdw_handler.h"

typedef struct Frame
{
	struct Frame *outer;
	const EState *estate;		/* NULL for COPY and TRUNCATE */
	bool		is_limited;		/* stops after some rows */
	bool		is_truncate;
	uint64		correction;		/* of COPY: added modulo 2^64 */
	List	   *truncates;		/* Truncates that have not been awaited */
} Frame;

/* A TRUNCATE that a shard has been sent. */
typedef struct Truncate
{
	TxnBranch  *branch;
	RemoteRequest *request;
} Truncate;

static Frame *innermost = NULL;
static ExecutorRun_hook_type previous_run = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

bool
exec_hooks_cover_run(const EState *estate)
{
	const Frame *frame;

	for (frame = innermost; frame; frame = frame->outer)
	{
		if (frame->estate == estate)
			return true;
	}
	return false;
}

bool
exec_hooks_is_run_limited(const EState *estate)
{
	const Frame *frame;

	for (frame = innermost; frame; frame = frame->outer)
	{
		if (frame->estate == estate)
			return frame->is_limited;
	}
	return false;
}

uint64 *
exec_hooks_copy_correction(void)
{
	Frame	   *frame = innermost;

	while (frame && (frame->estate || frame->is_truncate))
		frame = frame->outer;
	return frame ? &frame->correction : NULL;
}

/* ---- TRUNCATE ---- */

bool
exec_hooks_put_off_truncate(TxnBranch *branch, RemoteRequest *request)
{
	Truncate   *truncate;

	if (innermost == NULL || !innermost->is_truncate)
		return false;
	truncate = palloc(sizeof(Truncate));
	truncate->branch = branch;
	truncate->request = request;
	innermost->truncates = lappend(innermost->truncates, truncate);
	return true;
}

/*
 * Awaits those on the branch, or all.
 */
static void
finish_truncates(Frame *frame, const TxnBranch *branch)
{
	RemoteRequest **requests;
	int			nrequests = 0;
	int			position;
	ListCell   *cell;

	if (frame->truncates == NIL)
		return;
	requests = palloc(sizeof(RemoteRequest *) * list_length(frame->truncates));
	foreach(cell, frame->truncates)
	{
		Truncate   *truncate = lfirst(cell);

		if (branch && truncate->branch != branch)
			continue;
		requests[nrequests++] = truncate->request;
		frame->truncates = foreach_delete_current(frame->truncates, cell);
	}
	(void) remote_request_finish_all(requests, nrequests, 0);
	for (position = 0; position < nrequests; position++)
	{
		(void) remote_request_finish(requests[position]);
		remote_request_release(requests[position]);
	}
	pfree(requests);
}

static void
finish_put_off(TxnBranch *branch, uint64 statement)
{
	Frame	   *frame;

	for (frame = innermost; frame; frame = frame->outer)
		finish_truncates(frame, branch);
	bulk_finish_branch(branch, statement);
}

/* ---- the executor ---- */

static bool
may_modify(const QueryDesc *desc)
{
	return desc->operation != CMD_SELECT ||
		desc->plannedstmt->hasModifyingCTE;
}

static void
continue_run(COMPAT_EXECUTOR_RUN_ARGS)
{
	if (previous_run)
		previous_run(COMPAT_EXECUTOR_RUN_PASS);
	else
		standard_ExecutorRun(COMPAT_EXECUTOR_RUN_PASS);
}

/*
 * Changes in WITH that nobody has read.  Core runs them in ExecutorFinish, but
 * by then they would see the rows that have been held back.
 */
static void
finish_unread_changes(EState *estate)
{
	MemoryContext old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	ListCell   *cell;

	foreach(cell, estate->es_auxmodifytables)
	{
		do
		{
			ResetPerTupleExprContext(estate);
		} while (!TupIsNull(ExecProcNode(lfirst(cell))));
	}
	MemoryContextSwitchTo(old_context);
}

static void
run_hook(COMPAT_EXECUTOR_RUN_ARGS)
{
	Frame		frame = {innermost, queryDesc->estate, count != 0};

	if (!may_modify(queryDesc))
	{
		continue_run(COMPAT_EXECUTOR_RUN_PASS);
		return;
	}
	exec_modify_start_run(queryDesc->estate);
	innermost = &frame;
	PG_TRY();
	{
		continue_run(COMPAT_EXECUTOR_RUN_PASS);
		if (bulk_is_holding(queryDesc->estate))
			finish_unread_changes(queryDesc->estate);
		bulk_finish(queryDesc->estate);
	}
	PG_FINALLY();
	{
		innermost = frame.outer;
	}
	PG_END_TRY();
}

/*
 * What WITH changes and nobody reads is run to its end here.
 */
static void
finish_hook(QueryDesc *queryDesc)
{
	if (previous_finish)
		previous_finish(queryDesc);
	else
		standard_ExecutorFinish(queryDesc);
	if (may_modify(queryDesc))
		bulk_finish(queryDesc->estate);
}

/* ---- COPY and TRUNCATE ---- */

static void
utility_hook(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *query_env, DestReceiver *dest,
			 QueryCompletion *qc)
{
	ProcessUtility_hook_type next = previous_utility ? previous_utility :
	standard_ProcessUtility;
	Frame		frame = {innermost};

	frame.is_truncate = IsA(pstmt->utilityStmt, TruncateStmt);
	if (!IsA(pstmt->utilityStmt, CopyStmt) && !frame.is_truncate)
	{
		next(pstmt, query_string, read_only_tree, context, params, query_env,
			 dest, qc);
		return;
	}
	innermost = &frame;
	PG_TRY();
	{
		next(pstmt, query_string, read_only_tree, context, params, query_env,
			 dest, qc);
		finish_truncates(&frame, NULL);
	}
	PG_FINALLY();
	{
		innermost = frame.outer;
	}
	PG_END_TRY();
	if (qc && qc->commandTag == CMDTAG_COPY)
		qc->nprocessed += frame.correction;
}

void
exec_hooks_init(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = run_hook;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_hook;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility_hook;
	branch_set_flush_put_off(finish_put_off);
}
