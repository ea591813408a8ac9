/*-------------------------------------------------------------------------
 *
 * plan_drain.c
 *	  Statements that could read what they write read everything first.
 *
 * A remote query sees what its statement has written on that shard before.
 * Queries that are sent once, at the beginning, see nothing of it; those of the
 * inner side of a nested loop and of subqueries may come after the first row.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "fdw/exec_drain.h"
#include "fdw/plan_drain.h"
#include "fdw/plan_hook.h"

/* ---- what is read ---- */

/* The table that it is a partition of, at whatever depth; or itself. */
static Oid
outermost_table(Oid relid)
{
	return get_rel_relispartition(relid) ?
		llast_oid(get_partition_ancestors(relid)) : relid;
}

static bool
reads_table(const ForeignScan *scan, Oid table, const PlannedStmt *stmt)
{
	int			rtindex = -1;

	while ((rtindex = bms_next_member(scan->fs_relids, rtindex)) >= 0)
	{
		const RangeTblEntry *rte = rt_fetch(rtindex, stmt->rtable);

		if (rte->rtekind == RTE_RELATION &&
			(!OidIsValid(table) || outermost_table(rte->relid) == table))
			return true;
	}
	return false;
}

static bool may_read_later(Plan *plan, bool is_later, Oid table,
						   const PlannedStmt *stmt);

static bool
list_may_read_later(List *plans, bool is_later, Oid table,
					const PlannedStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, plans)
	{
		if (may_read_later(lfirst(cell), is_later, table, stmt))
			return true;
	}
	return false;
}

static List *
inputs_of(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return ((Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((MergeAppend *) plan)->mergeplans;
		case T_SubqueryScan:
			return list_make1(((SubqueryScan *) plan)->subplan);
		case T_CustomScan:
			return ((CustomScan *) plan)->custom_plans;
		default:
			return NIL;
	}
}

/*
 * May the plan send a query for the table, or for any if it is InvalidOid, when
 * its first row has been taken?  is_later: it is run then.  What another change
 * reads is not looked at.
 */
static bool
may_read_later(Plan *plan, bool is_later, Oid table, const PlannedStmt *stmt)
{
	bool		is_inner_later = is_later;

	check_stack_depth();
	if (plan == NULL || IsA(plan, ModifyTable))
		return false;
	if (IsA(plan, ForeignScan))
		return is_later && reads_table((ForeignScan *) plan, table, stmt);
	if (IsA(plan, NestLoop) || IsA(plan, RecursiveUnion))
		is_inner_later = true;
	return may_read_later(outerPlan(plan), is_later, table, stmt) ||
		may_read_later(innerPlan(plan), is_inner_later, table, stmt) ||
		list_may_read_later(inputs_of(plan), is_later, table, stmt);
}

/* ---- the node ---- */

/*
 * Names are how a change finds the columns that lead to its rows, and NULLs how
 * core knows dropped ones.
 */
static void
add_column(CustomScan *scan, TargetEntry *input)
{
	Expr	   *read = (Expr *) makeVarFromTargetEntry(OUTER_VAR, input);
	Expr	   *given = IsA(input->expr, Const) ? copyObject(input->expr) :
	(Expr *) makeVarFromTargetEntry(INDEX_VAR, input);

	scan->custom_scan_tlist =
		lappend(scan->custom_scan_tlist,
				makeTargetEntry(read, input->resno, input->resname, false));
	scan->scan.plan.targetlist =
		lappend(scan->scan.plan.targetlist,
				makeTargetEntry(given, input->resno, input->resname,
								input->resjunk));
}

/* No worker runs the node, so nobody looks for its number. */
static Plan *
make_node(Plan *input)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *plan = &scan->scan.plan;
	ListCell   *cell;

	plan->startup_cost = plan->total_cost = input->total_cost;
	plan->plan_rows = input->plan_rows;
	plan->plan_width = input->plan_width;
	plan->plan_node_id = -1;
	plan->extParam = bms_copy(input->extParam);
	plan->allParam = bms_copy(input->allParam);
	plan->lefttree = input;
	scan->methods = &exec_drain_methods;
	foreach(cell, input->targetlist)
		add_column(scan, lfirst_node(TargetEntry, cell));
	return plan;
}

/*
 * A single row is read before it is written anyway.  For an UPDATE, which may
 * move rows, any table counts: it may be the same one by another name.
 */
static bool
is_of_use(const ModifyTable *modify, const PlannedStmt *stmt)
{
	const RangeTblEntry *target = rt_fetch(modify->nominalRelation,
										   stmt->rtable);
	Plan	   *input = outerPlan(modify);
	Oid			table = InvalidOid;

	if (!bms_is_empty(modify->fdwDirectModifyPlans) ||
		(IsA(input, Result) && outerPlan(input) == NULL) ||
		!plan_hook_is_our_target(target))
		return false;
	if (modify->operation != CMD_UPDATE)
		table = outermost_table(target->relid);
	return may_read_later(input, false, table, stmt) ||
		list_may_read_later(stmt->subplans, true, table, stmt);
}

static void
add_below(Plan *plan, const PlannedStmt *stmt)
{
	if (plan && IsA(plan, ModifyTable) && is_of_use((ModifyTable *) plan, stmt))
		outerPlan(plan) = make_node(outerPlan(plan));
}

void
plan_drain_add(PlannedStmt *stmt)
{
	ListCell   *cell;

	add_below(stmt->planTree, stmt);
	foreach(cell, stmt->subplans)
		add_below(lfirst(cell), stmt);
}
