/*-------------------------------------------------------------------------
 *
 * plan_sample.h
 *	  TABLESAMPLE of a table whose partitions are on shards.
 *
 * Core takes the clause for a partitioned table and then knows nothing of it
 * where a partition is a foreign table; so it goes into the remote query.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_SAMPLE_H
#define SHARD_FDW_FDW_PLAN_SAMPLE_H

#include "nodes/pathnodes.h"

#include "fdw/remote_expr.h"

/* Is only a sample of the table wanted? */
extern bool plan_sample_is_wanted(PlannerInfo *root, Index rtindex);

/*
 * Makes the size of the table that of its sample, if one is wanted.  Raises
 * where the shard cannot take it: a sample that is not taken, or taken anew for
 * each row of another table, would be a wrong answer.
 */
extern void plan_sample_set_size(PlannerInfo *root, RelOptInfo *baserel,
								 const ShipScope *scope);

/* Appends the clause, if there is one, as remote_expr_append() does. */
extern void plan_sample_append(StringInfo buf, RemoteExprContext *context,
							   Index rtindex);

#endif							/* SHARD_FDW_FDW_PLAN_SAMPLE_H */
