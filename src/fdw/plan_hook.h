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

/* Installs the hook; called by _PG_init(). */
extern void plan_hook_init(void);

extern bool plan_hook_is_our_foreign_table(Oid relid);

#endif							/* SHARD_FDW_FDW_PLAN_HOOK_H */
