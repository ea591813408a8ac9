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
#include "fdw/exec_returning.h"
#include "fdw/exec_scan.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/plan_conflict.h"
#include "fdw/remote_sql.h"
#include "fdw/table_cache.h"

/*
 * The times are those of the query: before the first row, and before the end.
 */
static void
show_times(const ExecReport *report, ExplainState *es)
{
	if (!es->timing || report->total_ms == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		char	   *line = psprintf("first row=%.3f total=%.3f",
									report->first_ms, report->total_ms);

		ExplainPropertyText("Remote Time", line, es);
		pfree(line);
		return;
	}
	ExplainPropertyFloat("Remote First Row Time", "ms", report->first_ms, 3, es);
	ExplainPropertyFloat("Remote Total Time", "ms", report->total_ms, 3, es);
}

static void
show_report(const ExecReport *report, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		char	   *line = psprintf("%s%s, trips=" UINT64_FORMAT " rows=" UINT64_FORMAT " bytes=" UINT64_FORMAT,
									report->way,
									report->is_binary ? ", binary" : "",
									report->trips, report->rows, report->bytes);

		if (report->spooled > 0)
			line = psprintf("%s spooled=" UINT64_FORMAT, line, report->spooled);
		ExplainPropertyText("Remote Execution", line, es);
		pfree(line);
	}
	else
	{
		ExplainPropertyText("Remote Execution", report->way, es);
		ExplainPropertyText("Remote Format",
							report->is_binary ? "binary" : "text", es);
		ExplainPropertyInteger("Remote Trips", NULL, report->trips, es);
		ExplainPropertyInteger("Remote Rows", NULL, report->rows, es);
		ExplainPropertyInteger("Remote Bytes", "B", report->bytes, es);
		ExplainPropertyInteger("Remote Spooled Rows", NULL, report->spooled, es);
	}
	show_times(report, es);
}

/* One line each, or a list. */
static void
show_refused(List *refused, ExplainState *es)
{
	List	   *lines = NIL;
	ListCell   *cell;

	if (refused == NIL)
		return;
	foreach(cell, refused)
	{
		if (es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Not Pushed", strVal(lfirst(cell)), es);
		else
			lines = lappend(lines, strVal(lfirst(cell)));
	}
	if (lines != NIL)
		ExplainPropertyList("Not Pushed", lines, es);
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
	show_refused(list_nth(plan->fdw_private, SCAN_PRIVATE_REFUSED), es);
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

/* A conflict target is not in the text that was made while planning. */
static const char *
modify_sql(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *private)
{
	const OnConflictExpr *clause;
	Relation	rel = rinfo->ri_RelationDesc;
	RemoteInsert insert = {rel};
	StringInfoData sql;

	clause = plan_conflict_clause((ModifyTable *) mtstate->ps.plan);
	if (clause == NULL)
		return strVal(list_nth(private, MODIFY_PRIVATE_SQL));
	insert.target_attrs = list_nth(private, MODIFY_PRIVATE_TARGET_ATTRS);
	insert.nrows = 1;
	insert.conflict = remote_conflict_create(clause, RelationGetRelid(rel),
											 rel);
	insert.returning_attrs = list_nth(private, MODIFY_PRIVATE_RETRIEVED_ATTRS);
	insert.returns_key = insert.conflict->is_update &&
		insert.conflict->is_key_fixed;
	initStringInfo(&sql);
	remote_sql_insert(&sql, &insert);
	return sql.data;
}

/*
 * Core believes that rows of RETURNING go one by one.
 */
static int
find_batch_size(const ModifyTableState *mtstate, const ResultRelInfo *rinfo)
{
	const TriggerDesc *triggers = rinfo->ri_TrigDesc;

	if (exec_returning_find(mtstate) == NULL ||
		(triggers && triggers->trig_insert_after_row))
		return rinfo->ri_BatchSize;
	return Max(table_cache_options(RelationGetRelid(rinfo->ri_RelationDesc))->batch_size,
			   1);
}

void
shardExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo,
						  List *fdw_private, int subplan_index,
						  struct ExplainState *es)
{
	int			batch_size = find_batch_size(mtstate, rinfo);

	if (!es->verbose)
		return;
	ExplainPropertyText("Remote SQL", modify_sql(mtstate, rinfo, fdw_private),
						es);
	if (batch_size > 0)
		ExplainPropertyInteger("Batch Size", NULL, batch_size, es);
}
