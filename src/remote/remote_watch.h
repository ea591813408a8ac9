/*-------------------------------------------------------------------------
 *
 * remote_watch.h
 *	  Tells somebody which sessions we have on shards, and which waits for them
 *	  have become long.
 *
 * A wait of a statement that has lasted for deadlock_timeout is told, together
 * with the connections it is for, and told again whenever the process wakes
 * up in it, at least every second.  Waits that are part of cancelling, of the
 * last steps of a commit and of recovery are not: they have limits of their
 * own, or must not raise.
 *
 * Who is told is set once by whoever starts the process, so that this layer
 * need not know the worker.  Where nobody is set waits cost what they did.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_WATCH_H
#define SHARD_FDW_REMOTE_REMOTE_WATCH_H

#include "remote/remote_request.h"

typedef struct RemoteWatch
{
	/*
	 * The process waits for all of these connections, some of which may be on
	 * their way up; or, if needs_any, for an answer on any one of them.  May
	 * raise, which ends the wait as an interrupt does.
	 */
	void		(*waits) (RemoteConn **conns, int nconns, bool needs_any);

	/* The wait that was told is over. */
	void		(*waits_no_more_noerror) (void);

	/*
	 * A connection has come up, or is about to be closed.  Between the two
	 * remote_conn_backend_pid() stays the same.
	 */
	void		(*opened_noerror) (const RemoteConn *conn);
	void		(*closes_noerror) (const RemoteConn *conn);
} RemoteWatch;

extern void remote_watch_set(const RemoteWatch *watch);

/*
 * What was told, if anything was, is over.  To be called where an error may
 * have ended a wait: at the end of transactions and subtransactions.
 */
extern void remote_watch_end_noerror(void);

#endif							/* SHARD_FDW_REMOTE_REMOTE_WATCH_H */
