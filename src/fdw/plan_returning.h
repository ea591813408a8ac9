/*-------------------------------------------------------------------------
 *
 * plan_returning.h
 *	  A node above INSERT ... RETURNING that awaits many rows together.
 *
 * See exec_returning.h.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_RETURNING_H
#define SHARD_FDW_FDW_PLAN_RETURNING_H

#include "nodes/plannodes.h"

/*
 * Puts the node above each INSERT into our tables of a finished plan for which
 * it is of use.
 */
extern void plan_returning_add(PlannedStmt *stmt);

#endif							/* SHARD_FDW_FDW_PLAN_RETURNING_H */
