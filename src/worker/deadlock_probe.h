/*-------------------------------------------------------------------------
 *
 * deadlock_probe.h
 *	  Asks shards who waits there for a lock, and who is in the way.
 *
 * Keeps one connection to each shard between the questions.  A shard that does
 * not answer at once is left out, and not asked again for some seconds.
 * Everybody may ask these questions; nothing is needed on the shard.
 *
 * Used by the deadlock detector only, outside a transaction.  Results are
 * palloc'd in the current context.  Raises for interrupts and local failures.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_PROBE_H
#define SHARD_FDW_WORKER_DEADLOCK_PROBE_H

#include "nodes/pg_list.h"

/* In place of a shard's number: the coordinator itself. */
#define DEADLOCK_HERE (-1)

/* A session waits for another one. */
typedef struct DeadlockLockWait
{
	int			cluster;		/* a number for the shard; several servers may
								 * lead to one */
	int			pid;			/* of the one that waits */
	bool		is_ours;		/* that works for this coordinator */
	int			blocker;		/* pid of the other */
	bool		is_blocker_ours;	/* and that does */
	bool		has_blocker_xid;	/* and that has written, or locked rows,
									 * so that it is in a transaction block */
	int64		since;			/* by the shard's clock, in microseconds */
	const char *server_name;	/* NULL: here */
	const char *lock;			/* what it waits for, in words */
} DeadlockLockWait;

/* Where a foreign server led to. */
typedef struct DeadlockShard
{
	Oid			serverid;
	int			cluster;
} DeadlockShard;

typedef struct DeadlockSight
{
	List	   *shards;			/* of DeadlockShard: those that answered */
	List	   *lock_waits;		/* of DeadlockLockWait */
} DeadlockSight;

/* The number of the shard; false when it has not answered. */
extern bool deadlock_sight_find(const DeadlockSight *sight, Oid serverid,
								int *cluster);

/*
 * Looks at whatever the given waits (a List of DeadlockWait pointers) may have
 * to do with.
 */
extern DeadlockSight *deadlock_probe(List *waits);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_PROBE_H */
