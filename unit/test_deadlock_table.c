/*-------------------------------------------------------------------------
 *
 * test_deadlock_table.c
 *	  Which slots of the deadlock detectors' tables are used again.  Prints TAP.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#undef printf

#include "worker/deadlock_table.h"

#define FIRST_DATABASE 100
#define NEW_DATABASE 1000
#define NOW (1000 * DEADLOCK_START_LIMIT_US)

static DeadlockDetectors detectors;
static DeadlockOwners owners;

static int	ntests = 0;
static int	nfailures = 0;

static void
ok(bool is_right, const char *name)
{
	ntests++;
	if (!is_right)
		nfailures++;
	printf("%sok %d - %s\n", is_right ? "" : "not ", ntests, name);
}

/* ---- detectors ---- */

static void
start(Oid database, int64 now)
{
	DeadlockDetector *detector = deadlock_detectors_enter(&detectors, database,
														  now);

	detector->started_at = now;
	detector->pid = database;
}

static void
test_detectors(void)
{
	DeadlockDetector *detector;
	int			position;

	for (position = 0; position < DEADLOCK_MAX_DETECTORS; position++)
		start(FIRST_DATABASE + position, NOW);
	ok(deadlock_detectors_enter(&detectors, NEW_DATABASE,
								2 * NOW) == NULL,
	   "the slots of detectors that are there stay theirs");
	detector = deadlock_detectors_find(&detectors, FIRST_DATABASE + 7);
	ok(!deadlock_detector_is_due(detector, 2 * NOW), "none of these is due");

	/* as a signal leaves it */
	detector->pid = 0;
	ok(!deadlock_detector_is_due(detector, NOW + 1),
	   "one that has just been started is not due");
	ok(deadlock_detectors_enter(&detectors, NEW_DATABASE, NOW + 1) == NULL,
	   "nor is its slot another's");
	ok(deadlock_detector_is_due(detector, 2 * NOW), "later it is");
	ok(deadlock_detectors_enter(&detectors, FIRST_DATABASE + 7,
								2 * NOW) == detector,
	   "and has its slot again");
	ok(deadlock_detectors_enter(&detectors, NEW_DATABASE, 2 * NOW) == detector,
	   "if no other database has got it");
	ok(detector->database == NEW_DATABASE && detector->started_at == 0 &&
	   deadlock_detector_is_due(detector, 2 * NOW),
	   "which then has to start its own");
	ok(deadlock_detectors_find(&detectors, FIRST_DATABASE + 7) == NULL,
	   "the first one has none");
}

/* ---- owners ---- */

static void
add(Oid database, Oid serverid, int remote_pid, int pid)
{
	DeadlockOwner owner = {serverid, remote_pid, database, pid};

	deadlock_owners_add(&owners, &owner);
}

static void
remove_one(Oid database, Oid serverid, int remote_pid, int pid)
{
	DeadlockOwner owner = {serverid, remote_pid, database, pid};

	deadlock_owners_remove(&owners, &owner);
}

/*
 * Process ids of those who are said to have the session.
 */
static bool
are_owners(Oid database, Oid serverid, int remote_pid, int pid, int count)
{
	int			nfound = 0;
	int			position;

	for (position = 0; position < owners.nused; position++)
	{
		const DeadlockOwner *owner = &owners.slots[position];

		if (owner->pid == 0 || owner->database != database ||
			owner->serverid != serverid || owner->remote_pid != remote_pid)
			continue;
		if (owner->pid != pid)
			return false;
		nfound++;
	}
	return nfound == count;
}

static void
test_owners(void)
{
	int			position;

	add(1, 10, 500, 71);
	add(1, 11, 500, 72);
	add(2, 10, 500, 73);
	add(1, 10, 500, 74);
	ok(are_owners(1, 10, 500, 74, 1),
	   "a process id that a shard uses again has one owner, the new one");
	ok(are_owners(1, 11, 500, 72, 1), "another server's stays");
	ok(are_owners(2, 10, 500, 73, 1), "and another database's");
	remove_one(1, 10, 500, 71);
	ok(are_owners(1, 10, 500, 74, 1),
	   "who had it before does not take it out any more");
	remove_one(1, 10, 500, 74);
	ok(are_owners(1, 10, 500, 0, 0), "who has it does");
	deadlock_owners_remove_all(&owners, 72);
	ok(are_owners(1, 11, 500, 0, 0), "a process takes out all its own");
	ok(are_owners(2, 10, 500, 73, 1), "and nobody else's");

	for (position = 0; position < 2 * DEADLOCK_MAX_OWNERS; position++)
		add(3, 10, 1000 + position, 75);
	ok(owners.nused == DEADLOCK_MAX_OWNERS, "a full table takes no more");
	deadlock_owners_remove_all(&owners, 75);
	add(3, 10, 500, 76);
	ok(are_owners(3, 10, 500, 76, 1), "until somebody has gone");
}

int
main(void)
{
	test_detectors();
	test_owners();
	printf("1..%d\n", ntests);
	return nfailures > 0;
}
