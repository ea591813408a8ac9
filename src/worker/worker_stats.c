/*-------------------------------------------------------------------------
 *
 * worker_stats.c
 *	  Counters for stat_shards and stat_transactions.
 *
 * Slots are found by open addressing.  Keys are written under the exclusive
 * lock; counting holds the shared one.  A slot that is given up keeps its
 * place in the chains that lead over it, and is used again by the next server
 * whose chain does.  Counting happens after the local commit: nothing it calls
 * allocates or raises.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "base/compat.h"
#include "worker/worker_launch.h"
#include "worker/worker_shared.h"
#include "worker/worker_stats.h"

#define SHARED_NAME "shard_fdw statistics"

#define SHARED_SLOTS 1024
#define OWN_SLOTS 64

/* counters of transactions are kept in the slot of no server */
#define TRANSACTION_SLOT InvalidOid

/* what the counters of that slot mean */
#define COMMIT_COUNTER(method) ((int) (method))
#define ROLLBACK_COUNTER(method) (STAT_NMETHODS + (int) (method))

typedef struct StatSlot
{
	Oid			database;		/* InvalidOid: free */
	Oid			serverid;
	bool		was_used;		/* a chain may lead over it */
	pg_atomic_uint64 counters[STAT_NCOUNTERS];
} StatSlot;

static struct
{
	StatSlot   *shared;			/* NULL: not preloaded */
	LWLock	   *lock;
	bool		is_own_ready;
	StatSlot	own[OWN_SLOTS];
}			state;

/* ---- set-up ---- */

Size
worker_stats_shmem_size(void)
{
	return mul_size(SHARED_SLOTS, sizeof(StatSlot));
}

static void
init_slots(StatSlot *slots, int nslots)
{
	int			slot;
	int			counter;

	for (slot = 0; slot < nslots; slot++)
	{
		slots[slot].database = InvalidOid;
		slots[slot].serverid = InvalidOid;
		slots[slot].was_used = false;
		for (counter = 0; counter < STAT_NCOUNTERS; counter++)
			pg_atomic_init_u64(&slots[slot].counters[counter], 0);
	}
}

void
worker_stats_shmem_init(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	state.shared = ShmemInitStruct(SHARED_NAME, worker_stats_shmem_size(), &found);
	if (!found)
		init_slots(state.shared, SHARED_SLOTS);
	state.lock = &GetNamedLWLockTranche("shard_fdw")[1].lock;
	LWLockRelease(AddinShmemInitLock);
}

static StatSlot *
get_slots(int *nslots)
{
	if (state.shared)
	{
		*nslots = SHARED_SLOTS;
		return state.shared;
	}
	if (!state.is_own_ready)
		init_slots(state.own, OWN_SLOTS);
	state.is_own_ready = true;
	*nslots = OWN_SLOTS;
	return state.own;
}

static void
lock_slots(LWLockMode mode)
{
	if (state.shared)
		LWLockAcquire(state.lock, mode);
}

static void
unlock_slots(void)
{
	if (state.shared)
		LWLockRelease(state.lock);
}

/* ---- counting ---- */

/*
 * The slot of the server, or the first free one of its chain; NULL when all
 * are taken.  Needs the lock.
 */
static StatSlot *
probe(Oid serverid)
{
	int			nslots;
	StatSlot   *slots = get_slots(&nslots);
	StatSlot   *free_slot = NULL;
	uint32		start = hash_combine(murmurhash32(MyDatabaseId),
									 murmurhash32(serverid));
	int			step;

	for (step = 0; step < nslots; step++)
	{
		StatSlot   *slot = &slots[(start + step) % nslots];

		if (slot->database == MyDatabaseId && slot->serverid == serverid)
			return slot;
		if (!OidIsValid(slot->database) && free_slot == NULL)
			free_slot = slot;
		if (!slot->was_used)
			break;
	}
	return free_slot;
}

/*
 * Gives the slot with the lock held in share mode; NULL, without it, when all
 * are taken.
 */
static StatSlot *
acquire_slot(Oid serverid)
{
	StatSlot   *slot;

	lock_slots(LW_SHARED);
	slot = probe(serverid);
	while (slot && !OidIsValid(slot->database))
	{
		unlock_slots();
		lock_slots(LW_EXCLUSIVE);
		slot = probe(serverid);
		if (slot && !OidIsValid(slot->database))
		{
			slot->serverid = serverid;
			slot->database = MyDatabaseId;
			slot->was_used = true;
		}
		unlock_slots();
		lock_slots(LW_SHARED);
		slot = probe(serverid);
	}
	if (slot == NULL)
		unlock_slots();
	return slot;
}

static void
release_slot(void)
{
	unlock_slots();
}

static void
add(StatSlot *slot, int counter, uint64 value)
{
	if (value != 0)
		pg_atomic_fetch_add_u64(&slot->counters[counter], (int64) value);
}

static void
count_branch_noerror(Oid serverid, const RemoteConnStats *delta,
					 bool was_prepared, bool was_committed,
					 bool was_one_phase)
{
	StatSlot   *slot = acquire_slot(serverid);

	if (slot == NULL)
		return;
	add(slot, STAT_CONNECTIONS, delta->connects);
	add(slot, STAT_STATEMENTS, delta->statements);
	add(slot, STAT_TRIPS, delta->trips);
	add(slot, STAT_ROWS, delta->rows);
	add(slot, STAT_BYTES, delta->bytes);
	add(slot, STAT_ERRORS, delta->errors);
	add(slot, STAT_WAIT_US, delta->wait_us);
	add(slot, STAT_PREPARES, was_prepared);
	add(slot, STAT_COMMITS, was_committed);
	add(slot, STAT_ONE_PHASE_COMMITS, was_one_phase);
	release_slot();
}

static void
count_transaction_noerror(CommitMethod method, bool is_commit)
{
	StatSlot   *slot = acquire_slot(TRANSACTION_SLOT);

	if (slot == NULL)
		return;
	add(slot, is_commit ? COMMIT_COUNTER(method) : ROLLBACK_COUNTER(method), 1);
	release_slot();
}

void
worker_stats_count_recovered(Oid serverid, int nbranches)
{
	StatSlot   *slot = acquire_slot(serverid);

	if (slot == NULL)
		return;
	add(slot, STAT_RECOVERED, nbranches);
	release_slot();
}

/* ---- forgetting ---- */

/*
 * InvalidOid stands for all servers of the database, and its transactions.
 */
static void
forget_slots(Oid database, Oid serverid)
{
	int			nslots;
	StatSlot   *slots = get_slots(&nslots);
	int			slot;
	int			counter;

	lock_slots(LW_EXCLUSIVE);
	for (slot = 0; slot < nslots; slot++)
	{
		if (slots[slot].database != database ||
			(OidIsValid(serverid) && slots[slot].serverid != serverid))
			continue;
		slots[slot].database = InvalidOid;
		slots[slot].serverid = InvalidOid;
		for (counter = 0; counter < STAT_NCOUNTERS; counter++)
			pg_atomic_write_u64(&slots[slot].counters[counter], 0);
	}
	unlock_slots();
}

void
worker_stats_forget_server(Oid serverid)
{
	forget_slots(MyDatabaseId, serverid);
}

void
worker_stats_forget_database(Oid database)
{
	forget_slots(database, InvalidOid);
}

List *
worker_stats_list_databases(void)
{
	int			nslots;
	StatSlot   *slots = get_slots(&nslots);
	Oid		   *oids = palloc(sizeof(Oid) * nslots);
	List	   *databases = NIL;
	int			slot;

	lock_slots(LW_SHARED);
	for (slot = 0; slot < nslots; slot++)
		oids[slot] = slots[slot].database;
	unlock_slots();
	for (slot = 0; slot < nslots; slot++)
	{
		if (OidIsValid(oids[slot]))
			databases = list_append_unique_oid(databases, oids[slot]);
	}
	pfree(oids);
	return databases;
}

/* ---- reading ---- */

List *
worker_stats_list_servers(void)
{
	List	   *servers = NIL;
	int			nslots;
	StatSlot   *slots = get_slots(&nslots);
	int			slot;
	int			counter;

	for (slot = 0; slot < nslots; slot++)
	{
		ServerStats *stats;

		if (slots[slot].database != MyDatabaseId ||
			slots[slot].serverid == TRANSACTION_SLOT)
			continue;
		stats = palloc(sizeof(ServerStats));
		stats->serverid = slots[slot].serverid;
		for (counter = 0; counter < STAT_NCOUNTERS; counter++)
			stats->counters[counter] =
				pg_atomic_read_u64(&slots[slot].counters[counter]);
		servers = lappend(servers, stats);
	}
	return servers;
}

TransactionStats
worker_stats_transactions(void)
{
	StatSlot   *slot = acquire_slot(TRANSACTION_SLOT);
	TransactionStats stats;
	int			method;

	memset(&stats, 0, sizeof(stats));
	for (method = 0; slot && method < STAT_NMETHODS; method++)
	{
		stats.commits[method] =
			pg_atomic_read_u64(&slot->counters[COMMIT_COUNTER(method)]);
		stats.rollbacks[method] =
			pg_atomic_read_u64(&slot->counters[ROLLBACK_COUNTER(method)]);
	}
	if (slot)
		release_slot();
	return stats;
}

/* ---- what the coordinator gets ---- */

const CoordinatorNotify *
worker_notify(void)
{
	static const CoordinatorNotify notify = {
		.ensure_worker = worker_launch_ensure,
		.settled_noerror = worker_shared_push_settled_noerror,
		.wake_noerror = worker_launch_wake_noerror,
		.count_branch_noerror = count_branch_noerror,
		.count_transaction_noerror = count_transaction_noerror
	};

	return &notify;
}
