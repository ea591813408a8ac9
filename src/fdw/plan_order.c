/*-------------------------------------------------------------------------
 *
 * plan_order.c
 *	  Paths whose rows come sorted from the shard, and no more of them than
 *	  the query's LIMIT lets through.
 *
 * A LIMIT is a matter of the whole query, a path one of a single relation.
 * Where nothing between the two drops rows or makes more of one, which is so
 * when the relation covers all tables of the query and the query does not
 * group, the rows that are left after the LIMIT are among the first ones of
 * each partition.  So each shard can stop there.  WITH TIES is no exception: a
 * row tied with the last one here is tied with the last one there, or before
 * it.  Core knows nothing of it: such a path looks like one of a smaller
 * relation.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/typcache.h"

#include "base/compat_planner.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_cost.h"
#include "fdw/plan_estimate.h"
#include "fdw/plan_order.h"

/* of the rows, when nothing better is known; core takes the same for it */
#define UNKNOWN_LIMIT_FRACTION 0.1

/* ---- sort keys ---- */

/* Are these values among the columns that the remote query can sort by? */
static bool
is_sort_expr(PlannerInfo *root, const FdwRelInfo *info, Node *expr)
{
	if (info->has_tlist)
		return tlist_member((Expr *) expr, info->tlist) != NULL;
	return !contain_agg_clause(expr) &&
		!bms_overlap(pull_varnos(root, expr), info->hidden_relids);
}

/* Only the orders that ASC and DESC stand for are asked of a shard. */
static bool
set_sort_key(const ShipScope *scope, Node *expr, Oid operator, Oid collation,
			 RemoteSortKey *key)
{
	TypeCacheEntry *cache;

	cache = lookup_type_cache(exprType(expr),
							  TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	if (!OidIsValid(operator) ||
		(operator != cache->lt_opr && operator != cache->gt_opr) ||
		!shippable_expr_sorts_alike(expr, collation, scope))
		return false;
	key->expr = expr;
	key->is_descending = operator == cache->gt_opr;
	return true;
}

bool
plan_order_clause_key(const ShipScope *scope, const SortGroupClause *clause,
					  List *tlist, RemoteSortKey *key)
{
	Node	   *expr = get_sortgroupclause_expr(unconstify(SortGroupClause *,
														   clause), tlist);

	key->is_nulls_first = clause->nulls_first;
	return set_sort_key(scope, expr, clause->sortop, exprCollation(expr), key);
}

/* The expression may be an aggregate or window function that is selected. */
static bool
make_sort_key(const FdwRelInfo *info, PathKey *pathkey, Node *expr, Oid type,
			  RemoteSortKey *key)
{
	ShipScope	scope = fdw_relinfo_scope(info);

	scope.has_aggregates = info->is_grouped;
	scope.has_windows = info->windows != NIL;
	key->is_nulls_first = pathkey->pk_nulls_first;
	if (!set_sort_key(&scope, expr, compat_pathkey_operator(pathkey, type),
					  pathkey->pk_eclass->ec_collation, key))
		return false;
	if (IsA(expr, WindowFunc))
		key->position = tlist_member((Expr *) expr, info->tlist)->resno;
	return true;
}

/*
 * Among the values that are equal, does the remote query know these?  What
 * grouping sets make NULL has the grouping among its relids.
 */
static bool
is_sort_member(PlannerInfo *root, const FdwRelInfo *info,
			   EquivalenceMember *member)
{
	if (member->em_is_const ||
		(member->em_relids == NULL && !info->has_tlist) ||
		(info->grouping_sets == NIL &&
		 !bms_is_subset(member->em_relids, info->relids)))
		return false;
	return is_sort_expr(root, info, (Node *) member->em_expr);
}

static List *
find_sort_members(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class)
{
	List	   *members = NIL;
	ListCell   *cell;

	foreach(cell, compat_ec_members(class, rel->relids))
	{
		if (is_sort_member(root, rel->fdw_private, lfirst(cell)))
			members = lappend(members, lfirst(cell));
	}
	return members;
}

/*
 * The class has members for each of many partitions, and each of these asks
 * for its own more than once.
 */
static List *
sort_members(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class)
{
	FdwRelInfo *info = rel->fdw_private;
	int			size = list_length(class->ec_members);

	if (info->outer != NULL || info->has_tlist)
		return find_sort_members(root, rel, class);
	if (info->sort_owner != info || info->sort_class != class ||
		info->sort_class_size != size)
	{
		info->sort_members = find_sort_members(root, rel, class);
		info->sort_owner = info;
		info->sort_class = class;
		info->sort_class_size = size;
	}
	return info->sort_members;
}

static bool
find_sort_key(PlannerInfo *root, RelOptInfo *rel, PathKey *pathkey,
			  RemoteSortKey *key)
{
	const FdwRelInfo *info = rel->fdw_private;
	List	   *members;
	ListCell   *cell;

	if (pathkey->pk_eclass->ec_has_volatile)
		return false;
	members = sort_members(root, rel, pathkey->pk_eclass);

	/* columns that are equal in the tables are not after grouping sets */
	if (info->grouping_sets != NIL && list_length(members) > 1)
		return false;
	foreach(cell, members)
	{
		EquivalenceMember *member = lfirst(cell);

		if (make_sort_key(info, pathkey, (Node *) member->em_expr,
						  member->em_datatype, key))
			return true;
	}
	return false;
}

bool
plan_order_find_keys(PlannerInfo *root, RelOptInfo *rel, List *pathkeys,
					 List **keys)
{
	ListCell   *cell;

	if (keys)
		*keys = NIL;
	foreach(cell, pathkeys)
	{
		RemoteSortKey *key = palloc0(sizeof(RemoteSortKey));

		if (!find_sort_key(root, rel, lfirst_node(PathKey, cell), key))
			return false;
		if (keys)
			*keys = lappend(*keys, key);
	}
	return true;
}

/* ---- the limit ---- */

List *
plan_order_make_private(PlanLimit limit)
{
	return list_make1(makeInteger(limit));
}

PlanLimit
plan_order_limit(const ForeignPath *path)
{
	return path->fdw_private == NIL ? PLAN_LIMIT_NONE :
		(PlanLimit) intVal(linitial(path->fdw_private));
}

void
plan_order_set_limit(PlannerInfo *root, PlanLimit limit, RemoteTail *tail)
{
	tail->limit_count = root->parse->limitCount;
	tail->limit_offset = root->parse->limitOffset;
	tail->is_bound = limit == PLAN_LIMIT_BOUND;
	tail->is_with_ties = root->parse->limitOption == LIMIT_OPTION_WITH_TIES;
}

/* Walker: a value that another part of the plan computes? */
static bool
has_exec_param(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		return true;
	return IsA(node, SubLink) || IsA(node, SubPlan) ||
		expression_tree_walker(node, has_exec_param, arg);
}

static bool
is_shippable_limit(Node *limit, const FdwRelInfo *info)
{
	ShipScope	scope = fdw_relinfo_scope(info);

	return limit == NULL ||
		(!has_exec_param(limit, NULL) && shippable_expr(limit, &scope));
}

bool
plan_order_is_limit_shippable(PlannerInfo *root, const FdwRelInfo *info)
{
	return is_shippable_limit(root->parse->limitCount, info) &&
		is_shippable_limit(root->parse->limitOffset, info);
}

const char *
plan_order_refusal(PlannerInfo *root, RelOptInfo *rel, const FdwRelInfo *info)
{
	Query	   *parse = root->parse;
	Relids		covered = rel->top_parent_relids ? rel->top_parent_relids :
	rel->relids;

	if (parse->commandType != CMD_SELECT || parse->limitCount == NULL)
		return "not a LIMIT of a SELECT";
	if (parse->limitOption == LIMIT_OPTION_WITH_TIES &&
		root->sort_pathkeys == NIL)
		return "all rows are tied";
	if (parse->setOperations != NULL || parse->hasWindowFuncs ||
		parse->hasTargetSRFs || parse->distinctClause != NIL ||
		rel->lateral_relids != NULL)
		return "the query makes other rows of the rows";
	if (!info->is_grouped &&
		(parse->groupClause != NIL || parse->groupingSets != NIL ||
		 parse->hasAggs || parse->havingQual != NULL))
		return "the rows are grouped here";
	if (info->local_conds != NIL || info->local_having != NIL)
		return "a condition is checked before it";
	if (!bms_is_subset(root->all_baserels, covered))
		return "the rows are joined here";
	if (!plan_order_is_limit_shippable(root, info))
		return "its expression is not for the server";
	return NULL;
}

bool
plan_order_is_bounded(PlannerInfo *root, RelOptInfo *rel,
					  const FdwRelInfo *info)
{
	return plan_order_refusal(root, rel, info) == NULL;
}

/* ---- paths ---- */

double
plan_order_bound(PlannerInfo *root, const FdwRelInfo *info)
{
	if (root->limit_tuples > 0)
		return root->limit_tuples;
	return clamp_row_est(info->retrieved_rows * UNKNOWN_LIMIT_FRACTION);
}

static void
add_path_for(PlannerInfo *root, RelOptInfo *rel, List *pathkeys,
			 PlanLimit limit, Path *epq_path)
{
	const FdwRelInfo *info = rel->fdw_private;
	PlanEstimate estimate;
	PlanCost	cost;
	ForeignPath *path;

	if (plan_estimate_path(root, rel, rel->reltarget, pathkeys, limit,
						   &estimate))
		cost = plan_cost_estimated(info, rel->reltarget, &estimate);
	else
		cost = plan_cost_query(info, rel->reltarget, pathkeys != NIL,
							   limit == PLAN_LIMIT_NONE ? 0 :
							   plan_order_bound(root, info));
	if (limit == PLAN_LIMIT_NONE)
		cost.rows = rel->rows;
	if (IS_JOIN_REL(rel))
		path = compat_create_foreign_join_path(root, rel, cost.rows,
											   cost.startup, cost.total,
											   pathkeys, rel->lateral_relids,
											   epq_path,
											   plan_order_make_private(limit));
	else
		path = compat_create_foreignscan_path(root, rel, cost.rows,
											  cost.startup, cost.total,
											  pathkeys, rel->lateral_relids,
											  NIL,
											  plan_order_make_private(limit));
	add_path(rel, (Path *) path);
}

void
plan_order_add_paths(PlannerInfo *root, RelOptInfo *rel, Path *epq_path)
{
	List	   *pathkeys = root->query_pathkeys;
	bool		is_sortable = pathkeys != NIL && rel->lateral_relids == NULL &&
	plan_order_find_keys(root, rel, pathkeys, NULL);
	bool		is_bounded = (root->sort_pathkeys == NIL || is_sortable) &&
	plan_order_is_bounded(root, rel, rel->fdw_private);

	add_path_for(root, rel, NIL, !is_bounded || root->sort_pathkeys != NIL ?
				 PLAN_LIMIT_NONE : PLAN_LIMIT_BOUND, epq_path);
	if (is_sortable)
		add_path_for(root, rel, pathkeys,
					 is_bounded ? PLAN_LIMIT_BOUND : PLAN_LIMIT_NONE,
					 epq_path);
}
