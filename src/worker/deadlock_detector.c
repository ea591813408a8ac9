/*-------------------------------------------------------------------------
 *
 * deadlock_detector.c
 *	  The background worker that looks for deadlocks over several shards.
 *
 * It looks whenever a wait has become long, since only that can complete a
 * deadlock that is made of our sessions; and now and then, since other
 * sessions of the shards do not tell us when they begin to wait.
 *
 * What was asked of several shards was not there at one moment.  So a deadlock
 * is believed only when it is seen a second time with the same waits, each of
 * which has lasted all the time: then there was a moment, between the two
 * looks, in which all of them were there, and a cycle of waits does not go
 * away by itself.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/compat.h"
#include "base/compat_worker.h"
#include "worker/deadlock_detector.h"
#include "worker/deadlock_local.h"
#include "worker/deadlock_probe.h"
#include "worker/deadlock_search.h"
#include "worker/deadlock_shared.h"
#include "worker/worker_process.h"

#define LIBRARY_NAME "shard_fdw"
#define PROCESS_NAME "shard_fdw deadlock detector"

/* shortest time between looks that nobody asked for */
#define MIN_INTERVAL_MS 1000

/* how long it stays when nobody waits */
#define LINGER_MS 1000

/* ---- starting it ---- */

void
deadlock_detector_start(void)
{
	static bool has_warned = false;
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	snprintf(worker.bgw_name, BGW_MAXLEN, PROCESS_NAME " for database %u",
			 MyDatabaseId);
	snprintf(worker.bgw_type, BGW_MAXLEN, PROCESS_NAME);
	snprintf(worker.bgw_library_name, sizeof(worker.bgw_library_name), LIBRARY_NAME);
	snprintf(worker.bgw_function_name, BGW_MAXLEN,
			 "shard_fdw_deadlock_detector_main");
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION | COMPAT_BGWORKER_INTERRUPTIBLE;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	if (RegisterDynamicBackgroundWorker(&worker, NULL) || has_warned)
		return;
	has_warned = true;
	ereport(LOG,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("could not start a shard_fdw deadlock detector: no slot is free"),
			 errhint("Increase max_worker_processes.")));
}

/* ---- looking ---- */

static void
look(List *waits)
{
	DeadlockSight *sight = deadlock_probe(waits);
	DeadlockSight *again;
	int			ndeadlocks;

	if (!deadlock_search_has_any(deadlock_add_local(waits, sight), sight))
		return;
	waits = deadlock_search_old_waits(deadlock_shared_list(), waits);
	again = deadlock_probe(waits);
	waits = deadlock_add_local(waits, again);
	deadlock_search_keep_old(again, sight);
	ndeadlocks = deadlock_search_end_all(waits, again);
	ereport(DEBUG1,
			(errmsg_internal("ended %d deadlocks", ndeadlocks)));
}

/* ---- the process ---- */

static void
start_up(Oid database)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);

	/* settings of the database or of the superuser must not get in the way */
	SetConfigOption("application_name", PROCESS_NAME, PGC_USERSET,
					PGC_S_OVERRIDE);
	SetConfigOption("statement_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("lock_timeout", "5s", PGC_SUSET, PGC_S_OVERRIDE);
	if (!deadlock_shared_is_available() || !deadlock_shared_attach())
		proc_exit(0);
}

static uint32
main_wait_event(void)
{
	static uint32 event = 0;

	if (event == 0)
		event = compat_wait_event("ShardFdwDeadlockMain");
	return event;
}

/*
 * Sleeps, unless there was a request while nobody listened: waiting for shards
 * may have taken its signal.
 */
static void
sleep_until_asked(long sleep_ms)
{
	if (deadlock_shared_take_request())
		return;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 sleep_ms, main_wait_event());
	ResetLatch(MyLatch);
}

void
shard_fdw_deadlock_detector_main(Datum arg)
{
	MemoryContext context;
	TimestampTz idle_since;

	start_up(DatumGetObjectId(arg));
	context = AllocSetContextCreate(TopMemoryContext, PROCESS_NAME,
									ALLOCSET_DEFAULT_SIZES);
	idle_since = GetCurrentTimestamp();
	for (;;)
	{
		List	   *waits;

		worker_take_interrupts();
		MemoryContextReset(context);
		MemoryContextSwitchTo(context);
		(void) deadlock_shared_take_request();
		waits = deadlock_shared_list();
		if (waits != NIL)
		{
			look(waits);
			idle_since = GetCurrentTimestamp();
		}
		else if (TimestampDifferenceExceeds(idle_since, GetCurrentTimestamp(),
											LINGER_MS) &&
				 deadlock_shared_detach_if_idle())
			proc_exit(0);
		sleep_until_asked(waits ? Max(DeadlockTimeout, MIN_INTERVAL_MS) : LINGER_MS);
	}
}
