/*-------------------------------------------------------------------------
 *
 * worker_launch.c
 *	  Who starts recovery workers, and when.
 *
 * Without shared memory two heavyweight locks of the database stand in for
 * it.  The worker lock is held by the worker for its whole life.  The activity
 * lock is held in share mode by every transaction that commits in two phases,
 * from before it looks for a worker until its end; a worker that wants to end
 * takes it exclusively, without waiting, looks into the log once more, and
 * keeps both to its end.  So a transaction either finds a worker that cannot
 * end before it, or waits until it has ended and starts another.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/procsignal.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/compat.h"
#include "base/compat_worker.h"
#include "base/settings.h"
#include "worker/deadlock_shared.h"
#include "worker/deadlock_wait.h"
#include "worker/worker_launch.h"
#include "worker/worker_shared.h"
#include "worker/worker_stats.h"

#define LIBRARY_NAME "shard_fdw"

/* workers that look into databases for the first time, at once */
#define MAX_PROBES 8

/* how often to look for what is kept of dropped databases */
#define SWEEP_MS 10000

/* longest sleep of the launcher, and pause after a worker that failed */
#define MAX_SLEEP_MS 10000
#define MAX_PAUSE_MS 30000

/* locks of our own among the advisory ones, which use 1 and 2 */
#define LOCK_SPACE 3
#define LOCK_WORKER 1
#define LOCK_ACTIVITY 2

PGDLLEXPORT void shard_fdw_launcher_main(Datum arg);

/* What the launcher knows of each slot of worker_shared.h. */
typedef struct LaunchSlot
{
	Oid			database;
	BackgroundWorkerHandle *handle; /* NULL: none started, or it has ended */
	TimestampTz next_launch;	/* not before */
	int			failures;		/* in a row */
} LaunchSlot;

static struct
{
	shmem_request_hook_type previous_request;
	shmem_startup_hook_type previous_startup;
	LaunchSlot	slots[WORKER_MAX_DATABASES];	/* in the launcher */
	List	   *probes;			/* oids of databases to be looked at */
	TimestampTz next_sweep;		/* for what is kept of dropped databases */
	bool		has_warned;		/* of missing worker slots */
}			state;

/* ---- set-up ---- */

static void
request_shared_memory(void)
{
	if (state.previous_request)
		state.previous_request();
	RequestAddinShmemSpace(MAXALIGN(worker_shared_size()));
	RequestAddinShmemSpace(MAXALIGN(worker_stats_shmem_size()));
	RequestAddinShmemSpace(MAXALIGN(deadlock_shared_size()));
	RequestNamedLWLockTranche("shard_fdw", 3);
}

static void
init_shared_memory(void)
{
	if (state.previous_startup)
		state.previous_startup();
	worker_shared_init();
	worker_stats_shmem_init();
	deadlock_shared_init();
}

static void
register_launcher(void)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	snprintf(worker.bgw_name, BGW_MAXLEN, "shard_fdw launcher");
	snprintf(worker.bgw_type, BGW_MAXLEN, "shard_fdw launcher");
	snprintf(worker.bgw_library_name, sizeof(worker.bgw_library_name), LIBRARY_NAME);
	snprintf(worker.bgw_function_name, BGW_MAXLEN, "shard_fdw_launcher_main");
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	/* never on a standby; at once after its promotion */
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	RegisterBackgroundWorker(&worker);
}

void
worker_launch_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	state.previous_request = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	state.previous_startup = shmem_startup_hook;
	shmem_startup_hook = init_shared_memory;
	deadlock_wait_init();

	/* nothing may write while pg_upgrade reads or restores the cluster */
	if (!IsBinaryUpgrade)
		register_launcher();
}

/* ---- starting a worker ---- */

static bool
start_worker(Oid database, pid_t notify_pid, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	snprintf(worker.bgw_name, BGW_MAXLEN,
			 "shard_fdw recovery worker for database %u", database);
	snprintf(worker.bgw_type, BGW_MAXLEN, "shard_fdw recovery worker");
	snprintf(worker.bgw_library_name, sizeof(worker.bgw_library_name), LIBRARY_NAME);
	snprintf(worker.bgw_function_name, BGW_MAXLEN, "shard_fdw_worker_main");
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION | COMPAT_BGWORKER_INTERRUPTIBLE;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;

	/* where there is a launcher, it is the one to start it again */
	worker.bgw_restart_time = worker_shared_is_available() ?
		BGW_NEVER_RESTART : 5;
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = notify_pid;
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

/* ---- without shared memory ---- */

static LOCKTAG
lock_tag(int lock)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, lock, LOCK_SPACE);
	return tag;
}

static bool
is_worker_running(void)
{
	LOCKTAG		tag = lock_tag(LOCK_WORKER);

	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return false;
}

static void
warn_no_slot(int elevel)
{
	ereport(elevel,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("could not start a shard_fdw recovery worker: no slot is free"),
			 errhint("Increase max_worker_processes, or call shard_fdw.resolve() now and then.")));
}

void
worker_launch_ensure(void)
{
	LOCKTAG		tag;

	if (worker_shared_is_available())
		return;
	tag = lock_tag(LOCK_ACTIVITY);
	LockAcquire(&tag, ShareLock, false, false);
	if (is_worker_running() || start_worker(MyDatabaseId, 0, NULL))
		return;
	if (!state.has_warned)
		warn_no_slot(WARNING);
	state.has_warned = true;
}

void
worker_launch_wake_noerror(void)
{
	/*
	 * A worker that runs without shared memory looks every second; if it has
	 * ended after all, this one takes its place, else it ends at once.
	 */
	if (worker_shared_is_available())
		worker_shared_request_pass_noerror();
	else
		start_worker(MyDatabaseId, 0, NULL);
}

bool
worker_launch_become_worker(void)
{
	LOCKTAG		tag = lock_tag(LOCK_WORKER);

	return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL &&
		worker_shared_attach();
}

/*
 * Needs a transaction, for has_work.
 */
static bool
resign_by_locks(bool (*has_work) (void))
{
	LOCKTAG		activity_tag = lock_tag(LOCK_ACTIVITY);

	if (LockAcquire(&activity_tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	if (!has_work())
		return true;			/* both locks go with the process */
	LockRelease(&activity_tag, ExclusiveLock, true);
	return false;
}

bool
worker_launch_resign(bool (*has_work) (void))
{
	if (worker_shared_is_available())
		return !has_work() && worker_shared_detach_if_idle();
	return resign_by_locks(has_work);
}

/* ---- the launcher ---- */

/*
 * Oids of all databases that can be connected to.
 */
static List *
list_databases(MemoryContext context)
{
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;
	List	   *databases = NIL;

	StartTransactionCommand();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old_context = MemoryContextSwitchTo(context);

		if (database->datallowconn && !database->datistemplate)
			databases = lappend_oid(databases, database->oid);
		MemoryContextSwitchTo(old_context);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	return databases;
}

static bool
is_database_connectable(Oid database)
{
	HeapTuple	tuple;
	bool		is_connectable = false;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	if (HeapTupleIsValid(tuple))
	{
		is_connectable = ((Form_pg_database) GETSTRUCT(tuple))->datallowconn;
		ReleaseSysCache(tuple);
	}
	CommitTransactionCommand();
	return is_connectable;
}

/*
 * Gives up what shared memory has of databases that are gone.  They are listed
 * before they are looked for, so that a new one is not among them.
 */
static void
sweep(void)
{
	List	   *databases;
	ListCell   *cell;

	StartTransactionCommand();
	databases = list_concat_unique_oid(worker_shared_list_databases(),
									   worker_stats_list_databases());
	foreach(cell, databases)
	{
		if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(lfirst_oid(cell))))
			continue;
		worker_shared_forget_database(lfirst_oid(cell));
		worker_stats_forget_database(lfirst_oid(cell));
	}
	CommitTransactionCommand();
}

/*
 * Has the slot's last worker ended?  After one that has left work the next has
 * to wait, longer each time as long as none gets through a pass.
 */
static void
check_worker(LaunchSlot *slot, const WorkerDatabase *database)
{
	pid_t		pid;

	if (slot->database != database->database)
	{
		if (slot->handle)
			pfree(slot->handle);
		memset(slot, 0, sizeof(LaunchSlot));
		slot->database = database->database;
	}
	if (slot->handle == NULL ||
		GetBackgroundWorkerPid(slot->handle, &pid) != BGWH_STOPPED)
		return;
	pfree(slot->handle);
	slot->handle = NULL;
	if (database->has_passed)
		slot->failures = 0;
	if (database->wants_pass)
	{
		int			pause = Min(MAX_PAUSE_MS, 1000 << Min(slot->failures, 5));

		slot->failures++;
		slot->next_launch = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														pause);
	}
	else
		slot->failures = 0;
}

static bool
is_launch_due(const LaunchSlot *slot, const WorkerDatabase *database,
			  TimestampTz now)
{
	if (!OidIsValid(database->database) || database->pid != 0 ||
		slot->handle != NULL || now < slot->next_launch ||
		now < database->not_before)
		return false;
	return database->wants_pass || database->has_settled ||
		(database->next_pass != 0 && now >= database->next_pass);
}

static void
launch(LaunchSlot *slot, TimestampTz now)
{
	MemoryContext old_context;

	if (!is_database_connectable(slot->database))
	{
		worker_shared_forget_database(slot->database);
		return;
	}
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	if (!start_worker(slot->database, MyProcPid, &slot->handle))
	{
		slot->handle = NULL;
		slot->next_launch = TimestampTzPlusMilliseconds(now, 1000);
		if (!state.has_warned)
			warn_no_slot(LOG);
		state.has_warned = true;
	}
	else
		state.has_warned = false;
	MemoryContextSwitchTo(old_context);
}

static int
count_running(void)
{
	int			nrunning = 0;
	int			slot;

	for (slot = 0; slot < WORKER_MAX_DATABASES; slot++)
		nrunning += state.slots[slot].handle != NULL;
	return nrunning;
}

/*
 * Enters databases not looked at yet, a few at a time.
 */
static void
enter_probes(void)
{
	int			room = MAX_PROBES - count_running();

	while (state.probes != NIL && room-- > 0 &&
		   worker_shared_add_database(linitial_oid(state.probes)))
		state.probes = list_delete_first(state.probes);
}

/*
 * Starts what is due; returns how long there is nothing to do.
 */
static long
launch_all(void)
{
	TimestampTz now = GetCurrentTimestamp();
	long		sleep_ms = Min(MAX_SLEEP_MS, Max(setting_recovery_interval, 100));
	int			index;

	enter_probes();
	for (index = 0; index < WORKER_MAX_DATABASES; index++)
	{
		WorkerDatabase database = worker_shared_get_database(index);
		LaunchSlot *slot = &state.slots[index];

		check_worker(slot, &database);
		if (!OidIsValid(database.database) || database.pid != 0)
			continue;
		if (is_launch_due(slot, &database, now))
			launch(slot, now);
		if (slot->handle == NULL && slot->next_launch > now)
			sleep_ms = Min(sleep_ms, TimestampDifferenceMilliseconds(now, slot->next_launch));
		if (database.not_before > now)
			sleep_ms = Min(sleep_ms, TimestampDifferenceMilliseconds(now, database.not_before));
		if (database.next_pass > now)
			sleep_ms = Min(sleep_ms, TimestampDifferenceMilliseconds(now, database.next_pass));
	}
	return state.probes != NIL ? Min(sleep_ms, 500) : sleep_ms;
}

static uint32
launcher_wait_event(void)
{
	static uint32 event = 0;

	if (event == 0)
		event = compat_wait_event("ShardFdwLauncherMain");
	return event;
}

void
shard_fdw_launcher_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	worker_shared_attach_launcher();
	state.probes = list_databases(TopMemoryContext);
	for (;;)
	{
		long		sleep_ms;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (GetCurrentTimestamp() >= state.next_sweep)
		{
			sweep();
			state.next_sweep = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														   SWEEP_MS);
		}
		sleep_ms = launch_all();
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
				  sleep_ms, launcher_wait_event());
		ResetLatch(MyLatch);
	}
}
