/*-------------------------------------------------------------------------
 *
 * fdw_explain.c
 *	  What EXPLAIN shows of foreign scans and modifications.
 *
 * With VERBOSE the statement sent; with ANALYZE how it was run and what came
 * back over the network.  Nothing here connects.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/compat_executor.h"
#include "fdw/exec_direct.h"
#include "fdw/exec_scan.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"

static void
show_report(const ExecReport *report, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		char	   *line = psprintf("%s, rows=" UINT64_FORMAT " bytes=" UINT64_FORMAT,
									report->way, report->rows, report->bytes);

		ExplainPropertyText("Remote Execution", line, es);
		pfree(line);
		return;
	}
	ExplainPropertyText("Remote Execution", report->way, es);
	ExplainPropertyInteger("Remote Rows", NULL, report->rows, es);
	ExplainPropertyInteger("Remote Bytes", "B", report->bytes, es);
}

void
shardExplainForeignScan(ForeignScanState *node, struct ExplainState *es)
{
	ForeignScan *plan = castNode(ForeignScan, node->ss.ps.plan);
	const char *relations = strVal(list_nth(plan->fdw_private,
											SCAN_PRIVATE_RELATIONS));
	ExecReport	report;

	if (relations[0] != '\0')
		ExplainPropertyText("Relations", relations, es);
	if (es->verbose)
		ExplainPropertyText("Remote SQL",
							strVal(list_nth(plan->fdw_private,
											SCAN_PRIVATE_SQL)), es);
	if (es->analyze && node->fdw_state && exec_scan_report(node, &report))
		show_report(&report, es);
}

void
shardExplainDirectModify(ForeignScanState *node, struct ExplainState *es)
{
	ForeignScan *plan = castNode(ForeignScan, node->ss.ps.plan);
	ExecReport	report;

	if (es->verbose)
		ExplainPropertyText("Remote SQL",
							strVal(list_nth(plan->fdw_private,
											DIRECT_PRIVATE_SQL)), es);
	if (es->analyze && node->fdw_state && exec_direct_report(node, &report))
		show_report(&report, es);
}

void
shardExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo,
						  List *fdw_private, int subplan_index,
						  struct ExplainState *es)
{
	if (!es->verbose)
		return;
	ExplainPropertyText("Remote SQL",
						strVal(list_nth(fdw_private, MODIFY_PRIVATE_SQL)), es);
	if (rinfo->ri_BatchSize > 0)
		ExplainPropertyInteger("Batch Size", NULL, rinfo->ri_BatchSize, es);
}
