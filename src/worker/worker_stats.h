/*-------------------------------------------------------------------------
 *
 * worker_stats.h
 *	  Counters for stat_shards and stat_transactions.
 *
 * In shared memory when the library is preloaded, else for this session only.
 * Slots are given out and taken back under an LWLock, and counted in with
 * atomic operations.  When all slots are taken further servers are not
 * counted.
 *
 * worker_notify() is what the coordinator gets to know of src/worker.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_WORKER_STATS_H
#define SHARD_FDW_WORKER_WORKER_STATS_H

#include "nodes/pg_list.h"

#include "txn/coordinator.h"

typedef enum StatCounter
{
	STAT_CONNECTIONS,
	STAT_STATEMENTS,
	STAT_TRIPS,
	STAT_ROWS,
	STAT_BYTES,
	STAT_ERRORS,
	STAT_PREPARES,
	STAT_COMMITS,
	STAT_ONE_PHASE_COMMITS,
	STAT_RECOVERED,
	STAT_WAIT_US,
	STAT_NCOUNTERS
} StatCounter;

#define STAT_NMETHODS (COMMIT_METHOD_TWO_PHASE + 1)

/* Totals of one server of this database. */
typedef struct ServerStats
{
	Oid			serverid;
	uint64		counters[STAT_NCOUNTERS];
} ServerStats;

/* Totals of this database. */
typedef struct TransactionStats
{
	uint64		commits[STAT_NMETHODS];
	uint64		rollbacks[STAT_NMETHODS];
} TransactionStats;

extern Size worker_stats_shmem_size(void);
extern void worker_stats_shmem_init(void);

/* Recovery has finished some branches on the server. */
extern void worker_stats_count_recovered(Oid serverid, int nbranches);

/* The counters of a server of this database are not wanted any more. */
extern void worker_stats_forget_server(Oid serverid);

/* Those of a database; and which databases have any, a palloc'd List. */
extern void worker_stats_forget_database(Oid database);
extern List *worker_stats_list_databases(void);

/* All servers of this database that have been counted; palloc'd List. */
extern List *worker_stats_list_servers(void);
extern TransactionStats worker_stats_transactions(void);

/* For coordinator_set_notify(). */
extern const CoordinatorNotify *worker_notify(void);

#endif							/* SHARD_FDW_WORKER_WORKER_STATS_H */
