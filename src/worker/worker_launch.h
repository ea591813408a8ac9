/*-------------------------------------------------------------------------
 *
 * worker_launch.h
 *	  Who starts recovery workers, and when.
 *
 * Preloaded: a launcher starts one worker for each database that may have the
 * extension when the server starts (or is promoted), and later whenever a
 * backend says that there is work, or shard_fdw.recovery_interval has passed.
 * A worker ends when it has had nothing to do for a few seconds, so that it
 * does not stand in the way of DROP DATABASE.
 *
 * Not preloaded: the first two-phase commit starts a worker for its database.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_WORKER_LAUNCH_H
#define SHARD_FDW_WORKER_WORKER_LAUNCH_H

/*
 * Called by _PG_init() after the settings are defined.  While the library is
 * being preloaded it asks for shared memory and registers the launcher.
 */
extern void worker_launch_init(void);

/*
 * Called by a backend about to prepare its first transaction: without
 * preloading, sees to it that a worker runs and stays until the transaction
 * is over.  May raise.
 */
extern void worker_launch_ensure(void);

/* Starts a worker for this database, preloaded or not, or wakes it. */
extern void worker_launch_wake_noerror(void);

/*
 * Makes this process the only worker of its database; false when there is
 * one.
 */
extern bool worker_launch_become_worker(void);

/*
 * Stops being it, unless there is work: then false.  has_work is called at a
 * time when no transaction can add to the work unseen.
 */
extern bool worker_launch_resign(bool (*has_work) (void));

#endif							/* SHARD_FDW_WORKER_WORKER_LAUNCH_H */
