/*-------------------------------------------------------------------------
 *
 * sync_rep.h
 *	  Has the WAL reached the synchronous standbys? (invariant B)
 *
 * Core's wait for a standby can be cut short by a cancel or a restart, and
 * the commit is visible all the same.  A shard must not be told to commit on
 * the strength of a commit record that a failover could still lose.
 *
 * Reads shared memory only: does not wait, does not raise.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_SYNC_REP_H
#define SHARD_FDW_TXN_SYNC_REP_H

#include "access/xlogdefs.h"

/* A position up to which all commits seen so far are on the local disk. */
extern XLogRecPtr sync_rep_position_noerror(void);

/*
 * Have the standbys confirmed everything up to lsn, to the degree this
 * session's synchronous_commit asks for?  True where no synchronous standbys
 * are configured, and in a session that does not wait for any.
 */
extern bool sync_rep_is_confirmed_noerror(XLogRecPtr lsn);

/*
 * The same for recovery, which speaks for sessions whose setting it does not
 * know: asks for a flush on the standby at least.
 */
extern bool sync_rep_is_flushed_noerror(XLogRecPtr lsn);

#endif							/* SHARD_FDW_TXN_SYNC_REP_H */
