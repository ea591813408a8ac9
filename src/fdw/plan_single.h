/*-------------------------------------------------------------------------
 *
 * plan_single.h
 *	  A partitioned table of which pruning has left a single partition.
 *
 * A query by key lives on one shard, with all its joins, groups and LIMIT.
 * Core sees an Append of one child, and computes here what is on top of it.
 * So the partitioned table is presented to it as the foreign table that is
 * left: what joins or groups it is offered to us.  Expressions keep naming
 * the partitioned table; only the text of a statement names the partition.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_SINGLE_H
#define SHARD_FDW_FDW_PLAN_SINGLE_H

#include "nodes/pathnodes.h"

/* Installs the hook; called by _PG_init(). */
extern void plan_single_init(void);

/*
 * The foreign table that a table of a remote query stands for: itself, or its
 * only partition.
 */
extern Oid	plan_single_relid(PlannerInfo *root, Index rtindex);

/* The same for one of its columns; *relid gets the foreign table. */
extern AttrNumber plan_single_attno(PlannerInfo *root, Index rtindex,
									AttrNumber attnum, Oid *relid);

#endif							/* SHARD_FDW_FDW_PLAN_SINGLE_H */
