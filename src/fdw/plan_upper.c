/*-------------------------------------------------------------------------
 *
 * plan_upper.c
 *	  Grouping, windows, DISTINCT and the query's LIMIT, computed by a shard.
 *
 * Grouping comes in two forms.  When all of a group is on one shard, the
 * shard computes the aggregates and checks HAVING.  Else it computes
 * transition values, see partial_agg.h, which core combines.  In both the
 * remote query returns the grouping columns and the aggregates; expressions
 * over them are left to the coordinator, as the rows are the same.
 *
 * The other steps, and the LIMIT as a whole, are for a query that lives on one
 * shard altogether; the bounds that each of several shards gets are made in
 * plan_order.c.
 *
 * DISTINCT alone has become GROUP BY before planning, see plan_hook.c.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "base/compat_planner.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/partial_agg.h"
#include "fdw/plan_cost.h"
#include "fdw/plan_estimate.h"
#include "fdw/plan_order.h"
#include "fdw/plan_refusal.h"
#include "fdw/plan_window.h"
#include "fdw/shippable.h"

/* makes add_path() see a difference */
#define WHOLE_QUERY_FACTOR 0.95

/* ---- grouping ---- */

typedef struct GroupBuilder
{
	FdwRelInfo *info;
	ShipScope	scope;			/* aggregates allowed */
	bool		is_partial;
} GroupBuilder;

static void
add_entry(FdwRelInfo *info, Node *expr, Index sortgroupref)
{
	TargetEntry *entry = makeTargetEntry(copyObject((Expr *) expr),
										 list_length(info->tlist) + 1, NULL,
										 false);

	entry->ressortgroupref = sortgroupref;
	info->tlist = lappend(info->tlist, entry);
}

/*
 * The expression must group alike on the shard.  It must not be a parameter:
 * core would take that for the column of the result when it prepares the
 * parameters' expressions.  A constant that grouping sets make NULL is no
 * column to core.
 */
static bool
add_group_column(GroupBuilder *builder, Node *expr,
				 const SortGroupClause *clause)
{
	ShipScope	scope = fdw_relinfo_scope(builder->info);

	if (IsA(expr, Param) ||
		(builder->info->grouping_sets != NIL && !contain_var_clause(expr)) ||
		shippable_expr_is_computed_here(expr, &scope, false) ||
		!shippable_expr(expr, &scope) ||
		!shippable_is_shippable(clause->eqop, OperatorRelationId,
								scope.extensions))
		return false;
	add_entry(builder->info, expr, clause->tleSortGroupRef);
	return true;
}

static bool
is_shippable_aggref(const GroupBuilder *builder, Aggref *aggref)
{
	if (builder->is_partial)
		return partial_agg_is_shippable(aggref, &builder->scope);
	return shippable_expr((Node *) aggref, &builder->scope);
}

/*
 * Walker: adds the aggregates in an expression to the target list; true if
 * one is not for the shard, or the expression needs something else of it than
 * what it groups by.
 */
static bool
lacks_aggregates(Node *node, void *arg)
{
	GroupBuilder *builder = arg;

	if (node == NULL || tlist_member((Expr *) node, builder->info->tlist))
		return false;
	if (IsA(node, Aggref))
	{
		if (!is_shippable_aggref(builder, (Aggref *) node))
			return true;
		add_entry(builder->info, node, 0);
		return false;
	}
	if (IsA(node, GroupingFunc))
	{
		if (!shippable_expr(node, &builder->scope))
			return true;
		add_entry(builder->info, node, 0);
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, lacks_aggregates, arg);
}

static bool
add_group_targets(PlannerInfo *root, GroupBuilder *builder,
				  const PathTarget *target)
{
	List	   *rest = NIL;
	ListCell   *cell;

	foreach(cell, target->exprs)
	{
		Index		ref = get_pathtarget_sortgroupref(target,
													  foreach_current_index(cell));
		SortGroupClause *clause = ref == 0 ? NULL :
		get_sortgroupref_clause_noerr(ref, root->parse->groupClause);

		if (clause == NULL)
			rest = lappend(rest, lfirst(cell));
		else if (!add_group_column(builder, lfirst(cell), clause))
			return false;
	}
	return !lacks_aggregates((Node *) rest, builder);
}

/* HAVING: what is not checked there is checked here. */
static bool
add_having(GroupBuilder *builder, List *quals)
{
	FdwRelInfo *info = builder->info;
	ListCell   *cell;

	foreach(cell, quals)
	{
		if (shippable_expr(lfirst(cell), &builder->scope))
			info->having = lappend(info->having, lfirst(cell));
		else if (!lacks_aggregates(lfirst(cell), builder))
			info->local_having = lappend(info->local_having, lfirst(cell));
		else
			return false;
	}
	return true;
}

static double
estimate_groups(PlannerInfo *root, const FdwRelInfo *info, double input_rows)
{
	List	   *exprs = NIL;
	ListCell   *cell;

	foreach(cell, info->tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->ressortgroupref != 0)
			exprs = lappend(exprs, entry->expr);
	}
	if (exprs == NIL)
		return 1;
	return estimate_num_groups(root, exprs, input_rows, NULL, NULL);
}

/* Grouping as a remote query, or NULL if it cannot be one. */
static FdwRelInfo *
make_grouped_info(PlannerInfo *root, const FdwRelInfo *input,
				  const PathTarget *target, List *having, bool is_partial)
{
	FdwRelInfo *info;
	GroupBuilder builder;

	if (input->local_conds != NIL || input->is_grouped)
		return NULL;
	info = palloc(sizeof(FdwRelInfo));
	*info = *input;
	info->is_grouped = info->has_tlist = true;
	info->is_partial = is_partial;
	info->grouping_sets = root->parse->groupingSets;
	builder.info = info;
	builder.scope = fdw_relinfo_scope(info);
	builder.scope.has_aggregates = true;
	builder.is_partial = is_partial;
	if (!add_group_targets(root, &builder, target) ||
		!add_having(&builder, having))
		return NULL;

	/* without any of these it would not be a grouped query */
	if (root->parse->groupClause == NIL && info->grouping_sets == NIL &&
		info->having == NIL && info->tlist == NIL)
		return NULL;
	plan_cost_set_grouped(root, info, input,
						  estimate_groups(root, info,
										  input->retrieved_rows));
	return info;
}

static void
add_upper_path(PlannerInfo *root, RelOptInfo *rel, PathTarget *target,
			   List *pathkeys, PlanLimit limit)
{
	FdwRelInfo *info = rel->fdw_private;
	PlanEstimate estimate;
	PlanCost	cost;

	if (plan_estimate_path(root, rel, target, pathkeys, limit, &estimate))
		cost = plan_cost_estimated(info, target, &estimate);
	else
		cost = plan_cost_query(info, target, pathkeys != NIL,
							   limit == PLAN_LIMIT_NONE ? 0 :
							   plan_order_bound(root, info));

	/* the same as a bounded path below a Limit, but for that node */
	if (limit == PLAN_LIMIT_WHOLE)
	{
		cost.startup *= WHOLE_QUERY_FACTOR;
		cost.total *= WHOLE_QUERY_FACTOR;
	}
	add_path(rel, (Path *)
			 compat_create_foreign_upper_path(root, rel, target, cost.rows,
											  cost.startup, cost.total,
											  pathkeys,
											  plan_order_make_private(limit)));
}

/*
 * Is the order the same on every server, whatever the versions of its
 * collations?  Groups that are merged by it would fall apart otherwise.
 */
static bool
is_order_certain(List *pathkeys)
{
	ListCell   *cell;

	foreach(cell, pathkeys)
	{
		Oid			collation;

		collation = lfirst_node(PathKey, cell)->pk_eclass->ec_collation;
		if (OidIsValid(collation) &&
			!shippable_collation_is_portable(collation))
			return false;
	}
	return true;
}

/*
 * Does the order tell all groups apart?  Then a group that is among the first
 * ones of all is among the first ones of each shard that has a part of it.
 * HAVING could drop some of them afterwards.
 */
static bool
is_sorted_by_groups(PlannerInfo *root)
{
	Query	   *parse = root->parse;
	ListCell   *cell;

	if (parse->groupClause == NIL || parse->havingQual != NULL)
		return false;
	foreach(cell, parse->groupClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, cell);

		if (get_sortgroupref_clause_noerr(clause->tleSortGroupRef,
										  parse->sortClause) == NULL)
			return false;
	}
	return list_length(parse->sortClause) == list_length(parse->groupClause);
}

static void
add_grouping_paths(PlannerInfo *root, RelOptInfo *input_rel,
				   RelOptInfo *grouped_rel, GroupPathExtraData *extra,
				   bool is_partial)
{
	FdwRelInfo *info;
	bool		is_bounded;
	List	   *pathkeys;

	((FdwRelInfo *) input_rel->fdw_private)->was_grouping_tried = true;
	info = make_grouped_info(root, input_rel->fdw_private,
							 grouped_rel->reltarget,
							 is_partial ? NIL : (List *) extra->havingQual,
							 is_partial);
	if (info == NULL)
	{
		plan_refusal_note_grouping(root, input_rel->fdw_private,
								   grouped_rel->reltarget,
								   (List *) extra->havingQual, is_partial);
		return;
	}
	grouped_rel->fdw_private = info;
	is_bounded = (!is_partial || is_sorted_by_groups(root)) &&
		plan_order_is_bounded(root, input_rel, info);
	pathkeys = root->sort_pathkeys;
	if (is_partial && !is_bounded)
		pathkeys = is_order_certain(root->group_pathkeys) ?
			root->group_pathkeys : NIL;

	/* no estimate makes it right to fetch the rows of a group instead */
	if (is_partial)
		grouped_rel->pathlist = NIL;
	add_upper_path(root, grouped_rel, grouped_rel->reltarget, NIL,
				   is_bounded && root->sort_pathkeys == NIL ?
				   PLAN_LIMIT_BOUND : PLAN_LIMIT_NONE);
	if (pathkeys != NIL &&
		plan_order_find_keys(root, grouped_rel, pathkeys, NULL))
		add_upper_path(root, grouped_rel, grouped_rel->reltarget, pathkeys,
					   is_bounded ? PLAN_LIMIT_BOUND : PLAN_LIMIT_NONE);
}

/* ---- windows and DISTINCT ---- */

/* System columns have no meaning in a row that is not the table's. */
static bool
has_system_column(const PathTarget *target)
{
	List	   *vars = pull_var_clause((Node *) target->exprs,
									   PVC_RECURSE_PLACEHOLDERS |
									   PVC_RECURSE_AGGREGATES |
									   PVC_RECURSE_WINDOWFUNCS);
	ListCell   *cell;

	foreach(cell, vars)
	{
		if (lfirst_node(Var, cell)->varattno < 0)
			return true;
	}
	return false;
}

static void
add_step_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel,
			   UpperRelationKind stage)
{
	PathTarget *target = root->upper_targets[stage];
	FdwRelInfo *input = input_rel->fdw_private;
	FdwRelInfo *info;
	double		rows;
	List	   *pathkeys;

	if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL ||
		has_system_column(target))
		return;
	if (stage == UPPERREL_WINDOW)
		info = plan_window_make_info(root, input, target);
	else
		info = plan_window_make_distinct_info(root, input, target);
	if (info == NULL)
		return;
	rel->fdw_private = info;
	rows = input->retrieved_rows;
	if (info->is_distinct)
		rows = estimate_num_groups(root,
								   get_sortgrouplist_exprs(root->parse->distinctClause,
														   root->processed_tlist),
								   rows, NULL, NULL);
	plan_cost_set_step(root, info, input, rows);
	pathkeys = plan_window_pathkeys(root, info);
	if (info->ndistinct_keys == 0)
		add_upper_path(root, rel, target, NIL, PLAN_LIMIT_NONE);
	if (pathkeys != NIL && plan_order_find_keys(root, rel, pathkeys, NULL))
		add_upper_path(root, rel, target, pathkeys, PLAN_LIMIT_NONE);
}

/* ---- the whole query ---- */

static void
add_final_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *final_rel)
{
	Query	   *parse = root->parse;
	PathTarget *target = root->upper_targets[UPPERREL_FINAL];
	FdwRelInfo *info = input_rel->fdw_private;
	List	   *pathkeys;

	if (parse->commandType != CMD_SELECT || parse->rowMarks != NIL ||
		(parse->limitCount == NULL && parse->limitOffset == NULL) ||
		(parse->limitOption == LIMIT_OPTION_WITH_TIES &&
		 root->sort_pathkeys == NIL) ||
		parse->hasTargetSRFs || info->local_conds != NIL ||
		info->local_having != NIL || has_system_column(target) ||
		!plan_order_is_limit_shippable(root, info))
		return;
	final_rel->fdw_private = info;
	pathkeys = plan_window_pathkeys(root, info);
	if ((pathkeys == root->sort_pathkeys ||
		 parse->limitOption == LIMIT_OPTION_COUNT) &&
		plan_order_find_keys(root, final_rel, pathkeys, NULL))
		add_upper_path(root, final_rel, target, pathkeys, PLAN_LIMIT_WHOLE);
}

void
shardGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
						  RelOptInfo *input_rel, RelOptInfo *output_rel,
						  void *extra)
{
	if (input_rel->fdw_private == NULL || output_rel->fdw_private != NULL)
		return;
	switch (stage)
	{
		case UPPERREL_PARTIAL_GROUP_AGG:
		case UPPERREL_GROUP_AGG:
			add_grouping_paths(root, input_rel, output_rel, extra,
							   stage == UPPERREL_PARTIAL_GROUP_AGG);
			break;
		case UPPERREL_WINDOW:
		case UPPERREL_DISTINCT:
			add_step_paths(root, input_rel, output_rel, stage);
			break;
		case UPPERREL_ORDERED:
			/* the paths of the input are sorted where they can be */
			output_rel->fdw_private = input_rel->fdw_private;
			break;
		case UPPERREL_FINAL:
			add_final_path(root, input_rel, output_rel);
			break;
		default:
			break;
	}
}
