/*-------------------------------------------------------------------------
 *
 * recovery.h
 *	  One recovery pass: settle what is in doubt on some shards.
 *
 * For each server: take the advisory lock that keeps other recoveries away;
 * list the shard's prepared transactions; find out which other incarnations of
 * this coordinator live (F); look whether the local transaction still runs; look into the log; decide
 * (decision.h); act; confirm; and delete the log rows all of whose
 * participants are past (D).  The servers are worked on at the same time: one
 * that is slow or down delays no other.
 *
 * Does not loop over time, sleep or read intervals: recovery_worker.c does.
 * Needs an open transaction that wrote nothing to shards; uses connections of
 * its own, closed at the end.  The deletions are part of the caller's
 * transaction.  One pass proves nothing about what may still come (E).
 * Raises only for interrupts and local failures; what a shard answers goes
 * into the report.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_H
#define SHARD_FDW_TXN_RECOVERY_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "txn/gid.h"

typedef struct RecoveryReport
{
	Oid			serverid;
	char	   *server_name;
	bool		is_complete;	/* the shard was reached and nothing is left
								 * but what still runs here */
	int			committed;		/* COMMIT PREPARED that succeeded */
	int			rolled_back;	/* ROLLBACK PREPARED that succeeded */
	int			waiting;		/* left because the local transaction runs,
								 * because another incarnation of this
								 * coordinator lives, or because somebody else
								 * is at it */
	int			failed;			/* left because something failed */
	int			lost;			/* lost branches (D) */
	char	   *error;			/* first failure, NULL if none */
	List	   *incidents;		/* a text for each branch newly found lost, to
								 * be reported by the caller */
} RecoveryReport;

/*
 * Asked while only servers that are slow to answer are left: true ends the
 * pass without them, because there is something else to do.
 */
typedef bool (*RecoveryYield) (void);

/*
 * One pass over the given servers (a List of oids; NIL: all of this wrapper).
 * Waits no longer than the deadline for any of them.  yield may be NULL.
 * Returns a List of RecoveryReport pointers in the current context.
 */
extern List *recovery_run(List *serverids, TimestampTz deadline,
						  RecoveryYield yield);

/* How one branch stands. */
typedef enum RecoveryBranchState
{
	RECOVERY_RUNNING,			/* prepared; its transaction has not ended */
	RECOVERY_USER_PREPARED,		/* prepared; so is its transaction, by the
								 * user */
	RECOVERY_ELSEWHERE,			/* prepared by another incarnation of this
								 * coordinator, which lives */
	RECOVERY_COMMIT_PENDING,	/* its transaction committed */
	RECOVERY_ABORT_PENDING,		/* prepared; its transaction aborted */
	RECOVERY_LOST,				/* gone without having committed (D) */
	RECOVERY_UNREACHABLE		/* its transaction committed, and the shard
								 * cannot be asked */
} RecoveryBranchState;

typedef struct RecoveryBranch
{
	Gid			gid;
	RecoveryBranchState state;
	TimestampTz since;			/* logged here, or prepared there */
} RecoveryBranch;

typedef struct RecoverySight
{
	Oid			serverid;
	char	   *server_name;
	char	   *error;			/* why the shard could not be asked, or NULL */
	List	   *branches;		/* of RecoveryBranch pointers */
} RecoverySight;

/*
 * Looks what is in doubt on the servers and touches nothing.  Otherwise like
 * recovery_run(); returns a List of RecoverySight pointers.
 */
extern List *recovery_look(List *serverids, TimestampTz deadline);

#endif							/* SHARD_FDW_TXN_RECOVERY_H */
