/*-------------------------------------------------------------------------
 *
 * recovery_worker.c
 *	  The background worker that settles what is in doubt in one database.
 *
 * Each turn of the main loop deletes the rows of transactions that are known
 * to be finished, vacuums the log if many have been deleted, makes a pass if
 * one is due, and sleeps.
 *
 * When a pass is due.  Somebody asked: at once, and again some seconds later,
 * since a PREPARE may have been on its way to the shard when we looked (E).
 * Rows are left in the log that nobody deletes: after a second, then at
 * growing intervals while nothing changes.  A server could not be worked on:
 * for that server alone, at growing intervals.  The recovery interval has
 * passed.
 *
 * When it ends.  After some seconds without anything to do, since a worker
 * stands in the way of DROP DATABASE and of copying the database.  With a
 * launcher also when all that is left is servers that have been out of reach
 * for long: the launcher starts another worker when they are due again.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/compat.h"
#include "base/compat_worker.h"
#include "base/settings.h"
#include "txn/commit_log.h"
#include "txn/recovery.h"
#include "txn/recovery_catalog.h"
#include "txn/recovery_presence.h"
#include "worker/recovery_worker.h"
#include "worker/worker_launch.h"
#include "worker/worker_process.h"
#include "worker/worker_shared.h"
#include "worker/worker_stats.h"

#define APPLICATION_NAME "shard_fdw recovery worker"

/* one pass waits no longer than this for a shard */
#define PASS_LIMIT_MS 5000

/*
 * Autovacuum comes no more often than once a minute, in which a busy server
 * makes tens of megabytes of dead rows; so the log is vacuumed here whenever
 * that many have been deleted.
 */
#define ROWS_PER_VACUUM 5000

/* a row older than this should have been deleted */
#define ROW_AGE_MS 1000

/* turns of the main loop, and how long it goes on with nothing to do */
#define TURN_MS 1000
#define LINGER_MS 3000

/* pauses: the first, the longest of the first attempts, the longest */
#define FIRST_PAUSE_MS 1000
#define EARLY_PAUSE_MS 8000
#define LONG_PAUSE_MS 60000
#define EARLY_ATTEMPTS 20

/* a pass that was asked for is repeated after these times (E) */
static const int rescan_after_ms[] = {1000, 2000, 4000};

static struct
{
	MemoryContext context;		/* of one turn */
	TimestampTz idle_since;		/* last time there was something to do */
	TimestampTz next_rescan;	/* 0: none */
	int			rescans;		/* made since the last request */
	TimestampTz next_row_pass;	/* for rows left in the log; 0: at once */
	int			row_pause_ms;	/* before the one after that */
	TimestampTz next_interval_pass;
	int			deleted_rows;	/* since the last VACUUM */
	bool		has_old_rows;
	bool		has_waiting;	/* the last pass left what runs here */
}			state;

static TimestampTz
after_ms(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

static bool
is_due(TimestampTz time)
{
	return time != 0 && GetCurrentTimestamp() >= time;
}

/* ---- transactions ---- */

static void
begin_transaction(const char *activity)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(state.context);
	pgstat_report_activity(STATE_RUNNING, activity);
}

static void
end_transaction(void)
{
	CommitTransactionCommand();
	MemoryContextSwitchTo(state.context);
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* ---- rows ---- */

/*
 * Deletes the rows of finished transactions, and looks for rows that ought to
 * be gone.
 */
static void
delete_settled_rows(void)
{
	int			nrows;

	begin_transaction("deleting rows of finished transactions");
	nrows = commit_log_delete(worker_shared_pop_settled());
	if (nrows > 0)
		state.idle_since = GetCurrentTimestamp();
	state.deleted_rows += nrows;
	end_transaction();
}

static void
vacuum_if_due(void)
{
	if (state.deleted_rows < ROWS_PER_VACUUM)
		return;
	begin_transaction("vacuuming the log");
	commit_log_vacuum();
	end_transaction();
	state.deleted_rows = 0;
}

static void
look_for_old_rows(void)
{
	TimestampTz now = GetCurrentTimestamp();
	List	   *rows;

	begin_transaction("reading the log");
	rows = commit_log_list();
	state.has_old_rows = rows != NIL &&
		TimestampDifferenceExceeds(((CommitLogEntry *) linitial(rows))->logged_at,
								   now, ROW_AGE_MS);
	end_transaction();
	if (rows == NIL)
	{
		state.next_row_pass = 0;
		state.row_pause_ms = FIRST_PAUSE_MS;
	}
}

/* ---- servers ---- */

/*
 * 1, 2, 4, 8 seconds and so on every 8; after some minutes every minute, but
 * not less often than the recovery interval.
 */
static int
pause_after(int attempts)
{
	int			longest = attempts > EARLY_ATTEMPTS ?
	Min(LONG_PAUSE_MS, Max(setting_recovery_interval, EARLY_PAUSE_MS)) :
	EARLY_PAUSE_MS;

	return Min(longest, FIRST_PAUSE_MS << Min(attempts - 1, 10));
}

static void
note_failure(WorkerServer *server, const RecoveryReport *report)
{
	const char *reason = report->error ? report->error :
	"the server has lost branches of committed transactions";

	if (server->attempts == 0)
		server->since = GetCurrentTimestamp();
	server->attempts++;
	server->next_try = after_ms(pause_after(server->attempts));
	if (strncmp(server->last_error, reason, WORKER_ERROR_LENGTH - 1) == 0)
		return;
	strncpy(server->last_error, reason, WORKER_ERROR_LENGTH - 1);
	ereport(LOG,
			(errmsg("could not settle all transactions on server \"%s\": %s",
					report->server_name, reason),
			 errdetail("Next try in %d ms; later ones are not logged until the reason changes.",
					   pause_after(server->attempts))));
}

/*
 * Lost branches are found again by every process that looks; they are
 * reported when there are more than were known.
 */
static void
report_incidents(WorkerServer *server, const RecoveryReport *report)
{
	ListCell   *cell;

	if (report->lost > server->lost)
	{
		foreach(cell, report->incidents)
			ereport(LOG,
					(errcode(ERRCODE_T_R_INTEGRITY_CONSTRAINT_VIOLATION),
					 errmsg("server \"%s\" has lost a part of a committed transaction",
							report->server_name),
					 errdetail("%s.", (char *) lfirst(cell)),
					 errhint("See the view shard_fdw.in_doubt. The row in shard_fdw.commit_log is kept; repair the data, then delete the row.")));
	}
	server->lost = report->lost;
}

/*
 * Takes over what a pass reports of one server; true if it got something
 * done.
 */
static bool
note_report(const RecoveryReport *report)
{
	WorkerServer server = worker_shared_get_server(report->serverid);
	bool		had_failed = server.attempts > 0;
	int			nbranches = report->committed + report->rolled_back;

	if (nbranches > 0)
	{
		worker_stats_count_recovered(report->serverid, nbranches);
		ereport(LOG,
				(errmsg("settled transactions on server \"%s\": %d committed, %d rolled back",
						report->server_name, report->committed,
						report->rolled_back)));
	}
	report_incidents(&server, report);
	if (report->is_complete)
	{
		server.attempts = 0;
		server.next_try = 0;
		server.last_error[0] = '\0';
	}
	else if (nbranches == 0 &&
			 (report->error || report->failed > 0 || report->lost > 0))
		note_failure(&server, report);
	else
	{
		/* there was more than fits into a pass, or it was cut short */
		server.attempts = 1;
		server.next_try = after_ms(nbranches > 0 ? 0 : FIRST_PAUSE_MS);
	}
	worker_shared_set_server(&server);
	return nbranches > 0 || (had_failed && report->is_complete);
}

/*
 * The servers a pass is to visit: those not paused, or only those whose pause
 * has ended.
 */
static List *
choose_servers(bool only_retries)
{
	List	   *chosen = NIL;
	ListCell   *cell;
	TimestampTz now = GetCurrentTimestamp();

	foreach(cell, recovery_catalog_servers())
	{
		WorkerServer server = worker_shared_get_server(lfirst_oid(cell));
		bool		is_retry = server.attempts > 0;

		if (is_retry ? now >= server.next_try : !only_retries)
			chosen = lappend_oid(chosen, lfirst_oid(cell));
	}
	return chosen;
}

/*
 * When the next paused server is due, 0 if none is paused; *is_early: one of
 * them has not been out of reach for long.
 */
static TimestampTz
next_retry(bool *is_early)
{
	TimestampTz next = 0;
	ListCell   *cell;

	*is_early = false;
	begin_transaction("looking for servers out of reach");
	foreach(cell, recovery_catalog_servers())
	{
		WorkerServer server = worker_shared_get_server(lfirst_oid(cell));

		if (server.attempts == 0)
			continue;
		if (server.attempts <= EARLY_ATTEMPTS)
			*is_early = true;
		if (next == 0 || server.next_try < next)
			next = server.next_try;
	}
	end_transaction();
	return next;
}

/* ---- passes ---- */

static bool
has_other_work(void)
{
	return worker_shared_has_pass_request();
}

static void
run_pass(bool only_retries)
{
	List	   *servers;
	List	   *reports = NIL;
	ListCell   *cell;
	bool		has_progress = false;

	begin_transaction("recovery pass");
	servers = choose_servers(only_retries);
	if (servers != NIL)
		reports = recovery_run(servers, after_ms(PASS_LIMIT_MS), has_other_work);
	state.has_waiting = false;
	foreach(cell, reports)
	{
		has_progress |= note_report(lfirst(cell));
		state.has_waiting |= ((RecoveryReport *) lfirst(cell))->waiting > 0;
	}
	end_transaction();
	worker_shared_note_pass();
	if (has_progress)
		state.idle_since = GetCurrentTimestamp();
	state.row_pause_ms = has_progress ? FIRST_PAUSE_MS :
		Min(state.row_pause_ms * 2, LONG_PAUSE_MS);
	state.next_row_pass = after_ms(state.row_pause_ms);
	if (!only_retries)
		state.next_interval_pass = after_ms(setting_recovery_interval);
}

static void
plan_rescan(void)
{
	if (state.rescans < lengthof(rescan_after_ms))
		state.next_rescan = after_ms(rescan_after_ms[state.rescans++]);
	else
		state.next_rescan = 0;
}

/*
 * Makes a pass if one is due.
 */
static void
run_pass_if_due(TimestampTz retry)
{
	if (worker_shared_take_pass_request())
	{
		state.rescans = 0;
		state.row_pause_ms = FIRST_PAUSE_MS;
		state.idle_since = GetCurrentTimestamp();
		plan_rescan();
		run_pass(false);
	}
	else if (is_due(state.next_rescan))
	{
		plan_rescan();
		run_pass(false);
	}
	else if (((state.has_old_rows || state.has_waiting) &&
			  (state.next_row_pass == 0 || is_due(state.next_row_pass))) ||
			 is_due(state.next_interval_pass))
		run_pass(false);
	else if (is_due(retry))
		run_pass(true);
}

/* ---- ending ---- */

/*
 * Rows that are in the log although nothing more can be done about them just
 * now must not keep a worker that has a launcher.
 */
static bool
has_work(void)
{
	if (worker_shared_is_available())
		return false;
	return commit_log_list() != NIL;
}

/*
 * Ends the process if there is nothing to do.
 */
static void
end_if_idle(TimestampTz retry, bool is_early)
{
	TimestampTz next = after_ms(setting_recovery_interval);
	bool		may_end;

	if (state.next_rescan != 0 || is_early || recovery_presence_is_held() ||
		(state.has_old_rows && state.row_pause_ms < EARLY_PAUSE_MS) ||
		(retry != 0 && !worker_shared_is_available()) ||
		!TimestampDifferenceExceeds(state.idle_since, GetCurrentTimestamp(),
									LINGER_MS))
		return;
	if (retry != 0 && retry < next)
		next = retry;
	if (state.has_old_rows && state.next_row_pass < next)
		next = state.next_row_pass;
	worker_shared_note_next_pass(next);
	begin_transaction("looking for work before ending");
	may_end = worker_launch_resign(has_work);
	end_transaction();
	if (may_end)
		proc_exit(0);
	state.idle_since = GetCurrentTimestamp();
}

/* ---- the process ---- */

static bool
is_extension_here(void)
{
	bool		is_here;

	begin_transaction("looking for the extension");
	is_here = commit_log_is_installed();
	end_transaction();
	return is_here;
}

/*
 * Settings of the database or of the superuser must not get in the way.
 */
static void
fix_settings(void)
{
	SetConfigOption("application_name", APPLICATION_NAME, PGC_USERSET,
					PGC_S_OVERRIDE);

	/* a deletion that is lost is made again; never wait for a standby */
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_isolation", "read committed",
					PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_read_only", "off", PGC_SUSET,
					PGC_S_OVERRIDE);
	SetConfigOption("lock_timeout", "5s", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("statement_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
}

static void
start_up(Oid database)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	fix_settings();
	state.context = AllocSetContextCreate(TopMemoryContext,
										  "shard_fdw recovery worker",
										  ALLOCSET_DEFAULT_SIZES);
	if (!is_extension_here())
	{
		worker_shared_forget_database(database);
		proc_exit(0);
	}
	if (!worker_launch_become_worker())
		proc_exit(0);
	state.idle_since = GetCurrentTimestamp();
	state.row_pause_ms = FIRST_PAUSE_MS;
	recovery_presence_enable();

	/* without a launcher there is nobody to ask for the first pass */
	if (!worker_shared_is_available())
	{
		plan_rescan();
		run_pass(false);
	}
	state.next_interval_pass = after_ms(setting_recovery_interval);
}

static uint32
worker_wait_event(void)
{
	static uint32 event = 0;

	if (event == 0)
		event = compat_wait_event("ShardFdwWorkerMain");
	return event;
}

/*
 * How long there is nothing to do.
 */
static long
sleep_time(TimestampTz retry)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = TimestampTzPlusMilliseconds(now, TURN_MS);

	if (state.next_rescan != 0)
		next = Min(next, state.next_rescan);
	if (retry != 0)
		next = Min(next, retry);
	return TimestampDifferenceMilliseconds(now, next);
}

void
shard_fdw_worker_main(Datum arg)
{
	start_up(DatumGetObjectId(arg));
	for (;;)
	{
		TimestampTz retry;
		bool		is_early;

		worker_take_interrupts();
		MemoryContextReset(state.context);
		MemoryContextSwitchTo(state.context);
		if (!is_extension_here())
		{
			worker_shared_forget_database(MyDatabaseId);
			proc_exit(0);
		}
		delete_settled_rows();
		vacuum_if_due();
		look_for_old_rows();
		retry = next_retry(&is_early);
		run_pass_if_due(retry);
		retry = next_retry(&is_early);
		end_if_idle(retry, is_early);

		/* waiting for shards may have taken the signal of a request */
		if (!worker_shared_has_pass_request())
			WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					  sleep_time(retry), worker_wait_event());
		ResetLatch(MyLatch);
	}
}
