/*-------------------------------------------------------------------------
 *
 * exec_drain.c
 *	  A node that reads all rows of its input before it gives the first.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "fdw/exec_drain.h"

typedef struct DrainNode
{
	CustomScanState css;		/* must be first */
	Tuplestorestate *rows;		/* NULL: not read yet */
	TupleTableSlot *stored;
} DrainNode;

static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	DrainNode  *node = (DrainNode *) css;

	outerPlanState(css) = ExecInitNode(outerPlan(css->ss.ps.plan), estate,
									   eflags);
	node->stored =
		ExecInitExtraTupleSlot(estate,
							   ExecGetResultType(outerPlanState(css)),
							   &TTSOpsMinimalTuple);
}

static void
drain(DrainNode *node)
{
	PlanState  *input = outerPlanState(&node->css);
	MemoryContext old_context =
	MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	TupleTableSlot *slot;

	node->rows = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old_context);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		slot = ExecProcNode(input);
		if (TupIsNull(slot))
			break;
		tuplestore_puttupleslot(node->rows, slot);
	}
}

/* Core expects the kind of slot that it has made for the node. */
static TupleTableSlot *
give_row(DrainNode *node)
{
	TupleTableSlot *row = node->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *stored = node->stored;
	int			natts = stored->tts_tupleDescriptor->natts;

	slot_getallattrs(stored);
	ExecClearTuple(row);
	memcpy(row->tts_values, stored->tts_values, sizeof(Datum) * natts);
	memcpy(row->tts_isnull, stored->tts_isnull, sizeof(bool) * natts);
	return ExecStoreVirtualTuple(row);
}

static TupleTableSlot *
exec_node(CustomScanState *css)
{
	DrainNode  *node = (DrainNode *) css;
	ExprContext *econtext = css->ss.ps.ps_ExprContext;
	TupleTableSlot *row;

	if (node->rows == NULL)
		drain(node);
	if (!tuplestore_gettupleslot(node->rows, true, false, node->stored))
		return NULL;
	row = give_row(node);
	if (css->ss.ps.ps_ProjInfo == NULL)
		return row;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = row;
	return ExecProject(css->ss.ps.ps_ProjInfo);
}

bool
exec_drain_is_below(const Plan *plan)
{
	const Plan *input = outerPlan(plan);

	return input && IsA(input, CustomScan) &&
		((CustomScan *) input)->methods == &exec_drain_methods;
}

static void
forget_rows(DrainNode *node)
{
	ExecClearTuple(node->stored);
	if (node->rows)
		tuplestore_end(node->rows);
	node->rows = NULL;
}

static void
end_node(CustomScanState *css)
{
	forget_rows((DrainNode *) css);
	ExecEndNode(outerPlanState(css));
}

/* Rechecks of concurrently changed rows run the input again. */
static void
rescan_node(CustomScanState *css)
{
	forget_rows((DrainNode *) css);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Read Before Write",
	.BeginCustomScan = begin_node,
	.ExecCustomScan = exec_node,
	.EndCustomScan = end_node,
	.ReScanCustomScan = rescan_node
};

static Node *
create_node(CustomScan *plan)
{
	DrainNode  *node = palloc0(sizeof(DrainNode));

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods exec_drain_methods = {
	.CustomName = "Read Before Write",
	.CreateCustomScanState = create_node
};

void
exec_drain_init(void)
{
	RegisterCustomScanMethods(&exec_drain_methods);
}
