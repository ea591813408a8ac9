/*-------------------------------------------------------------------------
 *
 * plan_values.h
 *	  VALUES lists that travel to a shard to be joined there.
 *
 * Core joins a VALUES list with a remote query here.  So the list is presented
 * to it as a relation of the server that the first of our tables in the query
 * is on: a join of the two is then offered to us.  Alone it stays here.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_VALUES_H
#define SHARD_FDW_FDW_PLAN_VALUES_H

#include "nodes/pathnodes.h"

/*
 * To be called for each base relation, with what it is presented as.  What
 * comes first of a list and a table waits for the other.
 */
extern void plan_values_present(PlannerInfo *root, RelOptInfo *rel,
								const RangeTblEntry *rte);

/* Is a relation of a remote query a VALUES list?  Not without a planner. */
extern bool plan_values_is_list(PlannerInfo *root, Index rtindex);

/* The name of a column of a list there; palloc'd. */
extern char *plan_values_column_name(AttrNumber attnum);

#endif							/* SHARD_FDW_FDW_PLAN_VALUES_H */
