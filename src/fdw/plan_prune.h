/*-------------------------------------------------------------------------
 *
 * plan_prune.h
 *	  Not asking a partition that cannot have the rows, when only execution
 *	  tells.
 *
 * Core prunes the children of an Append of tables at run time, but not those
 * of an Append of joins or groups.  Their scans decide by themselves.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_PRUNE_H
#define SHARD_FDW_FDW_PLAN_PRUNE_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"

/*
 * Conditions on parameters alone.  If one of them is false, the remote query
 * has no row that matters.  NIL when there are none.  For the scan of a table
 * they are only those with an array, which core does not prune by.
 */
extern List *plan_prune_conditions(PlannerInfo *root, const FdwRelInfo *info,
								   bool is_table_scan);

#endif							/* SHARD_FDW_FDW_PLAN_PRUNE_H */
