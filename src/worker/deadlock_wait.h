/*-------------------------------------------------------------------------
 *
 * deadlock_wait.h
 *	  What a session does about deadlocks while it waits for shards.
 *
 * A long wait is entered in shared memory (deadlock_shared.h), where the
 * database's detector finds it, which is started if need be.  When the
 * detector has chosen the session to end a deadlock, its wait ends with an
 * error, and what runs for it on the shards is stopped as for a cancelled
 * query.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_WAIT_H
#define SHARD_FDW_WORKER_DEADLOCK_WAIT_H

/* To be called once there is shared memory for it. */
extern void deadlock_wait_init(void);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_WAIT_H */
