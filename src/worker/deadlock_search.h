/*-------------------------------------------------------------------------
 *
 * deadlock_search.h
 *	  From what sessions wait for and what shards say to verdicts.
 *
 * waits are Lists of DeadlockWait pointers.  Works in the current memory
 * context and leaves there what it used.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_SEARCH_H
#define SHARD_FDW_WORKER_DEADLOCK_SEARCH_H

#include "worker/deadlock_probe.h"

/* Do the waits seem to be part of a deadlock? */
extern bool deadlock_search_has_any(List *waits, const DeadlockSight *sight);

/* Those of the waits that were there before. */
extern List *deadlock_search_old_waits(List *waits, List *before);

/*
 * Leaves in a sight what has not changed since the one before: the same
 * sessions of a shard wait since the same time for the same others.
 */
extern void deadlock_search_keep_old(DeadlockSight *sight,
									 const DeadlockSight *before);

/* Ends every deadlock by an error in one of its waits; returns how many. */
extern int	deadlock_search_end_all(List *waits, const DeadlockSight *sight);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_SEARCH_H */
