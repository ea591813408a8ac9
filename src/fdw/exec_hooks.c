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

typedef struct Frame
{
	struct Frame *outer;
	const EState *estate;		/* NULL for COPY */
	uint64		correction;		/* of COPY: added modulo 2^64 */
} Frame;

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

uint64 *
exec_hooks_copy_correction(void)
{
	Frame	   *frame = innermost;

	while (frame && frame->estate)
		frame = frame->outer;
	return frame ? &frame->correction : NULL;
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

static void
run_hook(COMPAT_EXECUTOR_RUN_ARGS)
{
	Frame		frame = {innermost, queryDesc->estate, 0};

	if (!may_modify(queryDesc))
	{
		continue_run(COMPAT_EXECUTOR_RUN_PASS);
		return;
	}
	innermost = &frame;
	PG_TRY();
	{
		continue_run(COMPAT_EXECUTOR_RUN_PASS);
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

/* ---- COPY ---- */

static void
utility_hook(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *query_env, DestReceiver *dest,
			 QueryCompletion *qc)
{
	ProcessUtility_hook_type next = previous_utility ? previous_utility :
	standard_ProcessUtility;
	Frame		frame = {innermost, NULL, 0};

	if (!IsA(pstmt->utilityStmt, CopyStmt))
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
}
