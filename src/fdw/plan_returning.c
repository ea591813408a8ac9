/*-------------------------------------------------------------------------
 *
 * plan_returning.c
 *	  A node above INSERT ... RETURNING that awaits many rows together.
 *
 * The node takes over the RETURNING list, and the INSERT is left with the
 * columns of its table that are used in it.
 *
 * With the node RETURNING is computed for a row when others have already been
 * inserted behind it.  So it is not for lists that could tell: with volatile
 * functions, and with subqueries for each row, which might have any.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "base/compat_planner.h"
#include "fdw/exec_returning.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_returning.h"

typedef struct Columns
{
	Index		rtindex;		/* of the INSERT's table */
	List	   *entries;		/* TargetEntries, each of a Var */
	bool		can_move;		/* the list can be computed above */
} Columns;

/* The number of the column among the entries, where it is added if need be. */
static AttrNumber
find_column(Columns *columns, const Var *var)
{
	Var		   *column = makeVar(columns->rtindex, var->varattno,
								 var->vartype, var->vartypmod, var->varcollid,
								 0);
	TargetEntry *entry;
	ListCell   *cell;

	foreach(cell, columns->entries)
	{
		entry = lfirst_node(TargetEntry, cell);
		if (equal(entry->expr, column))
			return entry->resno;
	}
	entry = makeTargetEntry((Expr *) column, list_length(columns->entries) + 1,
							NULL, false);
	columns->entries = lappend(columns->entries, entry);
	return entry->resno;
}

static bool
can_be_column(const Columns *columns, const Var *var)
{
	return var->varno == columns->rtindex && !compat_var_is_old(var) &&
		(var->varattno >= InvalidAttrNumber ||
		 var->varattno == TableOidAttributeNumber);
}

/* Mutator: columns of the table become those that the INSERT returns. */
static Node *
refer_to_columns(Node *node, void *arg)
{
	Columns    *columns = arg;

	if (node == NULL)
		return NULL;
	/* the check of a domain may be volatile, and is not looked at for that */
	if (IsA(node, SubPlan) || IsA(node, CoerceToDomain) ||
		compat_is_returning_expr(node))
		columns->can_move = false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (can_be_column(columns, var))
			return (Node *) makeVar(INDEX_VAR, find_column(columns, var),
									var->vartype, var->vartypmod,
									var->varcollid, 0);
		columns->can_move = false;
	}
	return expression_tree_mutator(node, refer_to_columns, arg);
}

/* No worker runs the node, so nobody looks for its number. */
static Plan *
make_node(ModifyTable *insert, List *tlist, const Columns *columns)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *plan = &scan->scan.plan;

	*plan = insert->plan;
	plan->type = T_CustomScan;
	plan->plan_node_id = -1;
	plan->targetlist = tlist;
	plan->lefttree = NULL;
	insert->plan.initPlan = NIL;
	insert->plan.targetlist = copyObject(columns->entries);
	insert->returningLists = list_make1(copyObject(columns->entries));
	scan->custom_plans = list_make1(insert);
	scan->custom_scan_tlist = columns->entries;
	scan->custom_relids = bms_make_singleton(columns->rtindex);
	scan->methods = &exec_returning_methods;
	return plan;
}

/* A single row gains nothing, nor do rows that are checked one by one. */
static bool
is_of_use(const ModifyTable *insert, const PlannedStmt *stmt)
{
	const Plan *source = outerPlan(insert);
	Index		rtindex = linitial_int(insert->resultRelations);

	return insert->operation == CMD_INSERT && insert->returningLists != NIL &&
		insert->withCheckOptionLists == NIL &&
		!(IsA(source, Result) && outerPlan(source) == NULL) &&
		!contain_volatile_functions(linitial(insert->returningLists)) &&
		plan_hook_is_our_target(rt_fetch(rtindex, stmt->rtable));
}

static Plan *
add_node(Plan *plan, const PlannedStmt *stmt)
{
	Columns		columns = {0, NIL, true};
	ModifyTable *insert;
	List	   *tlist;

	if (plan == NULL || !IsA(plan, ModifyTable))
		return plan;
	insert = (ModifyTable *) plan;
	if (!is_of_use(insert, stmt))
		return plan;
	columns.rtindex = linitial_int(insert->resultRelations);
	tlist = (List *) refer_to_columns(linitial(insert->returningLists),
									  &columns);
	return columns.can_move ? make_node(insert, tlist, &columns) : plan;
}

void
plan_returning_add(PlannedStmt *stmt)
{
	ListCell   *cell;

	stmt->planTree = add_node(stmt->planTree, stmt);
	foreach(cell, stmt->subplans)
		lfirst(cell) = add_node(lfirst(cell), stmt);
}
