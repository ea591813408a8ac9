/*-------------------------------------------------------------------------
 *
 * worker_shared.h
 *	  What backends, the recovery workers and their launcher tell each other
 *	  in shared memory.
 *
 * Exists only when the library is preloaded; all functions may be called
 * without, and then do nothing or keep what they are told in this process.
 *
 * Locking: everything is under one LWLock, held for moments.  Functions
 * ending in _noerror may be called after the local commit.
 *
 * Life of a database here: entered by the launcher at start, or by a backend
 * that has work for a worker; attached by the worker, detached by it when
 * nothing is left to do; forgotten when it has no extension, or is gone.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_WORKER_SHARED_H
#define SHARD_FDW_WORKER_WORKER_SHARED_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

/* databases that can have a worker at the same time */
#define WORKER_MAX_DATABASES 256

#define WORKER_ERROR_LENGTH 256

/* How recovery of one server stands. */
typedef struct WorkerServer
{
	Oid			database;
	Oid			serverid;
	int			attempts;		/* passes in a row that left something */
	TimestampTz next_try;		/* 0: with the next pass */
	TimestampTz since;			/* first of those passes */
	int			lost;			/* lost branches that have been reported */
	char		last_error[WORKER_ERROR_LENGTH];
} WorkerServer;

/* ---- set-up: to be called from the shared memory hooks ---- */
extern Size worker_shared_size(void);
extern void worker_shared_init(void);
extern bool worker_shared_is_available(void);

/* ---- for backends ---- */

/* A transaction is finished everywhere: its row may be deleted. */
extern void worker_shared_push_settled_noerror(uint64 xid, uint64 token);

/* Something is in doubt in this database. */
extern void worker_shared_request_pass_noerror(void);

/*
 * Ends the database's worker, and keeps the launcher from starting another
 * for some seconds, so that the database can be dropped or copied.
 */
extern void worker_shared_stop_worker(Oid database);

/* ---- for workers ---- */

/* Makes this process the worker of its database; false: there is one. */
extern bool worker_shared_attach(void);

/* Detaches if nothing has been asked for meanwhile; else returns false. */
extern bool worker_shared_detach_if_idle(void);

/*
 * Forgets the database, and all that is known of its servers and finished
 * transactions: it is gone, or has no extension.
 */
extern void worker_shared_forget_database(Oid database);

/* Was a pass asked for?  Takes the request. */
extern bool worker_shared_take_pass_request(void);
extern bool worker_shared_has_pass_request(void);

/* A pass has come to its end. */
extern void worker_shared_note_pass(void);

/* The worker is about to end; when is a pass due if nobody asks? */
extern void worker_shared_note_next_pass(TimestampTz next_pass);

/* The finished transactions of this database, as CommitLogEntry pointers. */
extern List *worker_shared_pop_settled(void);

/* State of a server of this database; all zero where nothing is known. */
extern WorkerServer worker_shared_get_server(Oid serverid);
extern void worker_shared_set_server(const WorkerServer *state);

/* A server of this database is dropped. */
extern void worker_shared_forget_server(Oid serverid);

/* ---- for the launcher ---- */

typedef struct WorkerDatabase
{
	Oid			database;		/* InvalidOid: the slot is free */
	int			pid;			/* of its worker, 0: none */
	struct Latch *latch;		/* of its worker */
	bool		wants_pass;		/* to be looked after at once */
	bool		has_settled;	/* rows may be deleted */
	TimestampTz next_pass;		/* else when to look after it */
	bool		has_passed;		/* its last worker has come to the end of a
								 * pass */
	TimestampTz not_before;		/* 0, or no worker until then */
} WorkerDatabase;

extern void worker_shared_attach_launcher(void);

/* The databases of which something is kept here; palloc'd List of oids. */
extern List *worker_shared_list_databases(void);

/* Copies the slot. */
extern WorkerDatabase worker_shared_get_database(int slot);

/* Enters a database that is to be looked at; false when there is no room. */
extern bool worker_shared_add_database(Oid database);

#endif							/* SHARD_FDW_WORKER_WORKER_SHARED_H */
