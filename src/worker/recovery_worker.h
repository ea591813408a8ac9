/*-------------------------------------------------------------------------
 *
 * recovery_worker.h
 *	  The background worker that settles what is in doubt in one database.
 *
 * It decides when a recovery pass is made and over which servers; what a pass
 * does is told in txn/recovery.h.  An ERROR ends the process, and whoever
 * started it starts it again.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_RECOVERY_WORKER_H
#define SHARD_FDW_WORKER_RECOVERY_WORKER_H

/* Entry point of the process; arg is the oid of the database. */
extern PGDLLEXPORT void shard_fdw_worker_main(Datum arg);

#endif							/* SHARD_FDW_WORKER_RECOVERY_WORKER_H */
