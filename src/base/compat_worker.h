/*-------------------------------------------------------------------------
 *
 * compat_worker.h
 *	  What differs between the supported versions of PostgreSQL, for the
 *	  modules of txn/ and worker/ that look into the server itself.
 *
 * Rules as in compat.h: one block per symbol, and the version from which it
 * can go.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_COMPAT_WORKER_H
#define SHARD_FDW_BASE_COMPAT_WORKER_H

#include "pg_config.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"

/* oldest xid whose status is kept, under XactTruncationLock; until 16 is gone */
#if PG_VERSION_NUM >= 170000
#define compat_oldest_clog_xid() (TransamVariables->oldestClogXid)
#else
#define compat_oldest_clog_xid() (ShmemVariableCache->oldestClogXid)
#endif

/* heap_delete() without waiting for other deleters; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_heap_delete(rel, tid, cid, tmfd) \
	heap_delete(rel, tid, cid, 0, InvalidSnapshot, false, tmfd)
#else
#define compat_heap_delete(rel, tid, cid, tmfd) \
	heap_delete(rel, tid, cid, InvalidSnapshot, false, tmfd, false)
#endif

/* interrupts of a worker's main loop; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_main_loop_interrupts() ProcessMainLoopInterrupts()
#else
#define compat_main_loop_interrupts() HandleMainLoopInterrupts()
#endif

/* a worker that DROP DATABASE and the like may end; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define COMPAT_BGWORKER_INTERRUPTIBLE BGWORKER_INTERRUPTIBLE
#else
#define COMPAT_BGWORKER_INTERRUPTIBLE 0
#endif

#endif							/* SHARD_FDW_BASE_COMPAT_WORKER_H */
