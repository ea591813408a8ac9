/*-------------------------------------------------------------------------
 *
 * local_xact.h
 *	  What this server knows of one of its own transactions.
 *
 * An xid alone names nothing (K): these answers are about the number, and
 * callers match the token in the log as well.  Takes full xids, so that an
 * old number is not taken for a new one.
 *
 * Does not wait.  Needs a transaction.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_LOCAL_XACT_H
#define SHARD_FDW_TXN_LOCAL_XACT_H

typedef enum LocalXactStatus
{
	LOCAL_XACT_IN_PROGRESS,		/* runs, is prepared, or is in phase two */
	LOCAL_XACT_COMMITTED,
	LOCAL_XACT_ABORTED,			/* or was cut off by a crash */
	LOCAL_XACT_UNKNOWN			/* too old, or never handed out here */
} LocalXactStatus;

/*
 * Does the transaction run, is it prepared, or is its backend still busy with
 * its second phase?
 */
extern bool local_xact_is_running(uint64 full_xid);

/* Is it running and has no backend, so that a user prepared it? */
extern bool local_xact_is_prepared(uint64 full_xid);

/* What the commit status says about it. */
extern LocalXactStatus local_xact_status(uint64 full_xid);

#endif							/* SHARD_FDW_TXN_LOCAL_XACT_H */
