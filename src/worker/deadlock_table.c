/*-------------------------------------------------------------------------
 *
 * deadlock_table.c
 *	  The tables of detectors and of owners that deadlock_shared.c keeps in
 *	  shared memory.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "worker/deadlock_table.h"

/* ---- detectors ---- */

DeadlockDetector *
deadlock_detectors_find(DeadlockDetectors *detectors, Oid database)
{
	int			slot;

	for (slot = 0; slot < DEADLOCK_MAX_DETECTORS; slot++)
	{
		if (detectors->slots[slot].database == database)
			return &detectors->slots[slot];
	}
	return NULL;
}

bool
deadlock_detector_is_due(const DeadlockDetector *detector, int64 now)
{
	return detector->pid == 0 &&
		now - detector->started_at > DEADLOCK_START_LIMIT_US;
}

/*
 * What such a slot says is no more than an empty one does: whoever waits in
 * its database starts another detector.
 */
static DeadlockDetector *
find_due(DeadlockDetectors *detectors, int64 now)
{
	int			slot;

	for (slot = 0; slot < DEADLOCK_MAX_DETECTORS; slot++)
	{
		if (deadlock_detector_is_due(&detectors->slots[slot], now))
			return &detectors->slots[slot];
	}
	return NULL;
}

DeadlockDetector *
deadlock_detectors_enter(DeadlockDetectors *detectors, Oid database, int64 now)
{
	DeadlockDetector *detector = deadlock_detectors_find(detectors, database);

	if (detector)
		return detector;
	detector = deadlock_detectors_find(detectors, InvalidOid);
	if (detector == NULL)
		detector = find_due(detectors, now);
	if (detector)
	{
		memset(detector, 0, sizeof(DeadlockDetector));
		detector->database = database;
	}
	return detector;
}

/* ---- owners ---- */

static bool
is_same_session(const DeadlockOwner *owner, const DeadlockOwner *other)
{
	return owner->remote_pid == other->remote_pid &&
		owner->serverid == other->serverid && owner->database == other->database;
}

void
deadlock_owners_add(DeadlockOwners *owners, const DeadlockOwner *owner)
{
	DeadlockOwner *unused = NULL;
	int			position;

	for (position = 0; position < owners->nused; position++)
	{
		DeadlockOwner *slot = &owners->slots[position];

		if (is_same_session(slot, owner))
			slot->pid = 0;
		if (slot->pid == 0 && unused == NULL)
			unused = slot;
	}
	if (unused == NULL && owners->nused < DEADLOCK_MAX_OWNERS)
		unused = &owners->slots[owners->nused++];
	if (unused)
		*unused = *owner;
}

void
deadlock_owners_remove(DeadlockOwners *owners, const DeadlockOwner *owner)
{
	int			position;

	for (position = 0; position < owners->nused; position++)
	{
		DeadlockOwner *slot = &owners->slots[position];

		if (slot->pid == owner->pid && is_same_session(slot, owner))
			slot->pid = 0;
	}
}

void
deadlock_owners_remove_all(DeadlockOwners *owners, int pid)
{
	int			position;

	for (position = 0; position < owners->nused; position++)
	{
		if (owners->slots[position].pid == pid)
			owners->slots[position].pid = 0;
	}
}
