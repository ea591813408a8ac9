/*-------------------------------------------------------------------------
 *
 * plan_join.c
 *	  Joins that a shard computes.
 *
 * Both sides must be remote queries of the same server as the same user,
 * which core has seen to, with nothing left to be checked here below the
 * join.  What each side checks in its WHERE moves, depending on the kind of
 * join, to where it means the same:
 *
 *		inner		WHERE of the join
 *		left		outer side: WHERE; inner side: ON
 *		full		stays: only tables may have conditions, see
 *					remote_select.c
 *		semi, anti	outer side: WHERE; inner side: WHERE of the EXISTS
 *
 * Conditions of an outer join itself are ON, those that the query has above
 * it are WHERE.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"

#include "base/compat_planner.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_cost.h"
#include "fdw/plan_order.h"

/* ---- is it possible? ---- */

/*
 * Values that must be computed below a join, because it may turn them into
 * NULL, have no place in the remote query.
 */
static bool
has_value_below(PlannerInfo *root, RelOptInfo *joinrel)
{
	Relids		relids = joinrel->top_parent_relids ?
	joinrel->top_parent_relids : joinrel->relids;
	ListCell   *cell;

	foreach(cell, root->placeholder_list)
	{
		PlaceHolderInfo *placeholder = lfirst_node(PlaceHolderInfo, cell);

		if (bms_is_subset(placeholder->ph_eval_at, relids) &&
			bms_nonempty_difference(relids, placeholder->ph_eval_at))
			return true;
	}
	return false;
}

/*
 * Can the rows be had?  System columns have no meaning in the row of a join,
 * tables in an EXISTS have no row in it, and lists have no row type.
 */
static bool
is_target_available(RelOptInfo *joinrel, const FdwRelInfo *info)
{
	List	   *vars = pull_var_clause((Node *) joinrel->reltarget->exprs,
									   PVC_RECURSE_PLACEHOLDERS);
	ListCell   *cell;

	foreach(cell, vars)
	{
		Var		   *var = lfirst_node(Var, cell);

		if (var->varattno < 0 ||
			bms_is_member(var->varno, info->hidden_relids) ||
			(var->varattno == 0 &&
			 bms_is_member(var->varno, info->values_relids)))
			return false;
	}
	return true;
}

/*
 * A row of a table that is changed is needed with its identity, which a join
 * does not give.
 */
static bool
changes_a_table(PlannerInfo *root, const FdwRelInfo *info)
{
	return root->parse->commandType != CMD_SELECT &&
		bms_overlap(root->all_result_relids, info->relids);
}

static bool
is_joinable(const FdwRelInfo *side, JoinType jointype)
{
	if (side == NULL || side->local_conds != NIL || side->is_grouped)
		return false;
	return jointype != JOIN_FULL ||
		(side->exists == NIL &&
		 (side->remote_conds == NIL || side->outer == NULL));
}

/* ---- conditions ---- */

/*
 * Divides the conditions that are checked at the join.  False if one has to
 * be checked here that decides which rows match, except for an inner join,
 * where it can be checked afterwards.
 */
static bool
divide_join_conds(RelOptInfo *joinrel, FdwRelInfo *info, List *conds)
{
	ShipScope	scope = fdw_relinfo_scope(info);
	bool		is_inner = info->jointype == JOIN_INNER;
	ListCell   *cell;

	foreach(cell, conds)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);
		bool		is_above = info->jointype != JOIN_SEMI && !is_inner &&
		RINFO_IS_PUSHED_DOWN(cond, joinrel->relids);

		if (shippable_expr((Node *) cond->clause, &scope))
		{
			if (!is_above)
				info->join_conds = lappend(info->join_conds, cond);
			else if (info->jointype == JOIN_ANTI)
				return false;
			else
				info->remote_conds = lappend(info->remote_conds, cond);
		}
		else if (cond->pseudoconstant)
			return false;
		else if ((is_inner || is_above) && info->jointype != JOIN_ANTI)
			info->local_conds = lappend(info->local_conds, cond);
		else
			return false;
	}
	return true;
}

/* Puts what the sides check where it belongs. */
static void
place_side_conds(FdwRelInfo *info)
{
	FdwRelInfo *outer = info->outer;
	FdwRelInfo *inner = info->inner;
	FdwExists  *exists;

	if (info->jointype == JOIN_FULL)
		return;
	info->remote_conds = list_concat_copy(outer->remote_conds,
										  info->remote_conds);
	info->exists = list_copy(outer->exists);
	switch (info->jointype)
	{
		case JOIN_INNER:
			info->remote_conds = list_concat(info->remote_conds,
											 inner->remote_conds);
			info->exists = list_concat(info->exists, inner->exists);
			break;
		case JOIN_LEFT:
			info->join_conds = list_concat(info->join_conds,
										   inner->remote_conds);
			info->join_exists = inner->exists;
			break;
		default:				/* JOIN_SEMI, JOIN_ANTI */
			exists = palloc0(sizeof(FdwExists));
			exists->inner = inner;
			exists->is_anti = info->jointype == JOIN_ANTI;
			exists->conds = info->join_conds;
			info->exists = lappend(info->exists, exists);
			info->join_conds = NIL;
			break;
	}
}

/* ---- the join ---- */

static FdwTableOptions *
merge_options(const FdwTableOptions *outer, const FdwTableOptions *inner)
{
	FdwTableOptions *options = palloc(sizeof(FdwTableOptions));

	*options = *outer;
	options->use_remote_estimate = outer->use_remote_estimate ||
		inner->use_remote_estimate;
	options->has_fetch_size = outer->has_fetch_size && inner->has_fetch_size;
	options->fetch_size = Max(outer->fetch_size, inner->fetch_size);
	options->is_async_capable = outer->is_async_capable &&
		inner->is_async_capable;
	return options;
}

/* The join as a remote query, or NULL if it cannot be one. */
static FdwRelInfo *
make_join_info(PlannerInfo *root, RelOptInfo *joinrel, FdwRelInfo *outer,
			   FdwRelInfo *inner, JoinType jointype, List *conds)
{
	FdwRelInfo *info;

	if (!is_joinable(outer, jointype) || !is_joinable(inner, jointype))
		return NULL;
	info = palloc0(sizeof(FdwRelInfo));
	info->options = merge_options(outer->options, inner->options);
	info->serverid = outer->serverid;
	info->relids = bms_union(outer->relids, inner->relids);
	info->values_relids = bms_union(outer->values_relids,
									inner->values_relids);
	if (bms_equal(info->values_relids, info->relids))
		return NULL;
	info->hidden_relids = bms_union(outer->hidden_relids,
									inner->hidden_relids);
	if (jointype == JOIN_SEMI || jointype == JOIN_ANTI)
		info->hidden_relids = bms_add_members(info->hidden_relids,
											  inner->relids);
	info->jointype = jointype;
	info->outer = outer;
	info->inner = inner;
	if (changes_a_table(root, info) || !is_target_available(joinrel, info) ||
		!divide_join_conds(joinrel, info, conds))
		return NULL;
	place_side_conds(info);
	return info;
}

/*
 * Rows that are locked or changed may have to be checked again in their
 * newest version, which is done by a local join.  *path is NULL if none is
 * needed; false if there is none.
 */
static bool
find_epq_path(PlannerInfo *root, RelOptInfo *joinrel, Path **path)
{
	*path = NULL;
	if (root->parse->commandType == CMD_SELECT && root->rowMarks == NIL)
		return true;
	*path = GetExistingLocalJoinPath(joinrel);
	return *path != NULL;
}

void
shardGetForeignJoinPaths(PlannerInfo *root, RelOptInfo *joinrel,
						 RelOptInfo *outerrel, RelOptInfo *innerrel,
						 JoinType jointype, JoinPathExtraData *extra)
{
	FdwRelInfo *info;
	Path	   *epq_path;

	/* once is enough: the shard orders the join as it likes */
	if (joinrel->fdw_private != NULL)
		return;
	if (jointype == JOIN_RIGHT)
	{
		RelOptInfo *other = outerrel;

		outerrel = innerrel;
		innerrel = other;
		jointype = JOIN_LEFT;
	}
	if (jointype != JOIN_INNER && jointype != JOIN_LEFT &&
		jointype != JOIN_FULL && jointype != JOIN_SEMI &&
		jointype != JOIN_ANTI)
		return;
	if (joinrel->lateral_relids != NULL || has_value_below(root, joinrel))
		return;
	info = make_join_info(root, joinrel, outerrel->fdw_private,
						  innerrel->fdw_private, jointype,
						  extra->restrictlist);
	if (info == NULL || !find_epq_path(root, joinrel, &epq_path))
		return;
	joinrel->fdw_private = info;
	plan_cost_set_join(root, joinrel, info);
	plan_order_add_paths(root, joinrel, epq_path);
}
