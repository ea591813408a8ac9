/*-------------------------------------------------------------------------
 *
 * plan_single.c
 *	  A partitioned table of which pruning has left a single partition.
 *
 * Tables whose rows are changed or locked are left alone: they need to be
 * read row by row with their identity.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "fdw/fdw_handler.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_single.h"
#include "fdw/plan_values.h"

static set_rel_pathlist_hook_type next_pathlist_hook = NULL;

/* The only partition that is left, or NULL. */
static RelOptInfo *
only_partition(RelOptInfo *rel)
{
	if (rel->part_scheme == NULL || rel->part_rels == NULL ||
		bms_num_members(rel->live_parts) != 1)
		return NULL;
	return rel->part_rels[bms_next_member(rel->live_parts, -1)];
}

/* Follows the only partitions down to a table of ours, or NULL. */
static RelOptInfo *
only_foreign_table(RelOptInfo *rel)
{
	while (rel != NULL && rel->fdw_private == NULL)
		rel = only_partition(rel);
	return rel;
}

/* The foreign table's info, but with the conditions on the parent. */
static FdwRelInfo *
make_info(RelOptInfo *parent, const FdwRelInfo *table)
{
	FdwRelInfo *info = palloc(sizeof(FdwRelInfo));
	ListCell   *cell;

	*info = *table;
	info->relids = bms_make_singleton(parent->relid);
	info->remote_conds = info->local_conds = NIL;
	foreach(cell, parent->baserestrictinfo)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (fdw_relinfo_ships_cond(info, parent, cond))
			info->remote_conds = lappend(info->remote_conds, cond);
		else
			info->local_conds = lappend(info->local_conds, cond);
	}
	return info;
}

static void
present_as_foreign(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	RelOptInfo *table;

	if (rel->reloptkind != RELOPT_BASEREL || rte->rtekind != RTE_RELATION ||
		rte->relkind != RELKIND_PARTITIONED_TABLE ||
		rel->fdw_private != NULL || rel->lateral_relids != NULL ||
		root->parse->commandType != CMD_SELECT || root->rowMarks != NIL)
		return;
	table = only_foreign_table(only_partition(rel));
	if (table == NULL || table->fdwroutine == NULL ||
		table->fdwroutine->GetForeignPlan != shardGetForeignPlan ||
		table->userid != rel->userid)
		return;
	rel->serverid = table->serverid;
	rel->fdwroutine = table->fdwroutine;
	rel->fdw_private = make_info(rel, table->fdw_private);
}

static void
set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rtindex,
				 RangeTblEntry *rte)
{
	if (next_pathlist_hook)
		next_pathlist_hook(root, rel, rtindex, rte);
	present_as_foreign(root, rel, rte);
	plan_values_present(root, rel, rte);
}

void
plan_single_init(void)
{
	next_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = set_rel_pathlist;
}

/* ---- names ---- */

AttrNumber
plan_single_attno(PlannerInfo *root, Index rtindex, AttrNumber attnum,
				  Oid *relid)
{
	RangeTblEntry *rte = planner_rt_fetch(rtindex, root);

	while (rte->relkind == RELKIND_PARTITIONED_TABLE)
	{
		RelOptInfo *child = only_partition(find_base_rel(root, rtindex));

		if (attnum > 0)
		{
			AppendRelInfo *appinfo = root->append_rel_array[child->relid];

			attnum = castNode(Var, list_nth(appinfo->translated_vars,
											attnum - 1))->varattno;
		}
		rtindex = child->relid;
		rte = planner_rt_fetch(rtindex, root);
	}
	*relid = rte->relid;
	return attnum;
}

Oid
plan_single_relid(PlannerInfo *root, Index rtindex)
{
	Oid			relid;

	(void) plan_single_attno(root, rtindex, InvalidAttrNumber, &relid);
	return relid;
}
