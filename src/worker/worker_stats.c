/*-------------------------------------------------------------------------
 *
 * worker_stats.c
 *	  Counters for stat_shards and stat_transactions.
 *
 * Slots are found by open addressing.  A slot's key is written once, under
 * the exclusive lock, and never changes, so counting needs the shared lock
 * only to read keys.  Counting happens after the local commit: nothing here
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
 * The slot of the server, or the free one where it belongs; NULL when all are
 * taken.  Needs the lock.
 */
static StatSlot *
probe(Oid serverid)
{
	int			nslots;
	StatSlot   *slots = get_slots(&nslots);
	uint32		start = hash_combine(murmurhash32(MyDatabaseId),
									 murmurhash32(serverid));
	int			step;

	for (step = 0; step < nslots; step++)
	{
		StatSlot   *slot = &slots[(start + step) % nslots];

		if (!OidIsValid(slot->database) ||
			(slot->database == MyDatabaseId && slot->serverid == serverid))
			return slot;
	}
	return NULL;
}

static StatSlot *
get_slot(Oid serverid)
{
	StatSlot   *slot;

	lock_slots(LW_SHARED);
	slot = probe(serverid);
	unlock_slots();
	if (slot == NULL || OidIsValid(slot->database))
		return slot;
	lock_slots(LW_EXCLUSIVE);
	slot = probe(serverid);
	if (slot && !OidIsValid(slot->database))
	{
		slot->serverid = serverid;
		slot->database = MyDatabaseId;
	}
	unlock_slots();
	return slot;
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
	StatSlot   *slot = get_slot(serverid);

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
}

static void
count_transaction_noerror(CommitMethod method, bool is_commit)
{
	StatSlot   *slot = get_slot(TRANSACTION_SLOT);

	if (slot)
		add(slot, is_commit ? COMMIT_COUNTER(method) : ROLLBACK_COUNTER(method), 1);
}

void
worker_stats_count_recovered(Oid serverid, int nbranches)
{
	StatSlot   *slot = get_slot(serverid);

	if (slot)
		add(slot, STAT_RECOVERED, nbranches);
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
	StatSlot   *slot = get_slot(TRANSACTION_SLOT);
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
