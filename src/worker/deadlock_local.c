/*-------------------------------------------------------------------------
 *
 * deadlock_local.c
 *	  Adds what sessions wait for on the coordinator itself.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"

#include "base/compat.h"
#include "worker/deadlock_local.h"
#include "worker/deadlock_shared.h"

/* Is it one of those that wait for a shard, by its own process id? */
static bool
has_entered(List *waits, int pid)
{
	ListCell   *cell;

	foreach(cell, waits)
	{
		if (((const DeadlockWait *) lfirst(cell))->pid == pid)
			return true;
	}
	return false;
}

/*
 * Who here has that session on a shard; 0 if that is not known.
 */
static int
find_owner(List *owners, const DeadlockSight *sight, int cluster, int remote_pid)
{
	ListCell   *cell;

	foreach(cell, owners)
	{
		const DeadlockOwner *owner = lfirst(cell);
		int			its_cluster;

		if (owner->remote_pid == remote_pid &&
			deadlock_sight_find(sight, owner->serverid, &its_cluster) &&
			its_cluster == cluster)
			return owner->pid;
	}
	return 0;
}

/*
 * Process ids, here, of sessions that keep others waiting on shards and do not
 * wait for one themselves.
 */
static List *
find_silent(List *waits, List *owners, const DeadlockSight *sight)
{
	List	   *silent = NIL;
	ListCell   *cell;

	foreach(cell, sight->lock_waits)
	{
		const DeadlockLockWait *lock_wait = lfirst(cell);
		int			pid;

		if (!lock_wait->is_blocker_ours || !lock_wait->has_blocker_xid)
			continue;
		pid = find_owner(owners, sight, lock_wait->cluster, lock_wait->blocker);
		if (pid != 0 && !has_entered(waits, pid))
			silent = list_append_unique_int(silent, pid);
	}
	return silent;
}

/*
 * What the process waits for, NULL if for no lock.
 */
static const LockInstanceData *
find_awaited(const LockData *locks, int pid)
{
	int			position;

	for (position = 0; position < locks->nelements; position++)
	{
		const LockInstanceData *lock = &locks->locks[position];

		if (lock->pid == pid && lock->waitLockMode != NoLock &&
			lock->waitStart != 0)
			return lock;
	}
	return NULL;
}

static char *
describe(const LockInstanceData *lock)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s on ",
					 GetLockmodeName(lock->locktag.locktag_lockmethodid,
									 lock->waitLockMode));
	DescribeLockTag(&text, &lock->locktag);
	return text.data;
}

/*
 * Adds the process's wait for a lock; returns who is in the way.
 */
static List *
add_lock_wait(DeadlockSight *sight, const LockInstanceData *lock)
{
	Datum		pids = DirectFunctionCall1(pg_blocking_pids,
										   Int32GetDatum(lock->pid));
	ArrayType  *array = DatumGetArrayTypeP(pids);
	int			nblockers = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const int32 *blockers = (const int32 *) ARR_DATA_PTR(array);
	List	   *list = NIL;
	int			position;

	for (position = 0; position < nblockers; position++)
	{
		DeadlockLockWait *lock_wait;

		if (blockers[position] == 0)
			continue;			/* a prepared transaction */
		lock_wait = palloc0(sizeof(DeadlockLockWait));
		lock_wait->cluster = DEADLOCK_HERE;
		lock_wait->pid = lock->pid;
		lock_wait->is_ours = true;
		lock_wait->blocker = blockers[position];
		lock_wait->is_blocker_ours = true;
		lock_wait->since = lock->waitStart;
		lock_wait->lock = describe(lock);
		sight->lock_waits = lappend(sight->lock_waits, lock_wait);
		list = lappend_int(list, blockers[position]);
	}
	return list;
}

/*
 * Does that session on a shard keep others waiting for what it has written?
 */
static bool
is_in_the_way(const DeadlockSight *sight, const DeadlockOwner *owner)
{
	int			cluster;
	ListCell   *cell;

	if (!deadlock_sight_find(sight, owner->serverid, &cluster))
		return false;
	foreach(cell, sight->lock_waits)
	{
		const DeadlockLockWait *lock_wait = lfirst(cell);

		if (lock_wait->cluster == cluster &&
			lock_wait->blocker == owner->remote_pid &&
			lock_wait->is_blocker_ours && lock_wait->has_blocker_xid)
			return true;
	}
	return false;
}

/*
 * The session as one that waits here.
 */
static DeadlockWait *
make_wait(List *owners, int pid, const DeadlockSight *sight)
{
	DeadlockWait *wait = palloc0(sizeof(DeadlockWait));
	ListCell   *cell;

	wait->pid = pid;
	foreach(cell, owners)
	{
		const DeadlockOwner *owner = lfirst(cell);

		if (owner->pid != pid || wait->nconns == DEADLOCK_MAX_CONNS ||
			!is_in_the_way(sight, owner))
			continue;
		wait->conns[wait->nconns].serverid = owner->serverid;
		wait->conns[wait->nconns].pid = owner->remote_pid;
		wait->conns[wait->nconns].is_kept = true;
		wait->nconns++;
	}
	return wait;
}

List *
deadlock_add_local(List *waits, DeadlockSight *sight)
{
	List	   *owners = deadlock_shared_list_owners();
	List	   *pids = find_silent(waits, owners, sight);
	LockData   *locks;
	int			position;

	if (pids == NIL)
		return waits;
	locks = GetLockStatusData();
	for (position = 0; position < list_length(pids); position++)
	{
		int			pid = list_nth_int(pids, position);
		const LockInstanceData *lock = find_awaited(locks, pid);
		ListCell   *cell;

		/* those that wait for shards are known, others do not wait at all */
		if (lock == NULL || has_entered(waits, pid))
			continue;
		foreach(cell, add_lock_wait(sight, lock))
			pids = list_append_unique_int(pids, lfirst_int(cell));
		waits = lappend(waits, make_wait(owners, pid, sight));
	}
	return waits;
}
