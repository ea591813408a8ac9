/*-------------------------------------------------------------------------
 *
 * plan_scan.c
 *	  Paths and plans for reading one foreign table.
 *
 * A condition is checked by the shard when it is shippable, else here.  Only
 * the columns needed here travel.  Besides the plain path there is one for
 * each set of other relations whose columns, sent as parameters, let the
 * shard check join conditions: the inner side of a nested loop.
 *
 * Sorted paths, joins and upper relations are not made here.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_cost.h"
#include "fdw/remote_sql.h"

static ShipScope
relation_scope(const FdwRelInfo *info)
{
	ShipScope	scope = {info->relids, info->options->extensions};

	return scope;
}

static bool
is_remote_cond(const FdwRelInfo *info, RestrictInfo *cond)
{
	ShipScope	scope = relation_scope(info);

	return shippable_expr((Node *) cond->clause, &scope);
}

/* ---- size ---- */

static void
classify_conds(RelOptInfo *baserel, FdwRelInfo *info)
{
	ListCell   *cell;

	foreach(cell, baserel->baserestrictinfo)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (is_remote_cond(info, cond))
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

	info->options = fdw_options_for_table(foreigntableid);
	info->serverid = baserel->serverid;
	info->relids = bms_make_singleton(baserel->relid);
	baserel->fdw_private = info;
	classify_conds(baserel, info);
	find_used_attrs(baserel, info);
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
			is_remote_cond(baserel->fdw_private, cond))
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
add_scan_path(PlannerInfo *root, RelOptInfo *baserel, ParamPathInfo *ppi)
{
	Relids		required_outer = baserel->lateral_relids;
	List	   *param_conds = NIL;
	PlanCost	cost;

	if (ppi)
	{
		ListCell   *cell;

		required_outer = ppi->ppi_req_outer;
		foreach(cell, ppi->ppi_clauses)
		{
			if (is_remote_cond(baserel->fdw_private, lfirst(cell)))
				param_conds = lappend(param_conds, lfirst(cell));
		}
	}
	cost = plan_cost_scan(root, baserel, ppi, param_conds);
	add_path(baserel, (Path *)
			 compat_create_foreignscan_path(root, baserel, cost.rows,
											cost.startup, cost.total, NIL,
											required_outer, NIL, NIL));
}

void
shardGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
					 Oid foreigntableid)
{
	List	   *infos = NIL;
	ListCell   *cell;

	add_scan_path(root, baserel, NULL);
	infos = add_param_infos(root, baserel, baserel->joininfo, infos);
	infos = add_equivalence_infos(root, baserel, infos);
	foreach(cell, infos)
		add_scan_path(root, baserel, lfirst(cell));
}

/* ---- the plan ---- */

/*
 * Divides the conditions of the chosen path.  They are those of the table and
 * those that parameters make checkable; pseudoconstants are core's.
 */
static void
divide_conds(FdwRelInfo *info, List *scan_clauses, List **remote_exprs,
			 List **local_exprs)
{
	ListCell   *cell;

	*remote_exprs = NIL;
	*local_exprs = NIL;
	foreach(cell, scan_clauses)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (cond->pseudoconstant)
			continue;
		if (list_member_ptr(info->remote_conds, cond) ||
			(!list_member_ptr(info->local_conds, cond) &&
			 is_remote_cond(info, cond)))
			*remote_exprs = lappend(*remote_exprs, cond->clause);
		else
			*local_exprs = lappend(*local_exprs, cond->clause);
	}
}

/* Appends the locking clause; true if there is one. */
static bool
append_lock(StringInfo sql, PlannerInfo *root, Index rtindex)
{
	CmdType		command = root->parse->commandType;
	PlanRowMark *mark = get_plan_rowmark(root->rowMarks, rtindex);

	/* rows read to be changed are locked as soon as they are read */
	if ((command == CMD_UPDATE || command == CMD_DELETE) &&
		bms_is_member(rtindex, root->all_result_relids))
	{
		remote_sql_lock(sql, LCS_FORUPDATE, LockWaitBlock);
		return true;
	}
	if (mark == NULL || mark->strength == LCS_NONE)
		return false;
	remote_sql_lock(sql, mark->strength, mark->waitPolicy);
	return true;
}

/* Is the table on the side of a semijoin that is read up to a first match? */
static bool
is_tested_for_existence(PlannerInfo *root, RelOptInfo *rel)
{
	Relids		relids = rel->top_parent_relids ? rel->top_parent_relids :
	rel->relids;
	ListCell   *cell;

	foreach(cell, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, cell);

		if ((join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI) &&
			bms_is_subset(relids, join->syn_righthand))
			return true;
	}
	return false;
}

/*
 * Does the planner count on reading a part of the rows?  What sorts or
 * aggregates reads them all, LIMIT or not.  The inner side of a semijoin
 * stops early only where it is read again for each outer row.
 */
static bool
may_stop_early(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	Query	   *parse = root->parse;

	if (path->param_info && is_tested_for_existence(root, rel))
		return true;
	return root->tuple_fraction > 0 && root->sort_pathkeys == NIL &&
		parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && parse->setOperations == NULL &&
		!parse->hasAggs && !parse->hasWindowFuncs;
}

static int
scan_flags(PlannerInfo *root, RelOptInfo *rel, Path *path, bool locks_rows)
{
	FdwRelInfo *info = rel->fdw_private;
	int			flags = 0;

	if (locks_rows)
		flags |= SCAN_FLAG_LOCKS_ROWS;
	if (may_stop_early(root, rel, path))
		flags |= SCAN_FLAG_MAY_STOP_EARLY;
	if (info->options->is_async_capable)
		flags |= SCAN_FLAG_ASYNC_CAPABLE;
	return flags;
}

/* In the order of enum ScanPrivate. */
static List *
make_scan_private(char *sql, List *retrieved_attrs, int flags, int fetch_size)
{
	List	   *items;

	items = list_make5(makeString(sql), retrieved_attrs, makeInteger(flags),
					   makeInteger(fetch_size), makeString(""));
	Assert(list_length(items) == SCAN_PRIVATE_LENGTH);
	return items;
}

ForeignScan *
shardGetForeignPlan(PlannerInfo *root, RelOptInfo *foreignrel,
					Oid foreigntableid, ForeignPath *best_path, List *tlist,
					List *scan_clauses, Plan *outer_plan)
{
	FdwRelInfo *info = foreignrel->fdw_private;
	ShipScope	scope = relation_scope(info);
	RemoteExprContext context = {root, &scope, NIL};
	Relation	rel = table_open(foreigntableid, NoLock);
	List	   *attrs = remote_sql_retrieved_attrs(rel, info->attrs_used);
	List	   *local_exprs;
	bool		locks_rows;
	int			flags;
	StringInfoData sql;

	divide_conds(info, scan_clauses, &info->planned_conds, &local_exprs);
	initStringInfo(&sql);
	remote_sql_select(&sql, &context, rel, attrs, info->planned_conds);
	locks_rows = append_lock(&sql, root, foreignrel->relid);
	table_close(rel, NoLock);

	flags = scan_flags(root, foreignrel, &best_path->path, locks_rows);
	return make_foreignscan(tlist, local_exprs, foreignrel->relid,
							context.params,
							make_scan_private(sql.data, attrs, flags,
											  plan_cost_fetch_size(foreignrel)),
							NIL, info->planned_conds, outer_plan);
}
