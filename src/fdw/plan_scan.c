/*-------------------------------------------------------------------------
 *
 * plan_scan.c
 *	  Size and paths of a foreign table.
 *
 * A condition is checked by the shard when it is shippable, else here.  Only
 * the columns needed here travel.  Besides the plain path there is one for
 * each set of other relations whose columns, sent as parameters, let the
 * shard check join conditions: the inner side of a nested loop.
 *
 * Paths without parameters, sorted or not, are made by plan_order.c.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "partitioning/partbounds.h"

#include "base/compat_planner.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_cost.h"
#include "fdw/plan_order.h"
#include "fdw/plan_sample.h"
#include "fdw/table_cache.h"

/* ---- size ---- */

static void
classify_conds(RelOptInfo *baserel, FdwRelInfo *info)
{
	ListCell   *cell;

	foreach(cell, baserel->baserestrictinfo)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (fdw_relinfo_ships_cond(info, baserel, cond))
			info->remote_conds = lappend(info->remote_conds, cond);
		else
			info->local_conds = lappend(info->local_conds, cond);
	}
}

/* Join conditions need nothing more: their columns are in the target. */
static void
find_used_attrs(RelOptInfo *baserel, FdwRelInfo *info)
{
	ListCell   *cell;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid,
				   &info->attrs_used);
	foreach(cell, info->local_conds)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		pull_varattnos((Node *) cond->clause, baserel->relid,
					   &info->attrs_used);
	}
}

void
shardGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
					   Oid foreigntableid)
{
	FdwRelInfo *info = palloc0(sizeof(FdwRelInfo));
	ShipScope	scope;

	info->options = table_cache_options(foreigntableid);
	info->serverid = baserel->serverid;
	info->relids = bms_make_singleton(baserel->relid);
	baserel->fdw_private = info;
	classify_conds(baserel, info);
	find_used_attrs(baserel, info);
	scope = fdw_relinfo_scope(info);
	plan_sample_set_size(root, baserel, &scope);
	plan_cost_set_size(root, baserel);
}

/* ---- paths ---- */

/* Adds to the list what names a path with the other relations as parameters. */
static List *
add_param_info(PlannerInfo *root, RelOptInfo *baserel, Relids clause_relids,
			   List *infos)
{
	Relids		required_outer;

	required_outer = bms_union(clause_relids, baserel->lateral_relids);
	required_outer = bms_del_member(required_outer, baserel->relid);
	if (bms_is_empty(required_outer))
		return infos;
	return list_append_unique_ptr(infos,
								  get_baserel_parampathinfo(root, baserel,
															required_outer));
}

static List *
add_param_infos(PlannerInfo *root, RelOptInfo *baserel, List *clauses,
				List *infos)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (join_clause_is_movable_to(cond, baserel) &&
			fdw_relinfo_ships_cond(baserel->fdw_private, baserel, cond))
			infos = add_param_info(root, baserel, cond->clause_relids, infos);
	}
	return infos;
}

/* Callback: any expression of ours will do. */
static bool
is_wanted_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec,
				 EquivalenceMember *em, void *arg)
{
	return true;
}

/*
 * Join conditions implied by equivalence classes are made on demand, for the
 * first expression of ours in each class: when there are more, that these are
 * equal is a condition of the table already.
 */
static List *
add_equivalence_infos(PlannerInfo *root, RelOptInfo *baserel, List *infos)
{
	List	   *clauses;

	if (!baserel->has_eclass_joins)
		return infos;
	clauses = generate_implied_equalities_for_column(root, baserel,
													 is_wanted_member, NULL,
													 baserel->lateral_referencers);
	return add_param_infos(root, baserel, clauses, infos);
}

static void
add_param_path(PlannerInfo *root, RelOptInfo *baserel, ParamPathInfo *ppi)
{
	List	   *param_conds = NIL;
	PlanCost	cost;
	ListCell   *cell;

	foreach(cell, ppi->ppi_clauses)
	{
		if (fdw_relinfo_ships_cond(baserel->fdw_private, baserel,
								   lfirst(cell)))
			param_conds = lappend(param_conds, lfirst(cell));
	}
	cost = plan_cost_scan(root, baserel, ppi, param_conds);
	add_path(baserel, (Path *)
			 compat_create_foreignscan_path(root, baserel, cost.rows,
											cost.startup, cost.total, NIL,
											ppi->ppi_req_outer, NIL, NIL));
}

/* Are the tables partitioned alike, so that their partitions are joined? */
static bool
is_partitioned_alike(RelOptInfo *rel, RelOptInfo *other)
{
	return rel->part_scheme != NULL &&
		rel->part_scheme == other->part_scheme &&
		rel->boundinfo != NULL && other->boundinfo != NULL &&
		partition_bounds_equal(rel->part_scheme->partnatts,
							   rel->part_scheme->parttyplen,
							   rel->part_scheme->parttypbyval,
							   rel->boundinfo, other->boundinfo);
}

/*
 * Can values of other relations help to find rows of this one?  A partition
 * is joined with the partitions of tables that are partitioned alike rather
 * than looked up for each of their rows; that is told at the level of the
 * whole tables, since what follows for each of many partitions takes long.
 */
static bool
may_take_params(PlannerInfo *root, RelOptInfo *baserel)
{
	RelOptInfo *parent;
	int			relid;

	if (baserel->joininfo == NIL && !baserel->has_eclass_joins)
		return false;
	/* each lookup would take another sample */
	if (plan_sample_is_wanted(root, baserel->relid))
		return false;
	if (baserel->lateral_relids != NULL ||
		!bms_get_singleton_member(baserel->top_parent_relids, &relid))
		return true;
	parent = find_base_rel(root, relid);
	relid = -1;
	while ((relid = bms_next_member(root->all_baserels, relid)) >= 0)
	{
		if (relid != parent->relid &&
			!is_partitioned_alike(parent, find_base_rel(root, relid)))
			return true;
	}
	return false;
}

void
shardGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
					 Oid foreigntableid)
{
	List	   *infos = NIL;
	ListCell   *cell;

	plan_order_add_paths(root, baserel, NULL);
	if (!may_take_params(root, baserel))
		return;
	infos = add_param_infos(root, baserel, baserel->joininfo, infos);
	infos = add_equivalence_infos(root, baserel, infos);
	foreach(cell, infos)
		add_param_path(root, baserel, lfirst(cell));
}
