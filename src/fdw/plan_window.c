/*-------------------------------------------------------------------------
 *
 * plan_window.c
 *	  Window functions and DISTINCT as parts of a remote query.
 *
 * The remote query returns the window functions and the columns that
 * expressions over them need, as it does for aggregates: the rows are the
 * same.  DISTINCT drops rows, so there it is the expressions themselves that
 * the shard must compute.  Both may stand above groups, whose columns all
 * have to be selected, since GROUP BY names them by position.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "base/compat_planner.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_order.h"
#include "fdw/plan_window.h"
#include "fdw/shippable.h"

static void
add_entry(FdwRelInfo *info, Node *expr)
{
	if (tlist_member((Expr *) expr, info->tlist) == NULL)
		info->tlist = lappend(info->tlist,
							  makeTargetEntry(copyObject((Expr *) expr),
											  list_length(info->tlist) + 1,
											  NULL, false));
}

/* ---- windows ---- */

typedef struct WindowBuilder
{
	PlannerInfo *root;
	FdwRelInfo *info;
	ShipScope	scope;
} WindowBuilder;

static bool
is_shippable_frame(const WindowClause *clause, const ShipScope *scope)
{
	return shippable_expr(clause->startOffset, scope) &&
		shippable_expr(clause->endOffset, scope) &&
		shippable_is_shippable(clause->startInRangeFunc, ProcedureRelationId,
							   scope->extensions) &&
		shippable_is_shippable(clause->endInRangeFunc, ProcedureRelationId,
							   scope->extensions);
}

/* Adds a window to those of the query; false if the shard has no such. */
static bool
add_window(WindowBuilder *builder, const WindowClause *clause)
{
	FdwWindow  *window = palloc0(sizeof(FdwWindow));
	List	   *tlist = builder->root->processed_tlist;
	ListCell   *cell;

	if (!is_shippable_frame(clause, &builder->scope))
		return false;
	window->clause = clause;
	foreach(cell, clause->partitionClause)
	{
		SortGroupClause *item = lfirst_node(SortGroupClause, cell);
		Node	   *expr = get_sortgroupclause_expr(item, tlist);

		if (!shippable_expr(expr, &builder->scope) ||
			!shippable_is_shippable(item->eqop, OperatorRelationId,
									builder->scope.extensions))
			return false;
		window->partition = lappend(window->partition, expr);
	}
	foreach(cell, clause->orderClause)
	{
		RemoteSortKey *key = palloc0(sizeof(RemoteSortKey));

		if (!plan_order_clause_key(&builder->scope, lfirst(cell), tlist, key))
			return false;
		window->sort_keys = lappend(window->sort_keys, key);
	}
	builder->info->windows = lappend(builder->info->windows, window);
	return true;
}

static bool
has_window(const FdwRelInfo *info, Index winref)
{
	ListCell   *cell;

	foreach(cell, info->windows)
	{
		if (((FdwWindow *) lfirst(cell))->clause->winref == winref)
			return true;
	}
	return false;
}

/*
 * A window that core has told to stop early checks conditions of the query
 * around it, which nobody else does.
 */
static bool
add_window_function(WindowBuilder *builder, WindowFunc *function)
{
	ListCell   *cell;

	if (!shippable_expr((Node *) function, &builder->scope))
		return false;
	foreach(cell, builder->root->parse->windowClause)
	{
		WindowClause *clause = lfirst_node(WindowClause, cell);

		if (clause->winref != function->winref)
			continue;
		if (compat_window_has_run_condition(clause, function) ||
			(!has_window(builder->info, clause->winref) &&
			 !add_window(builder, clause)))
			return false;
	}
	add_entry(builder->info, (Node *) function);
	return true;
}

/*
 * Walker: adds what an expression needs of the remote query; true if that
 * cannot be had.
 */
static bool
lacks_windows(Node *node, void *arg)
{
	WindowBuilder *builder = arg;

	if (node == NULL || tlist_member((Expr *) node, builder->info->tlist))
		return false;
	switch (nodeTag(node))
	{
		case T_WindowFunc:
			return !add_window_function(builder, (WindowFunc *) node);
		case T_Var:
			if (builder->info->is_grouped || ((Var *) node)->varattno < 0)
				return true;
			add_entry(builder->info, node);
			return false;
		case T_Aggref:
		case T_GroupingFunc:
		case T_PlaceHolderVar:
			return true;
		default:
			return expression_tree_walker(node, lacks_windows, arg);
	}
}

FdwRelInfo *
plan_window_make_info(PlannerInfo *root, const FdwRelInfo *input,
					  const PathTarget *target)
{
	WindowBuilder builder;

	if (!plan_hook_is_planning() || input->local_conds != NIL ||
		input->local_having != NIL || root->parse->hasTargetSRFs)
		return NULL;
	builder.root = root;
	builder.info = palloc(sizeof(FdwRelInfo));
	*builder.info = *input;
	builder.info->has_tlist = true;
	builder.info->tlist = list_copy(input->tlist);
	builder.scope = fdw_relinfo_scope(input);
	builder.scope.has_aggregates = input->is_grouped;
	builder.scope.has_windows = true;
	if (lacks_windows((Node *) target->exprs, &builder))
		return NULL;
	return builder.info;
}

/* ---- DISTINCT ---- */

/*
 * Is it a value that the shard can compare?  It must not be a parameter, see
 * plan_upper.c.
 */
static bool
is_distinct_column(PlannerInfo *root, const FdwRelInfo *input, Node *expr,
				   const SortGroupClause *clause)
{
	ShipScope	scope = fdw_relinfo_scope(input);

	if (clause == NULL ? !root->parse->hasDistinctOn :
		!shippable_is_shippable(clause->eqop, OperatorRelationId,
								scope.extensions))
		return false;
	if (tlist_member((Expr *) expr, input->tlist))
		return true;
	scope.has_aggregates = input->is_grouped;
	return !IsA(expr, Param) && !IsA(expr, Const) &&
		!shippable_expr_is_computed_here(expr, &scope, false) &&
		shippable_expr(expr, &scope);
}

static bool
add_distinct_columns(PlannerInfo *root, const FdwRelInfo *input,
					 const PathTarget *target, FdwRelInfo *info)
{
	ListCell   *cell;

	foreach(cell, target->exprs)
	{
		Index		ref = get_pathtarget_sortgroupref(target,
													  foreach_current_index(cell));
		Node	   *expr = lfirst(cell);
		TargetEntry *known = tlist_member((Expr *) expr, input->tlist);

		if (!is_distinct_column(root, input, expr, ref == 0 ? NULL :
								get_sortgroupref_clause_noerr(ref,
															  root->parse->distinctClause)))
			return false;
		add_entry(info, expr);
		if (known)
			tlist_member((Expr *) expr, info->tlist)->ressortgroupref =
				known->ressortgroupref;
	}
	return true;
}

/* Are all columns selected that GROUP BY names? */
static bool
has_group_columns(const FdwRelInfo *info, const FdwRelInfo *input)
{
	ListCell   *cell;

	foreach(cell, input->tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->ressortgroupref != 0 &&
			tlist_member(entry->expr, info->tlist) == NULL)
			return false;
	}
	return true;
}

FdwRelInfo *
plan_window_make_distinct_info(PlannerInfo *root, const FdwRelInfo *input,
							   const PathTarget *target)
{
	FdwRelInfo *info;

	if (input->local_conds != NIL || input->local_having != NIL ||
		root->parse->hasTargetSRFs)
		return NULL;
	info = palloc(sizeof(FdwRelInfo));
	*info = *input;
	info->has_tlist = info->is_distinct = true;
	info->tlist = NIL;
	if (!add_distinct_columns(root, input, target, info) ||
		!has_group_columns(info, input))
		return NULL;
	if (!root->parse->hasDistinctOn)
		return info;

	/* none is left of columns that have but one value: the first row of all */
	info->ndistinct_keys = list_length(root->distinct_pathkeys);
	return info->ndistinct_keys == 0 ? NULL : info;
}

List *
plan_window_pathkeys(PlannerInfo *root, const FdwRelInfo *info)
{
	if (info->ndistinct_keys > list_length(root->sort_pathkeys))
		return root->distinct_pathkeys;
	return root->sort_pathkeys;
}
