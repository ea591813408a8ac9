/*-------------------------------------------------------------------------
 *
 * plan_cost.h
 *	  Estimates for remote queries.
 *
 * They come from the local statistics, which ANALYZE fetches, or, for tables
 * with use_remote_estimate, from the shards, see plan_estimate.h.  May raise
 * as that and selectivity functions do.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_COST_H
#define SHARD_FDW_FDW_PLAN_COST_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"
#include "fdw/plan_estimate.h"

typedef struct PlanCost
{
	double		rows;			/* that leave the scan */
	Cost		startup;
	Cost		total;
} PlanCost;

/*
 * Sets size and width of the table and the estimates in its FdwRelInfo, whose
 * conditions must have been classified.
 */
extern void plan_cost_set_size(PlannerInfo *root, RelOptInfo *baserel);

/*
 * The cost of a scan of the table.  For a parameterized path ppi is its
 * ParamPathInfo and param_conds those of its conditions, RestrictInfos, that
 * the shard checks; else NULL and NIL.
 */
extern PlanCost plan_cost_scan(PlannerInfo *root, RelOptInfo *baserel,
							   ParamPathInfo *ppi, List *param_conds);

/*
 * Sets the estimates in the FdwRelInfo of a join, a grouped relation, or
 * one with windows or DISTINCT, which must be complete otherwise; rows are
 * those the shard finds.
 */
extern void plan_cost_set_join(PlannerInfo *root, RelOptInfo *joinrel,
							   FdwRelInfo *info);
extern void plan_cost_set_grouped(PlannerInfo *root, FdwRelInfo *info,
								  const FdwRelInfo *input, double rows);
extern void plan_cost_set_step(PlannerInfo *root, FdwRelInfo *info,
							   const FdwRelInfo *input, double rows);

/*
 * The cost of a remote query for a relation, which sorts if told to and
 * returns at most limit rows, or all if that is not above 0.
 */
extern PlanCost plan_cost_query(const FdwRelInfo *info,
								const PathTarget *target, bool is_sorted,
								double limit);

/* The same for a query that its shard has been asked about. */
extern PlanCost plan_cost_estimated(const FdwRelInfo *info,
									const PathTarget *target,
									const PlanEstimate *estimate);

/* Rows to ask for at a time, bounded by bytes unless the user has set it. */
extern int	plan_cost_fetch_size(const FdwRelInfo *info);

#endif							/* SHARD_FDW_FDW_PLAN_COST_H */
