/*-------------------------------------------------------------------------
 *
 * exec_direct.h
 *	  What fdw_explain.c needs to know of an UPDATE or DELETE that runs on its
 *	  shard.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_DIRECT_H
#define SHARD_FDW_FDW_EXEC_DIRECT_H

#include "fdw/exec_scan.h"

/*
 * For a node begun by shardBeginDirectModify(); false when nothing was sent.
 */
extern bool exec_direct_report(ForeignScanState *node, ExecReport *report);

#endif							/* SHARD_FDW_FDW_EXEC_DIRECT_H */
