/*-------------------------------------------------------------------------
 *
 * notify_watch.h
 *	  Has the current transaction notifications to send when it commits?
 *
 * They go into PostgreSQL's queue between the pre-commit callbacks and the
 * commit record, which takes a lock that others hold while they commit, and
 * the queue may be full.  So such a commit may still fail, and a shard must
 * not have committed before it.
 *
 * NOTIFY is told by the utility hook, pg_notify() is noticed when a statement
 * that calls it starts.  C code that calls Async_Notify() directly is not
 * noticed; contrib's does so in triggers of local tables, whose writes make
 * the commit a two-phase one anyway.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_NOTIFY_WATCH_H
#define SHARD_FDW_TXN_NOTIFY_WATCH_H

/* NOTIFY is about to be executed. */
extern void notify_watch_note(void);

/* May also be true when the notifications were rolled back to a savepoint. */
extern bool notify_watch_is_pending(void);

extern void notify_watch_init(void);

#endif							/* SHARD_FDW_TXN_NOTIFY_WATCH_H */
