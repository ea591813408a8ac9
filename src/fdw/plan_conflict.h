/*-------------------------------------------------------------------------
 *
 * plan_conflict.h
 *	  ON CONFLICT with a conflict target, past a planner that looks for a
 *	  unique index here.
 *
 * Only the shards have unique indexes, and core refuses to plan a conflict
 * target, or DO UPDATE, without one.  So the clause is put out of its sight
 * while the query is planned, and comes back in the plan, where the executor
 * side finds it.
 *
 * Both functions raise for what cannot be done; neither waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_CONFLICT_H
#define SHARD_FDW_FDW_PLAN_CONFLICT_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * Hides the clauses of the query, at the top and in WITH, that are for tables
 * of ours; true if there was one, and then the plan must be given to
 * plan_conflict_restore().
 */
extern bool plan_conflict_hide(Query *query);
extern void plan_conflict_restore(PlannedStmt *stmt);

/*
 * The clause of an INSERT, as remote_conflict.h wants it; NULL if there is
 * none, or none with a target.
 */
extern const OnConflictExpr *plan_conflict_clause(const ModifyTable *plan);

#endif							/* SHARD_FDW_FDW_PLAN_CONFLICT_H */
