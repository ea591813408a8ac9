/*-------------------------------------------------------------------------
 *
 * commit_log.h
 *	  The decision, on disk: table shard_fdw.commit_log and the identity of
 *	  this coordinator.
 *
 * A row is inserted by the transaction it speaks about, so it is visible if
 * and only if that transaction committed (A).  This module is the only code
 * that touches the table.  The insert goes through the heap directly, because
 * it runs inside a commit; it refuses in a READ ONLY transaction never, since
 * the row is not the user's data, but callers must not come here in one that
 * wrote nothing.
 *
 * Locks: ROW EXCLUSIVE for insert and delete, ACCESS SHARE for reading.  All
 * functions raise on failure and need a transaction; results are palloc'd in
 * the current context.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_COMMIT_LOG_H
#define SHARD_FDW_TXN_COMMIT_LOG_H

#include "access/transam.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "txn/shard_history.h"

typedef struct CommitLogParticipant
{
	Oid			serverid;
	Oid			userid;			/* whose mapping was used */
	uint32		branch;			/* number in the gid */
	uint64		remote_xid;		/* full xid on the shard; 0 if not known */
	ShardHistory history;		/* of the shard, when it prepared */
} CommitLogParticipant;

typedef struct CommitLogEntry
{
	uint64		xid;			/* full local xid */
	uint64		token;
	uint64		incarnation;	/* in the gids of its branches */
	TimestampTz logged_at;
	int			nparticipants;
	CommitLogParticipant *participants;
} CommitLogEntry;

/* Is the extension installed in this database? */
extern bool commit_log_is_installed(void);

/* Is this relation one of those this module cannot do without? */
extern bool commit_log_is_relation(Oid relid);

/* The identity of this coordinator; cached after the first read. */
extern uint64 commit_log_identity(void);

/*
 * Takes, until the transaction ends, the locks that DROP SERVER and DROP USER
 * MAPPING conflict with, so that recovery will find what it needs (J).  To be
 * called when a transaction begins to write somewhere (waits: true), and for
 * each participant before P1 (waits: false, raising
 * ERRCODE_LOCK_NOT_AVAILABLE).  Raises when the server or the mapping is gone.
 */
extern void commit_log_lock_participant(Oid serverid, Oid userid, bool waits);

/* P2: writes the row of the current transaction. */
extern void commit_log_insert(const CommitLogEntry *entry);

/* Is there a row with this xid and token, under a snapshot taken now? */
extern bool commit_log_exists(uint64 xid, uint64 token);

/* All visible rows, as a List of CommitLogEntry pointers, oldest first. */
extern List *commit_log_list(void);

/*
 * The same with the rows of transactions that have not ended: those in their
 * last steps and those prepared by the user.
 */
extern List *commit_log_list_with_uncommitted(void);

/*
 * Deletes the rows of the given CommitLogEntry list (only xid and token
 * matter); returns how many there were.  Does not wait for somebody else who
 * is deleting the same row.
 */
extern int	commit_log_delete(List *entries);

/*
 * VACUUM, for a process that is in a transaction but in no block: the
 * transaction ends, and another one is open afterwards.  What is needed
 * longer must not be in the transaction's memory.  Does not wait for a lock.
 */
extern void commit_log_vacuum(void);

/*
 * Writes the row of the same xid and token anew, as part of the current
 * transaction; false when somebody else has deleted it or is about to.
 */
extern bool commit_log_replace(const CommitLogEntry *entry);

#endif							/* SHARD_FDW_TXN_COMMIT_LOG_H */
