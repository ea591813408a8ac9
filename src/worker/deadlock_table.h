/*-------------------------------------------------------------------------
 *
 * deadlock_table.h
 *	  The tables of detectors and of owners that deadlock_shared.c keeps in
 *	  shared memory: which slot is whose, and which may be used again.
 *
 * A detector may end without clearing up, and a session on a shard without
 * telling us; so a slot is not free only because somebody has freed it.
 *
 * The caller locks.  Pure: includes c.h at most, allocates nothing, raises
 * nothing.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_TABLE_H
#define SHARD_FDW_WORKER_DEADLOCK_TABLE_H

#define DEADLOCK_MAX_DETECTORS 64
#define DEADLOCK_MAX_OWNERS 4096

/* how long a detector may take to start before another one is tried */
#define DEADLOCK_START_LIMIT_US INT64CONST(5000000)

struct Latch;

typedef struct DeadlockDetector
{
	Oid			database;		/* InvalidOid: the slot is free */
	int			pid;			/* 0: being started, or ended by a signal */
	struct Latch *latch;
	int64		started_at;		/* in microseconds; 0: never */
	bool		has_request;
} DeadlockDetector;

typedef struct DeadlockDetectors
{
	DeadlockDetector slots[DEADLOCK_MAX_DETECTORS];
} DeadlockDetectors;

/* Who is at this end of a session on a shard. */
typedef struct DeadlockOwner
{
	Oid			serverid;
	int			remote_pid;
	Oid			database;
	int			pid;			/* 0: the slot is free */
} DeadlockOwner;

typedef struct DeadlockOwners
{
	int			nused;			/* slots that have ever been used */
	DeadlockOwner slots[DEADLOCK_MAX_OWNERS];
} DeadlockOwners;

/* The database's detector; NULL if there is none. */
extern DeadlockDetector *deadlock_detectors_find(DeadlockDetectors *detectors,
												 Oid database);

/*
 * The same, or a slot that has become its own: one that is free, or that of a
 * detector which should have come up long ago.  NULL when all are taken.
 */
extern DeadlockDetector *deadlock_detectors_enter(DeadlockDetectors *detectors,
												  Oid database, int64 now);

/* Is it not there, and not being started either? */
extern bool deadlock_detector_is_due(const DeadlockDetector *detector,
									 int64 now);

/*
 * Adds an owner, if there is room.  A session of that server with the same
 * process id is gone then, even if its owner does not know yet.
 */
extern void deadlock_owners_add(DeadlockOwners *owners,
								const DeadlockOwner *owner);

/* Takes it out, if it is there. */
extern void deadlock_owners_remove(DeadlockOwners *owners,
								   const DeadlockOwner *owner);

/* Takes out all that the process has. */
extern void deadlock_owners_remove_all(DeadlockOwners *owners, int pid);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_TABLE_H */
