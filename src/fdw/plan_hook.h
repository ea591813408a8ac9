/*-------------------------------------------------------------------------
 *
 * plan_hook.h
 *	  What is done for a query over our tables before the planner sees it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_HOOK_H
#define SHARD_FDW_FDW_PLAN_HOOK_H

#include "nodes/plannodes.h"

/* Installs the hook; called by _PG_init(). */
extern void plan_hook_init(void);

extern bool plan_hook_is_our_foreign_table(Oid relid);

/* Is it ours, or has it a partition that is?  The caller has it locked. */
extern bool plan_hook_is_our_target(const RangeTblEntry *target);

/*
 * Is the planner running under the hook?  Then scans can be handed over whose
 * fdw_scan_tlist has window functions: EXPLAIN, which looks for their windows
 * in the plan, could not print them.  When core is done with the plan, each is
 * replaced there by an aggregate that has its name.
 */
extern bool plan_hook_is_planning(void);
extern void plan_hook_name_windows(ForeignScan *scan);

#endif							/* SHARD_FDW_FDW_PLAN_HOOK_H */
