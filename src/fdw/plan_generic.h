/*-------------------------------------------------------------------------
 *
 * plan_generic.h
 *	  How often a generic plan asks a partition.
 *
 * Does not wait and raises nothing of its own.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_GENERIC_H
#define SHARD_FDW_FDW_PLAN_GENERIC_H

#include "nodes/pathnodes.h"

/*
 * The share of executions in which the table, a foreign table of ours, will
 * not be asked, since the parameters of the statement leave another partition:
 * from 0, as for every table that is no partition, to less than 1.
 */
extern double plan_generic_skipped_share(PlannerInfo *root,
										 const RelOptInfo *rel);

#endif							/* SHARD_FDW_FDW_PLAN_GENERIC_H */
