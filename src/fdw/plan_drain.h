/*-------------------------------------------------------------------------
 *
 * plan_drain.h
 *	  Statements that could read what they write read everything first.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_DRAIN_H
#define SHARD_FDW_FDW_PLAN_DRAIN_H

#include "nodes/plannodes.h"

/*
 * Puts the node of exec_drain.h below each change of our tables in a finished
 * plan that may send a query for the table it changes after the first row.
 */
extern void plan_drain_add(PlannedStmt *stmt);

#endif							/* SHARD_FDW_FDW_PLAN_DRAIN_H */
