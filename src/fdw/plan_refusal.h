/*-------------------------------------------------------------------------
 *
 * plan_refusal.h
 *	  Why a step of a query is not left to a shard, for EXPLAIN.
 *
 * With shard_fdw.explain_pushdown the planner modules tell of what they did
 * not push down; a line names the clause or step and the reason.  Without it
 * all functions return at once.  Nothing here decides anything.
 *
 * Lines are palloc'd strings in the memory of the planner.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_REFUSAL_H
#define SHARD_FDW_FDW_PLAN_REFUSAL_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"

/* Installs the planner's hooks; called by _PG_init(). */
extern void plan_refusal_init(void);

/* Grouping of the input could not be made a remote query. */
extern void plan_refusal_note_grouping(PlannerInfo *root, FdwRelInfo *input,
									   const PathTarget *target, List *having,
									   bool is_partial);

/*
 * All that is to be told of the scan made of a path, as a List of Strings;
 * local_exprs are the expressions that are checked here.
 */
extern List *plan_refusal_lines(PlannerInfo *root, RelOptInfo *rel,
								const ForeignPath *path, List *local_exprs);

#endif							/* SHARD_FDW_FDW_PLAN_REFUSAL_H */
