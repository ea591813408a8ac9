/*-------------------------------------------------------------------------
 *
 * plan_values.c
 *	  VALUES lists that travel to a shard to be joined there.
 *
 * Queries that lock or change rows are left alone: a row that is checked again
 * in its newest version needs its list here.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "fdw/fdw_handler.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_values.h"

/*
 * The shard derives the collation of a column from its values, whose texts do
 * not tell any but the default one.
 */
static bool
has_default_collations(const RangeTblEntry *rte)
{
	ListCell   *type;
	ListCell   *collation;

	forboth(type, rte->coltypes, collation, rte->colcollations)
	{
		if (get_typcollation(lfirst_oid(type)) != lfirst_oid(collation))
			return false;
	}
	return true;
}

static bool
is_shippable_list(const RangeTblEntry *rte, const ShipScope *scope)
{
	ListCell   *row;
	ListCell   *cell;

	if (!has_default_collations(rte))
		return false;
	foreach(row, rte->values_lists)
	{
		foreach(cell, lfirst_node(List, row))
		{
			if (!shippable_expr(lfirst(cell), scope))
				return false;
		}
	}
	return true;
}

/* The list as a remote query on the table's server, or NULL. */
static FdwRelInfo *
make_info(RelOptInfo *rel, const RangeTblEntry *rte, const FdwRelInfo *table)
{
	FdwRelInfo *info = palloc0(sizeof(FdwRelInfo));
	ShipScope	scope;
	ListCell   *cell;

	info->options = table->options;
	info->serverid = table->serverid;
	info->relids = info->values_relids = bms_make_singleton(rel->relid);
	info->retrieved_rows = rel->rows;
	info->local_conds_sel = 1.0;
	info->shard_cost = cpu_tuple_cost * list_length(rte->values_lists);
	info->width = rel->reltarget->width;
	scope = fdw_relinfo_scope(info);
	if (!is_shippable_list(rte, &scope))
		return NULL;
	foreach(cell, rel->baserestrictinfo)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (!shippable_expr((Node *) cond->clause, &scope))
			return NULL;
		info->remote_conds = lappend(info->remote_conds, cond);
	}
	return info;
}

static void
join_server(RelOptInfo *list, const RangeTblEntry *rte, RelOptInfo *table)
{
	FdwRelInfo *info = make_info(list, rte, table->fdw_private);

	if (info == NULL)
		return;
	list->serverid = table->serverid;
	list->userid = table->userid;
	list->useridiscurrent = table->useridiscurrent;
	list->fdwroutine = table->fdwroutine;
	list->fdw_private = info;
}

static bool
is_free_list(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	return rel->reloptkind == RELOPT_BASEREL && rte->rtekind == RTE_VALUES &&
		rel->fdw_private == NULL && rel->lateral_relids == NULL;
}

static bool
is_our_table(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION &&
		rel->fdw_private != NULL && rel->fdwroutine != NULL &&
		rel->fdwroutine->GetForeignPlan == shardGetForeignPlan;
}

void
plan_values_present(PlannerInfo *root, RelOptInfo *rel,
					const RangeTblEntry *rte)
{
	bool		is_list = is_free_list(rel, rte);
	int			rtindex;

	if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL ||
		(!is_list && !is_our_table(rel)))
		return;
	for (rtindex = 1; rtindex < root->simple_rel_array_size; rtindex++)
	{
		RelOptInfo *other = root->simple_rel_array[rtindex];

		if (other == NULL || other == rel)
			continue;
		if (is_list && is_our_table(other))
		{
			join_server(rel, rte, other);
			return;
		}
		if (!is_list && is_free_list(other, planner_rt_fetch(rtindex, root)))
			join_server(other, planner_rt_fetch(rtindex, root), rel);
	}
}

bool
plan_values_is_list(PlannerInfo *root, Index rtindex)
{
	return root != NULL &&
		planner_rt_fetch(rtindex, root)->rtekind == RTE_VALUES;
}

char *
plan_values_column_name(AttrNumber attnum)
{
	return psprintf("c%d", attnum);
}
