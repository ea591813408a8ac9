/*-------------------------------------------------------------------------
 *
 * deadlock_shared.h
 *	  What sessions, above all those that wait long for shards, and the deadlock
 *	  detectors tell each other in shared memory.
 *
 * Exists only when the library is preloaded.  The tables have a fixed size:
 * where they are full a wait is not known here, and so no deadlock that it is
 * part of is found.
 *
 * Every wait that is entered gets a token that is never used again, and a
 * verdict is passed on a token, so that it cannot hit what the session does
 * later.
 *
 * Locking: everything is under one LWLock, held for moments.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_SHARED_H
#define SHARD_FDW_WORKER_DEADLOCK_SHARED_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "worker/deadlock_table.h"

/* connections of one session that are told; what it waits for comes first */
#define DEADLOCK_MAX_CONNS 64

/* longest description of a deadlock */
#define DEADLOCK_REPORT_LENGTH 1024

/* A transaction of ours on a shard. */
typedef struct DeadlockConn
{
	Oid			serverid;
	Oid			userid;			/* whose mapping led there */
	int			pid;			/* of the session there */
	bool		is_waited;		/* for its answer, that is */
	bool		is_kept;		/* what it holds is, until the session goes on */
} DeadlockConn;

/* A session that waits. */
typedef struct DeadlockWait
{
	uint64		token;			/* 0: the slot is free; where a detector made
								 * it, it waits here and not for a shard */
	Oid			database;
	int			pid;
	TimestampTz xact_start;
	bool		needs_any;		/* any connection that it waits for will do */
	int			nconns;
	DeadlockConn conns[DEADLOCK_MAX_CONNS];
} DeadlockWait;

/* Why a wait is to end. */
typedef struct DeadlockVerdict
{
	bool		is_own_doing;	/* nobody else is part of the deadlock */
	char		report[DEADLOCK_REPORT_LENGTH]; /* who waits for whom */
} DeadlockVerdict;

/* ---- set-up: to be called from the shared memory hooks ---- */
extern Size deadlock_shared_size(void);
extern void deadlock_shared_init(void);
extern bool deadlock_shared_is_available(void);

/* ---- for sessions ---- */

/* This process has, or is about to lose, a session on a shard. */
extern void deadlock_shared_add_owned_noerror(Oid serverid, int remote_pid);
extern void deadlock_shared_remove_owned_noerror(Oid serverid, int remote_pid);

/*
 * Enters the wait of this process in place of the one that it had, and asks
 * the database's detector, if there is one, to look.  Database, pid and token
 * are filled in here.  False when there is no room.
 */
extern bool deadlock_shared_enter(const DeadlockWait *wait);

/* Takes it out.  Nothing if there is none. */
extern void deadlock_shared_leave_noerror(void);

/* True when this process's wait is to end with an error; gives the verdict. */
extern bool deadlock_shared_is_victim(DeadlockVerdict *verdict);

/*
 * True when the database has no detector, and the caller is to start one; for
 * some seconds nobody else is told to then.  Where the table of detectors is
 * full, which is logged once by each session, there is none.
 */
extern bool deadlock_shared_needs_detector(void);

/* ---- for detectors ---- */

/* Makes this process the detector of its database; false: there is one. */
extern bool deadlock_shared_attach(void);

/* Stops being it, unless somebody waits: then false. */
extern bool deadlock_shared_detach_if_idle(void);

/* Has a wait been entered since the last call? */
extern bool deadlock_shared_take_request(void);

/* The waits of this database; palloc'd List of DeadlockWait pointers. */
extern List *deadlock_shared_list(void);

/* The owners of sessions of this database; palloc'd List of DeadlockOwner. */
extern List *deadlock_shared_list_owners(void);

/*
 * Ends the wait with an error.  False when it is over by itself, or has been
 * told already.
 */
extern bool deadlock_shared_condemn(uint64 token,
									const DeadlockVerdict *verdict);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_SHARED_H */
