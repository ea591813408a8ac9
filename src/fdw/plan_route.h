/*-------------------------------------------------------------------------
 *
 * plan_route.h
 *	  A statement by key is planned for its partition alone.
 *
 * Does not wait, but for the lock of the partition.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_ROUTE_H
#define SHARD_FDW_FDW_PLAN_ROUTE_H

#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/parsenodes.h"

/*
 * Makes a statement about one partitioned table, which has not been planned
 * yet, one about the foreign table of ours that is the partition of the key it
 * asks for, where that can be told now; params are the parameters whose values
 * are known, or NULL.  True if it has become one; then the plan that comes of
 * it must be finished.
 *
 * A lookup is a query at whatever depth, its subqueries left alone; a change
 * is an UPDATE or DELETE that is planned by itself.
 */
extern bool plan_route_lookup(Query *query, ParamListInfo params);
extern void plan_route_finish_lookup(PlannedStmt *plan);
extern bool plan_route_change(Query *query, ParamListInfo params);
extern void plan_route_finish_change(PlannedStmt *plan);

/*
 * The partitioned table for which the table at rtindex stands since then, whose
 * columns have the same numbers; InvalidOid if it stands for itself.
 */
extern Oid	plan_route_origin(PlannerInfo *root, Index rtindex);

#endif							/* SHARD_FDW_FDW_PLAN_ROUTE_H */
