/*-------------------------------------------------------------------------
 *
 * deadlock_shared.c
 *	  What sessions, above all those that wait long for shards, and the deadlock
 *	  detectors tell each other in shared memory.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "worker/deadlock_shared.h"

#define SHARED_NAME "shard_fdw deadlocks"

#define MAX_WAITS 256

typedef struct WaitSlot
{
	DeadlockWait wait;
	Latch	   *latch;			/* of its process */
	bool		is_victim;
	DeadlockVerdict verdict;	/* where it is */
} WaitSlot;

typedef struct DeadlockShared
{
	uint64		last_token;
	DeadlockDetectors detectors;
	WaitSlot	waits[MAX_WAITS];
	DeadlockOwners owners;
} DeadlockShared;

static struct
{
	DeadlockShared *shared;		/* NULL: not preloaded */
	LWLock	   *lock;
	WaitSlot   *own;			/* the wait of this process, NULL: none */
	bool		leaves_at_exit;
}			state;

Size
deadlock_shared_size(void)
{
	return sizeof(DeadlockShared);
}

void
deadlock_shared_init(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	state.shared = ShmemInitStruct(SHARED_NAME, sizeof(DeadlockShared), &found);
	if (!found)
		memset(state.shared, 0, sizeof(DeadlockShared));
	state.lock = &GetNamedLWLockTranche("shard_fdw")[2].lock;
	LWLockRelease(AddinShmemInitLock);
}

bool
deadlock_shared_is_available(void)
{
	return state.shared != NULL;
}

/* ---- with the lock held ---- */

static DeadlockDetector *
find_detector(void)
{
	return deadlock_detectors_find(&state.shared->detectors, MyDatabaseId);
}

static WaitSlot *
find_wait(uint64 token)
{
	int			slot;

	for (slot = 0; slot < MAX_WAITS; slot++)
	{
		if (state.shared->waits[slot].wait.token == token)
			return &state.shared->waits[slot];
	}
	return NULL;
}

static int
count_waits(Oid database)
{
	int			count = 0;
	int			slot;

	for (slot = 0; slot < MAX_WAITS; slot++)
	{
		const DeadlockWait *wait = &state.shared->waits[slot].wait;

		count += wait->token != 0 && wait->database == database;
	}
	return count;
}

/* ---- for sessions ---- */

static void
leave_at_exit(int code, Datum arg)
{
	deadlock_shared_leave_noerror();
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	deadlock_owners_remove_all(&state.shared->owners, MyProcPid);
	LWLockRelease(state.lock);
}

static void
leave_when_exiting(void)
{
	if (!state.leaves_at_exit)
		before_shmem_exit(leave_at_exit, (Datum) 0);
	state.leaves_at_exit = true;
}

void
deadlock_shared_add_owned_noerror(Oid serverid, int remote_pid)
{
	DeadlockOwner owner = {serverid, remote_pid, MyDatabaseId, MyProcPid};

	leave_when_exiting();
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	deadlock_owners_add(&state.shared->owners, &owner);
	LWLockRelease(state.lock);
}

void
deadlock_shared_remove_owned_noerror(Oid serverid, int remote_pid)
{
	DeadlockOwner owner = {serverid, remote_pid, MyDatabaseId, MyProcPid};

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	deadlock_owners_remove(&state.shared->owners, &owner);
	LWLockRelease(state.lock);
}

bool
deadlock_shared_enter(const DeadlockWait *wait)
{
	DeadlockDetector *detector;

	leave_when_exiting();
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	if (state.own == NULL)
		state.own = find_wait(0);
	if (state.own)
	{
		state.own->wait = *wait;
		state.own->wait.token = ++state.shared->last_token;
		state.own->wait.database = MyDatabaseId;
		state.own->wait.pid = MyProcPid;
		state.own->latch = MyLatch;
		state.own->is_victim = false;
		detector = find_detector();
		if (detector)
			detector->has_request = true;
		if (detector && detector->pid != 0)
			SetLatch(detector->latch);
	}
	LWLockRelease(state.lock);
	return state.own != NULL;
}

void
deadlock_shared_leave_noerror(void)
{
	if (state.own == NULL)
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	state.own->wait.token = 0;
	LWLockRelease(state.lock);
	state.own = NULL;
}

bool
deadlock_shared_is_victim(DeadlockVerdict *verdict)
{
	bool		is_victim;

	if (state.own == NULL)
		return false;
	LWLockAcquire(state.lock, LW_SHARED);
	is_victim = state.own->is_victim;
	if (is_victim)
		*verdict = state.own->verdict;
	LWLockRelease(state.lock);
	return is_victim;
}

static void
report_full(void)
{
	static bool has_reported = false;

	if (!has_reported)
		ereport(LOG,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("could not start a shard_fdw deadlock detector: %d databases have one",
						DEADLOCK_MAX_DETECTORS)));
	has_reported = true;
}

bool
deadlock_shared_needs_detector(void)
{
	TimestampTz now = GetCurrentTimestamp();
	DeadlockDetector *detector;
	bool		is_needed;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	detector = deadlock_detectors_enter(&state.shared->detectors, MyDatabaseId,
										now);
	is_needed = detector && deadlock_detector_is_due(detector, now);
	if (is_needed)
		detector->started_at = now;
	LWLockRelease(state.lock);
	if (detector == NULL)
		report_full();
	return is_needed;
}

/* ---- for detectors ---- */

static void
detach_at_exit(int code, Datum arg)
{
	DeadlockDetector *detector;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	detector = find_detector();
	if (detector && detector->pid == MyProcPid)
	{
		/* started_at stays: one that fails is not started again at once */
		detector->pid = 0;
		detector->latch = NULL;
	}
	LWLockRelease(state.lock);
}

bool
deadlock_shared_attach(void)
{
	DeadlockDetector *detector;
	bool		is_attached = false;

	before_shmem_exit(detach_at_exit, (Datum) 0);
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	detector = deadlock_detectors_enter(&state.shared->detectors, MyDatabaseId,
										GetCurrentTimestamp());
	if (detector && detector->pid == 0)
	{
		detector->pid = MyProcPid;
		detector->latch = MyLatch;
		is_attached = true;
	}
	LWLockRelease(state.lock);
	return is_attached;
}

bool
deadlock_shared_detach_if_idle(void)
{
	bool		is_idle;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	is_idle = count_waits(MyDatabaseId) == 0;
	if (is_idle)
		memset(find_detector(), 0, sizeof(DeadlockDetector));
	LWLockRelease(state.lock);
	return is_idle;
}

bool
deadlock_shared_take_request(void)
{
	DeadlockDetector *detector;
	bool		had_request;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	detector = find_detector();
	had_request = detector->has_request;
	detector->has_request = false;
	LWLockRelease(state.lock);
	return had_request;
}

List *
deadlock_shared_list(void)
{
	DeadlockWait *copies;
	List	   *list = NIL;
	int			max_copies;
	int			ncopies = 0;
	int			position;

	LWLockAcquire(state.lock, LW_SHARED);
	max_copies = count_waits(MyDatabaseId);
	LWLockRelease(state.lock);
	if (max_copies == 0)
		return NIL;

	/*
	 * nothing is allocated with the lock held; newcomers are for the next
	 * time
	 */
	copies = palloc(sizeof(DeadlockWait) * max_copies);
	LWLockAcquire(state.lock, LW_SHARED);
	for (position = 0; position < MAX_WAITS && ncopies < max_copies; position++)
	{
		const DeadlockWait *wait = &state.shared->waits[position].wait;

		if (wait->token != 0 && wait->database == MyDatabaseId)
			copies[ncopies++] = *wait;
	}
	LWLockRelease(state.lock);
	for (position = 0; position < ncopies; position++)
		list = lappend(list, &copies[position]);
	return list;
}

List *
deadlock_shared_list_owners(void)
{
	DeadlockOwner *copies = palloc(sizeof(DeadlockOwner) * DEADLOCK_MAX_OWNERS);
	List	   *list = NIL;
	int			ncopies = 0;
	int			position;

	LWLockAcquire(state.lock, LW_SHARED);
	for (position = 0; position < state.shared->owners.nused; position++)
	{
		const DeadlockOwner *owner = &state.shared->owners.slots[position];

		if (owner->pid != 0 && owner->database == MyDatabaseId)
			copies[ncopies++] = *owner;
	}
	LWLockRelease(state.lock);
	for (position = 0; position < ncopies; position++)
		list = lappend(list, &copies[position]);
	return list;
}

bool
deadlock_shared_condemn(uint64 token, const DeadlockVerdict *verdict)
{
	WaitSlot   *slot;
	bool		is_new;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	slot = find_wait(token);
	is_new = slot != NULL && !slot->is_victim;
	if (is_new)
	{
		slot->verdict = *verdict;
		slot->is_victim = true;
		SetLatch(slot->latch);
	}
	LWLockRelease(state.lock);
	return is_new;
}
