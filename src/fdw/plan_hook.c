/*-------------------------------------------------------------------------
 *
 * plan_hook.c
 *	  What is done for a query over our tables before the planner sees it.
 *
 * Partitionwise joins and aggregates are off by default, since planning them
 * costs time that local tables do not pay back.  For tables on shards they
 * are what makes the shards work, so they are on while such a query is
 * planned.  The variables are set and restored directly: the user's settings
 * do not change, not even when planning fails.
 *
 * A statement by key becomes one about its partition, see plan_route.h.
 *
 * SELECT DISTINCT becomes GROUP BY, which means the same, and which core can
 * do partly in each partition.
 *
 * ON CONFLICT is led past the planner, see plan_conflict.h.  The finished plan
 * of an INSERT ... RETURNING gets a node of ours, see plan_returning.h.
 *
 * Without shared_preload_libraries the hook is installed while the first
 * query of a session over our tables is being planned, and misses that one.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "foreign/fdwapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "base/settings.h"
#include "fdw/fdw_handler.h"
#include "fdw/plan_conflict.h"
#include "fdw/plan_drain.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_route.h"
#include "fdw/plan_returning.h"
#include "fdw/remote_window.h"
#include "fdw/table_cache.h"

static planner_hook_type next_planner_hook = NULL;

/* The run of the planner that is under way; set anew by each. */
typedef struct PlanRun
{
	List	   *window_scans;	/* see plan_hook_name_windows() */
} PlanRun;

static PlanRun *current_run = NULL;

/* ---- whose tables are they? ---- */

/* The table cache has none but ours, and to look there costs least. */
bool
plan_hook_is_our_foreign_table(Oid relid)
{
	FdwRoutine *routine;

	if (table_cache_contains(relid))
		return true;
	routine = GetFdwRoutineByRelId(relid);
	if (routine->GetForeignPlan != shardGetForeignPlan)
		return false;
	table_cache_add(relid);
	return true;
}

/* The first partition that is a foreign table answers for all. */
static bool
has_our_partition(Oid relid, LOCKMODE lockmode)
{
	Relation	rel = table_open(relid, lockmode);
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	bool		is_found = false;
	bool		is_ours = false;
	int			part;

	for (part = 0; part < desc->nparts && !is_found; part++)
	{
		Oid			child = desc->oids[part];
		char		relkind = table_cache_contains(child) ?
		RELKIND_FOREIGN_TABLE : get_rel_relkind(child);

		if (relkind == RELKIND_FOREIGN_TABLE)
		{
			is_found = true;
			is_ours = plan_hook_is_our_foreign_table(child);
		}
		else if (relkind == RELKIND_PARTITIONED_TABLE)
			is_found = is_ours = has_our_partition(child, AccessShareLock);
	}
	table_close(rel, NoLock);
	return is_ours;
}

static bool
is_our_table(const RangeTblEntry *rte)
{
	if (rte->rtekind != RTE_RELATION)
		return false;
	if (rte->relkind == RELKIND_FOREIGN_TABLE)
		return plan_hook_is_our_foreign_table(rte->relid);
	return rte->relkind == RELKIND_PARTITIONED_TABLE && rte->inh &&
		has_our_partition(rte->relid, NoLock);
}

bool
plan_hook_is_our_target(const RangeTblEntry *target)
{
	if (target->relkind == RELKIND_FOREIGN_TABLE)
		return plan_hook_is_our_foreign_table(target->relid);
	return target->relkind == RELKIND_PARTITIONED_TABLE &&
		has_our_partition(target->relid, NoLock);
}

/* ---- the query ---- */

static void
turn_distinct_into_groups(Query *query)
{
	if (query->distinctClause == NIL || query->hasDistinctOn ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->hasAggs || query->havingQual != NULL ||
		query->hasWindowFuncs || query->hasTargetSRFs ||
		query->setOperations != NULL || query->hasSubLinks ||
		contain_volatile_functions((Node *) query->targetList))
		return;
	query->groupClause = query->distinctClause;
	query->distinctClause = NIL;
}

typedef struct Search
{
	ParamListInfo params;		/* those that have values */
	bool		is_found;
	bool		is_routed;		/* a query has become one of a partition */
} Search;

/*
 * Walker: looks for our tables, and prepares the queries in which there are
 * any, at whatever depth.
 */
static bool
prepare_queries(Node *node, void *arg)
{
	Search	   *search = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		Search		inner = {search->params};
		ListCell   *cell;

		query_tree_walker(query, prepare_queries, &inner, 0);
		search->is_routed |= inner.is_routed |
			plan_route_lookup(query, search->params);
		foreach(cell, query->rtable)
		{
			if (inner.is_found)
				break;
			inner.is_found = is_our_table(lfirst_node(RangeTblEntry, cell));
		}
		if (inner.is_found)
			turn_distinct_into_groups(query);
		search->is_found |= inner.is_found;
		return false;
	}
	return expression_tree_walker(node, prepare_queries, arg);
}

static PlannedStmt *
plan_next(COMPAT_PLANNER_ARGS)
{
	if (next_planner_hook)
		return compat_call_planner(next_planner_hook);
	return compat_call_planner(standard_planner);
}

static PlannedStmt *
plan_with_partitionwise(COMPAT_PLANNER_ARGS)
{
	bool		saved_join = enable_partitionwise_join;
	bool		saved_aggregate = enable_partitionwise_aggregate;
	PlannedStmt *result;

	enable_partitionwise_join = true;
	enable_partitionwise_aggregate = true;
	PG_TRY();
	{
		result = compat_call_planner(plan_next);
	}
	PG_FINALLY();
	{
		enable_partitionwise_join = saved_join;
		enable_partitionwise_aggregate = saved_aggregate;
	}
	PG_END_TRY();
	return result;
}

/* ---- windows ---- */

bool
plan_hook_is_planning(void)
{
	return current_run != NULL;
}

void
plan_hook_name_windows(ForeignScan *scan)
{
	current_run->window_scans = lappend(current_run->window_scans, scan);
}

static void
name_windows(List *scans)
{
	ListCell   *scan;
	ListCell   *cell;

	foreach(scan, scans)
	{
		foreach(cell, lfirst_node(ForeignScan, scan)->fdw_scan_tlist)
		{
			TargetEntry *entry = lfirst_node(TargetEntry, cell);

			if (IsA(entry->expr, WindowFunc))
				entry->expr = (Expr *)
					remote_window_call((WindowFunc *) entry->expr);
		}
	}
}

/* ---- the hook ---- */

/*
 * An error leaves current_run pointing to a run that is over.  It is only
 * looked at within the next run, which has set it.
 */
static PlannedStmt *
plan_query(COMPAT_PLANNER_ARGS)
{
	Search		search = {bound_params};
	bool		is_conflict_hidden = plan_conflict_hide(parse);
	PlanRun		run = {NIL};
	PlanRun    *outer_run = current_run;
	bool		is_change_routed = false;
	PlannedStmt *result;

	current_run = &run;
	if (setting_partitionwise)
	{
		is_change_routed = plan_route_change(parse, bound_params);
		prepare_queries((Node *) parse, &search);
	}
	if (search.is_found)
		result = compat_call_planner(plan_with_partitionwise);
	else
		result = compat_call_planner(plan_next);
	if (is_conflict_hidden)
		plan_conflict_restore(result);
	if (search.is_routed)
		plan_route_finish_lookup(result);
	if (is_change_routed)
		plan_route_finish_change(result);
	if (result->commandType != CMD_SELECT || result->hasModifyingCTE)
		plan_drain_add(result);
	if (result->hasReturning || result->hasModifyingCTE)
		plan_returning_add(result);
	name_windows(run.window_scans);
	current_run = outer_run;
	return result;
}

void
plan_hook_init(void)
{
	next_planner_hook = planner_hook;
	planner_hook = plan_query;
}
