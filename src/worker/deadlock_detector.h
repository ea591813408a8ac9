/*-------------------------------------------------------------------------
 *
 * deadlock_detector.h
 *	  The background worker that looks for deadlocks over several shards.
 *
 * One for each database in which sessions have waited for shards for longer
 * than deadlock_timeout; it ends soon after the last of these waits.  It is a
 * process of its own so that recovery, which may have to wait for shards that
 * are out of reach, and the search for deadlocks never wait for each other.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_DETECTOR_H
#define SHARD_FDW_WORKER_DEADLOCK_DETECTOR_H

/*
 * Starts one for this database; where no worker slot is free there is none,
 * which is logged once by each session.
 */
extern void deadlock_detector_start(void);

/* Entry point of the process; arg is the oid of the database. */
extern PGDLLEXPORT void shard_fdw_deadlock_detector_main(Datum arg);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_DETECTOR_H */
