/*-------------------------------------------------------------------------
 *
 * plan_create.c
 *	  From the chosen path to the plan node, for tables, joins and groups.
 *
 * The scan of a table returns rows of that table.  Anything else returns what
 * fdw_scan_tlist lists: the columns needed of the tables, or groups and
 * aggregates.  What the query makes of them is computed here.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/plan_cost.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_order.h"
#include "fdw/plan_prune.h"
#include "fdw/plan_refusal.h"
#include "fdw/remote_select.h"
#include "fdw/remote_sql.h"

/* ---- what follows the conditions ---- */

/* Adds the lock on one table that the query or the command wants. */
static List *
add_lock(List *locks, PlannerInfo *root, Index rtindex)
{
	CmdType		command = root->parse->commandType;
	PlanRowMark *mark = get_plan_rowmark(root->rowMarks, rtindex);
	RemoteLock *lock = palloc0(sizeof(RemoteLock));

	lock->rtindex = rtindex;

	/* rows read to be changed are locked as soon as they are read */
	if ((command == CMD_UPDATE || command == CMD_DELETE) &&
		bms_is_member(rtindex, root->all_result_relids))
	{
		lock->strength = LCS_FORUPDATE;
		lock->policy = LockWaitBlock;
	}
	else if (mark == NULL || mark->strength == LCS_NONE)
		return locks;
	else
	{
		lock->strength = mark->strength;
		lock->policy = mark->waitPolicy;
	}
	return lappend(locks, lock);
}

static RemoteTail
make_tail(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path)
{
	const FdwRelInfo *info = rel->fdw_private;
	PlanLimit	limit = plan_order_limit(path);
	RemoteTail	tail = {0};
	int			rtindex = -1;

	if (!plan_order_find_keys(root, rel, path->path.pathkeys, &tail.sort_keys))
		elog(ERROR, "remote sort key was lost");
	if (limit != PLAN_LIMIT_NONE)
		plan_order_set_limit(root, limit, &tail);
	while ((rtindex = bms_next_member(info->relids, rtindex)) >= 0)
	{
		if (!bms_is_member(rtindex, info->hidden_relids))
			tail.locks = add_lock(tail.locks, root, rtindex);
	}
	return tail;
}

/* ---- flags ---- */

/* Is the relation on the side of a semijoin that is read up to a first match? */
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
 * aggregates reads them all, LIMIT or not, and a query that has the LIMIT
 * itself returns no more.  The inner side of a semijoin stops early only
 * where it is read again for each outer row.
 */
static bool
may_stop_early(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path)
{
	Query	   *parse = root->parse;

	if (IS_UPPER_REL(rel) || plan_order_limit(path) != PLAN_LIMIT_NONE)
		return false;
	if (path->path.param_info && is_tested_for_existence(root, rel))
		return true;
	return root->tuple_fraction > 0 &&
		(root->sort_pathkeys == NIL || path->path.pathkeys != NIL) &&
		parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && parse->setOperations == NULL &&
		!parse->hasAggs && !parse->hasWindowFuncs;
}

static int
scan_flags(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path,
		   const RemoteTail *tail)
{
	FdwRelInfo *info = rel->fdw_private;
	int			flags = 0;

	if (tail->locks != NIL)
		flags |= SCAN_FLAG_LOCKS_ROWS;
	if (may_stop_early(root, rel, path))
		flags |= SCAN_FLAG_MAY_STOP_EARLY;
	if (info->options->is_async_capable)
		flags |= SCAN_FLAG_ASYNC_CAPABLE;
	return flags;
}

/* In the order of enum ScanPrivate. */
static List *
make_scan_private(char *sql, List *retrieved_attrs, int flags, int fetch_size,
				  char *relations, List *params, List *refused)
{
	List	   *items;

	items = list_make5(makeString(sql), retrieved_attrs, makeInteger(flags),
					   makeInteger(fetch_size), makeString(relations));
	items = lappend(items, makeInteger(list_length(params)));
	items = lappend(items, refused);
	Assert(list_length(items) == SCAN_PRIVATE_LENGTH);
	return items;
}

/* ---- a table ---- */

/*
 * Divides the conditions of the chosen path.  They are those of the table and
 * those that parameters make checkable; pseudoconstants are core's.
 */
static void
divide_conds(RelOptInfo *rel, List *scan_clauses, List **remote_exprs,
			 List **local_exprs)
{
	const FdwRelInfo *info = rel->fdw_private;
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
			 fdw_relinfo_ships_cond(info, rel, cond)))
			*remote_exprs = lappend(*remote_exprs, cond->clause);
		else
			*local_exprs = lappend(*local_exprs, cond->clause);
	}
}

static ForeignScan *
create_table_scan(PlannerInfo *root, RelOptInfo *baserel, Oid relid,
				  ForeignPath *path, List *tlist, List *scan_clauses,
				  Plan *outer_plan)
{
	FdwRelInfo *info = baserel->fdw_private;
	ShipScope	scope = fdw_relinfo_scope(info);
	RemoteExprContext context = {root, &scope, NIL};
	RemoteTail	tail = make_tail(root, baserel, path);
	Relation	rel = table_open(relid, NoLock);
	List	   *attrs = remote_sql_retrieved_attrs(rel, info->attrs_used);
	List	   *local_exprs;
	StringInfoData sql;

	divide_conds(baserel, scan_clauses, &info->planned_conds, &local_exprs);
	initStringInfo(&sql);
	remote_sql_select(&sql, &context, rel, attrs, info->planned_conds);
	remote_select_append_tail(&sql, &context, &tail);
	remote_expr_end(&context);
	table_close(rel, NoLock);
	return make_foreignscan(tlist, local_exprs, baserel->relid,
							list_concat_copy(context.params,
											 plan_prune_conditions(root, info,
																   true)),
							make_scan_private(sql.data, attrs,
											  scan_flags(root, baserel, path,
														 &tail),
											  plan_cost_fetch_size(info), "",
											  context.params,
											  plan_refusal_lines(root, baserel,
																 path,
																 local_exprs)),
							NIL, info->planned_conds, outer_plan);
}

/* ---- anything else ---- */

static List *
number_attrs(int count)
{
	List	   *attrs = NIL;
	int			attnum;

	for (attnum = 1; attnum <= count; attnum++)
		attrs = lappend_int(attrs, attnum);
	return attrs;
}

static ForeignScan *
create_query_scan(PlannerInfo *root, RelOptInfo *rel, ForeignPath *path,
				  List *tlist, Plan *outer_plan)
{
	FdwRelInfo *info = rel->fdw_private;
	ShipScope	scope = fdw_relinfo_scope(info);
	RemoteExprContext context = {root, &scope, NIL};
	RemoteTail	tail = make_tail(root, rel, path);
	List	   *local_exprs = info->has_tlist ? info->local_having :
	extract_actual_clauses(info->local_conds, false);
	List	   *scan_tlist = remote_select_tlist(info, path->path.pathtarget,
												 local_exprs);
	ForeignScan *scan;
	StringInfoData sql;

	initStringInfo(&sql);
	remote_select_append(&sql, &context, info, scan_tlist, &tail);
	remote_expr_end(&context);

	/* rows that are rechecked are made by the local plan instead */
	if (outer_plan)
		outer_plan = change_plan_targetlist(outer_plan, scan_tlist,
											outer_plan->parallel_safe);
	scan = make_foreignscan(tlist, local_exprs, 0,
							list_concat_copy(context.params,
											 plan_prune_conditions(root, info,
																   false)),
							make_scan_private(sql.data,
											  number_attrs(list_length(scan_tlist)),
											  scan_flags(root, rel, path, &tail),
											  plan_cost_fetch_size(info),
											  remote_select_describe(root, info),
											  context.params,
											  plan_refusal_lines(root, rel,
																 path,
																 local_exprs)),
							scan_tlist, NIL, outer_plan);
	if (info->windows != NIL)
		plan_hook_name_windows(scan);
	return scan;
}

ForeignScan *
shardGetForeignPlan(PlannerInfo *root, RelOptInfo *foreignrel,
					Oid foreigntableid, ForeignPath *best_path, List *tlist,
					List *scan_clauses, Plan *outer_plan)
{
	if (IS_SIMPLE_REL(foreignrel))
		return create_table_scan(root, foreignrel, foreigntableid, best_path,
								 tlist, scan_clauses, outer_plan);
	return create_query_scan(root, foreignrel, best_path, tlist, outer_plan);
}
