/*-------------------------------------------------------------------------
 *
 * plan_route.h
 *	  A query by key is planned for its partition alone.
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
 * Makes a query of one partitioned table, which has not been planned yet, one
 * of the foreign table of ours that is the partition of the key it asks for,
 * where that can be told now; params are the parameters whose values are known,
 * or NULL.  Subqueries are left alone.  True if it has become one; then the
 * plan that comes of it must be finished.
 */
extern bool plan_route(Query *query, ParamListInfo params);
extern void plan_route_finish(PlannedStmt *plan);

/*
 * The partitioned table for which the table at rtindex stands since then, whose
 * columns have the same numbers; InvalidOid if it stands for itself.
 */
extern Oid	plan_route_origin(PlannerInfo *root, Index rtindex);

#endif							/* SHARD_FDW_FDW_PLAN_ROUTE_H */
