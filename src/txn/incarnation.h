/*-------------------------------------------------------------------------
 *
 * incarnation.h
 *	  Which run of which copy of this coordinator has prepared a transaction,
 *	  and does it live?
 *
 * A copy of the data directory, or a standby, has the identity, the databases
 * and the xids of its original.  What tells them apart is the start of the
 * postmaster: that is the incarnation, part of every gid.
 *
 * Every session through which a transaction may be prepared on a shard holds
 * an advisory lock there, in share mode, named after its incarnation; so does
 * one of the recovery worker while anything is unsettled there.  Where another
 * incarnation's lock is held it lives, and what it has prepared is its own
 * affair (F).  Nobody ever waits for these locks.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_INCARNATION_H
#define SHARD_FDW_TXN_INCARNATION_H

#include "remote/remote_conn.h"

/* Start of this server, microseconds since 1970. */
extern uint64 incarnation_own(void);

/*
 * The statement that takes the lock in share mode, for
 * remote_conn_set_setup(), and answers with SHARD_SESSION_SQL; valid until
 * the next call.  Raises where the extension is not installed.  Where a pooler
 * leaves us no session to hold a lock it only answers.
 */
extern const char *incarnation_hold_sql(RemotePooling pooling);

/*
 * The same for the lock of any incarnation, palloc'd: for one before ours whose
 * transactions we have to see through.
 */
extern char *incarnation_adopt_sql(uint64 identity, uint64 incarnation);

/*
 * A condition on the columns of pg_locks, palloc'd: true for the locks that
 * tell which sessions on a shard are of this incarnation.
 */
extern char *incarnation_is_own_lock_sql(void);

/* ---- looking for others ---- */

/* What one shard says of the other incarnations that prepared there. */
typedef struct IncarnationFence IncarnationFence;

/* In the current context. */
extern IncarnationFence *incarnation_fence_create(uint64 identity);

/* Adds an incarnation to ask for; nothing if it is our own, or known. */
extern void incarnation_fence_add(IncarnationFence *fence, uint64 incarnation);

/*
 * Queues the question for all of them as one segment; NULL when there is
 * none.
 */
extern RemoteRequest *incarnation_fence_ask(IncarnationFence *fence,
											RemoteConn *conn);

/* Takes the answer over; the request must be DONE. */
extern void incarnation_fence_read(IncarnationFence *fence,
								   RemoteRequest *request);

/* Is it another one than ours, and not known to be dead? */
extern bool incarnation_fence_is_alive(const IncarnationFence *fence,
									   uint64 incarnation);

#endif							/* SHARD_FDW_TXN_INCARNATION_H */
