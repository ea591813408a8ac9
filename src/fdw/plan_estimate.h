/*-------------------------------------------------------------------------
 *
 * plan_estimate.h
 *	  Estimates asked of shards, for tables with use_remote_estimate.
 *
 * Decides whether, whom and what to ask; what the answers mean for the cost
 * of a path is plan_cost.c's to say.  Waits for the shards, interruptibly,
 * and raises what they do.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_ESTIMATE_H
#define SHARD_FDW_FDW_PLAN_ESTIMATE_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"
#include "fdw/plan_order.h"

/* What a shard's planner says of a query. */
typedef struct PlanEstimate
{
	double		rows;
	int			width;
	Cost		startup;
	Cost		total;
} PlanEstimate;

/*
 * The estimate for what info describes, which must be complete but for the
 * estimates.  target is what is needed of it, for joins; param_conds are
 * further conditions (RestrictInfos) on a table.  False if the shard is not to
 * be asked, as about lists that it would have to be sent.
 */
extern bool plan_estimate_rel(PlannerInfo *root, const FdwRelInfo *info,
							  const PathTarget *target, List *param_conds,
							  PlanEstimate *estimate);

/*
 * The same for rel's query with ORDER BY and LIMIT; false also where it has
 * neither, so that the estimates in its FdwRelInfo hold.
 */
extern bool plan_estimate_path(PlannerInfo *root, RelOptInfo *rel,
							   const PathTarget *target, List *pathkeys,
							   PlanLimit limit, PlanEstimate *estimate);

#endif							/* SHARD_FDW_FDW_PLAN_ESTIMATE_H */
