/*-------------------------------------------------------------------------
 *
 * deadlock_local.h
 *	  Adds what sessions wait for on the coordinator itself.
 *
 * A session that waits for a lock here does so in core and tells us nothing.
 * It matters when it keeps others waiting on a shard; so this begins at
 * sessions of ours that were found in the way there and do not wait for a
 * shard themselves, and goes on along whoever is in their way here.
 *
 * Whether such a session is in a transaction block on the shard is not told
 * here, and a statement outside one lets go by itself; so only those count that
 * have written or locked rows there.
 *
 * Used by the deadlock detector only.  Results are palloc'd in the current
 * context.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_LOCAL_H
#define SHARD_FDW_WORKER_DEADLOCK_LOCAL_H

#include "worker/deadlock_probe.h"

/*
 * Adds the waits for locks here to the sight.  Returns the waits (a List of
 * DeadlockWait pointers) with those sessions added, which have no token; the
 * List itself may be changed.
 */
extern List *deadlock_add_local(List *waits, DeadlockSight *sight);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_LOCAL_H */
