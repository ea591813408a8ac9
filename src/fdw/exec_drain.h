/*-------------------------------------------------------------------------
 *
 * exec_drain.h
 *	  A node that reads all rows of its input before it gives the first.
 *
 * Rows that do not fit in work_mem go to a temporary file.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_DRAIN_H
#define SHARD_FDW_FDW_EXEC_DRAIN_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* The input is the outer plan, and the scan's rows are those of the input. */
extern const CustomScanMethods exec_drain_methods;

extern bool exec_drain_is_below(const Plan *plan);

/* Called by _PG_init(). */
extern void exec_drain_init(void);

#endif							/* SHARD_FDW_FDW_EXEC_DRAIN_H */
