/*-------------------------------------------------------------------------
 *
 * deadlock_probe.c
 *	  Asks shards who waits there for a lock, and who is in the way.
 *
 * pg_blocking_pids() takes all partitions of the shard's lock table, so it is
 * asked only about our sessions that are waited for, and about those that are
 * found in their way.
 *
 * A process id proves nothing where a pooler is between us and the shard.  Our
 * sessions are known by the advisory lock that each of them holds
 * (incarnation.h); where the session with that process id holds none it is not
 * ours.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "remote/remote_conn.h"
#include "txn/incarnation.h"
#include "txn/recovery_conn.h"
#include "txn/shard_session.h"
#include "worker/deadlock_probe.h"
#include "worker/deadlock_shared.h"

/* how long a shard may take to answer, and is left alone if it does not */
#define ANSWER_LIMIT_MS 2000
#define PAUSE_MS 10000

/* Columns of the answer. */
enum
{
	COL_PID,
	COL_IS_OURS,
	COL_BLOCKER,
	COL_IS_BLOCKER_OURS,
	COL_HAS_BLOCKER_XID,
	COL_SINCE,
	COL_LOCK
};

typedef struct Probe
{
	Oid			serverid;
	RemoteConn *conn;			/* NULL: none */
	TimestampTz not_before;		/* no attempt until then */
	char		name[NAMEDATALEN];	/* of the server */
	bool		has_answered;	/* the connection was good once */
	bool		is_reported;	/* that it fails */
	int			nfailures;		/* each moves on to the next user's mapping */

	/* for the question under way */
	bool		is_wanted;
	List	   *userids;		/* whose mappings lead there */
	StringInfoData pids;		/* to ask about, separated by commas */
	RemoteRequest *identity;	/* NULL: not asked */
	RemoteRequest *lock_waits;
} Probe;

static struct
{
	List	   *probes;			/* of Probe, in TopMemoryContext */
	List	   *clusters;		/* of what shards call themselves, there too */
	char	   *own_lock_sql;	/* incarnation_is_own_lock_sql(), there too */
	bool		is_watching;	/* servers and mappings for changes */
	bool		has_changed;	/* one of them */
}			state;

/* ---- giving up ---- */

static void
drop_conn(Probe *probe)
{
	if (probe->conn)
		remote_conn_free_noerror(probe->conn);
	probe->conn = NULL;
	probe->has_answered = false;
	probe->identity = NULL;
	probe->lock_waits = NULL;
}

/*
 * Where it was told why it fails the next look tries another mapping at once;
 * to wait again for one that says nothing would keep the others waiting.
 */
static void
give_up(Probe *probe, const char *reason, bool is_silent)
{
	probe->nfailures++;
	if (!probe->is_reported)
		ereport(LOG,
				(errmsg("could not look for deadlocks on server \"%s\": %s",
						probe->name, reason)));
	probe->is_reported = true;
	if (is_silent || probe->nfailures % list_length(probe->userids) == 0)
		probe->not_before = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														PAUSE_MS);
	drop_conn(probe);
}

/* ---- what to ask ---- */

static Probe *
get_probe(Oid serverid)
{
	MemoryContext old_context;
	ListCell   *cell;
	Probe	   *probe;

	foreach(cell, state.probes)
	{
		if (((Probe *) lfirst(cell))->serverid == serverid)
			return lfirst(cell);
	}
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	probe = palloc0(sizeof(Probe));
	probe->serverid = serverid;
	state.probes = lappend(state.probes, probe);
	MemoryContextSwitchTo(old_context);
	return probe;
}

static void
want_conn(const DeadlockConn *conn)
{
	Probe	   *probe = get_probe(conn->serverid);

	if (!probe->is_wanted)
	{
		probe->is_wanted = true;
		probe->userids = NIL;
		initStringInfo(&probe->pids);
	}
	probe->userids = list_append_unique_oid(probe->userids, conn->userid);
	if (conn->is_waited)
		appendStringInfo(&probe->pids, "%s%d",
						 probe->pids.len > 0 ? "," : "", conn->pid);
}

/*
 * Shards for which nobody waits are wanted, too: they may turn out to be the
 * same as others.  Connections that are not are closed.
 */
static void
want_servers(List *waits)
{
	ListCell   *cell;
	int			position;

	foreach(cell, state.probes)
		((Probe *) lfirst(cell))->is_wanted = false;
	foreach(cell, waits)
	{
		const DeadlockWait *wait = lfirst(cell);

		for (position = 0; position < wait->nconns; position++)
			want_conn(&wait->conns[position]);
	}
	foreach(cell, state.probes)
	{
		Probe	   *probe = lfirst(cell);

		if (!probe->is_wanted)
			drop_conn(probe);
	}
}

/* ---- asking ---- */

static void
note_change(Datum arg, CompatSysCacheId cacheid, uint32 hashvalue)
{
	state.has_changed = true;
}

/*
 * Lets go of all connections when a server or a mapping has changed: it may
 * lead to another place now.  That is rare, so it need not be looked which.
 */
static void
drop_outdated(void)
{
	ListCell   *cell;

	if (!state.is_watching)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, note_change, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, note_change, (Datum) 0);
		state.is_watching = true;
	}
	if (!state.has_changed)
		return;
	state.has_changed = false;
	foreach(cell, state.probes)
	{
		Probe	   *probe = lfirst(cell);

		drop_conn(probe);
		probe->not_before = 0;
	}
}

static Oid
choose_user(const Probe *probe)
{
	return list_nth_oid(probe->userids,
						probe->nfailures % list_length(probe->userids));
}

static void
connect_probe(Probe *probe)
{
	ForeignServer *server = GetForeignServerExtended(probe->serverid,
													 FSV_MISSING_OK);
	char	   *error = NULL;

	if (server == NULL)
		return;					/* dropped since the wait began */
	snprintf(probe->name, NAMEDATALEN, "%s", server->servername);
	probe->conn = recovery_conn_open(choose_user(probe), probe->serverid, &error);
	if (probe->conn == NULL)
		give_up(probe, error, false);
}

/*
 * Makes the connections that are missing, which takes a transaction.
 */
static void
connect_probes(void)
{
	MemoryContext context = CurrentMemoryContext;
	ListCell   *cell;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(context);
	pgstat_report_activity(STATE_RUNNING, "looking for deadlocks");
	if (state.own_lock_sql == NULL)
		state.own_lock_sql = MemoryContextStrdup(TopMemoryContext,
												 incarnation_is_own_lock_sql());
	drop_outdated();
	foreach(cell, state.probes)
	{
		Probe	   *probe = lfirst(cell);

		if (probe->is_wanted && probe->conn == NULL &&
			GetCurrentTimestamp() >= probe->not_before)
			connect_probe(probe);
	}
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/*
 * From the given sessions along whoever is in the way.  A prepared transaction
 * counts as process 0, and is left out: recovery ends it.
 */
static char *
lock_waits_sql(const char *pids)
{
	return psprintf("WITH RECURSIVE "
					"locks AS MATERIALIZED (SELECT * FROM pg_catalog.pg_locks), "
					"ours AS MATERIALIZED (SELECT pid FROM locks WHERE %s), "
					"waits(pid, blocker) AS ("
					"SELECT ours.pid, b.pid FROM ours, "
					"pg_catalog.unnest(pg_catalog.pg_blocking_pids(ours.pid)) AS b(pid) "
					"WHERE ours.pid OPERATOR(pg_catalog.=) ANY ('{%s}'::pg_catalog.int4[]) "
					"UNION SELECT waits.blocker, b.pid FROM waits, "
					"pg_catalog.unnest(pg_catalog.pg_blocking_pids(waits.blocker)) AS b(pid)) "
					"SELECT waits.pid, EXISTS (SELECT FROM ours "
					"WHERE ours.pid OPERATOR(pg_catalog.=) waits.pid), "
					"waits.blocker, EXISTS (SELECT FROM ours "
					"WHERE ours.pid OPERATOR(pg_catalog.=) waits.blocker), "
					"EXISTS (SELECT FROM locks AS own "
					"WHERE own.pid OPERATOR(pg_catalog.=) waits.blocker "
					"AND own.locktype OPERATOR(pg_catalog.=) 'transactionid' "
					"AND own.mode OPERATOR(pg_catalog.=) 'ExclusiveLock'), "
					"(extract(epoch FROM locks.waitstart) OPERATOR(pg_catalog.*) 1000000)"
					"::pg_catalog.int8, "
					"pg_catalog.concat(locks.mode, ' on ', CASE "
					"WHEN locktype OPERATOR(pg_catalog.=) 'transactionid' "
					"THEN pg_catalog.concat('transaction ', transactionid) "
					"WHEN locktype OPERATOR(pg_catalog.=) 'relation' "
					"THEN pg_catalog.concat('relation ', relation, ' of database ', database) "
					"WHEN locktype OPERATOR(pg_catalog.=) 'tuple' "
					"THEN pg_catalog.concat('tuple (', page, ',', tuple, ') of relation ', "
					"relation, ' of database ', database) "
					"ELSE locktype END) "
					"FROM waits JOIN locks ON locks.pid OPERATOR(pg_catalog.=) waits.pid "
					"WHERE NOT locks.granted AND locks.waitstart IS NOT NULL "
					"AND waits.blocker OPERATOR(pg_catalog.<>) 0",
					state.own_lock_sql, pids);
}

/*
 * Both in one segment, and so in one transaction on the shard.  Since nothing
 * is known there of how few rows a recursion finds, the second one would be
 * compiled, which takes a thousand times as long as to run it.
 */
static void
ask(Probe *probe)
{
	probe->identity =
		remote_request_queue_sql(probe->conn,
								 "SELECT " SHARD_SESSION_SQL ", "
								 "pg_catalog.set_config('jit', 'off', true)", 0);
	probe->lock_waits = recovery_conn_queue(probe->conn,
											lock_waits_sql(probe->pids.data));
}

static bool
is_answered(const Probe *probe)
{
	return remote_request_is_final(probe->identity) &&
		remote_request_is_final(probe->lock_waits);
}

/*
 * Until all have answered, or there has been time enough.
 */
static void
await_answers(void)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   ANSWER_LIMIT_MS);
	RemoteConn **conns = palloc(sizeof(RemoteConn *) *
								Max(list_length(state.probes), 1));

	for (;;)
	{
		int			nconns = 0;
		ListCell   *cell;

		foreach(cell, state.probes)
		{
			Probe	   *probe = lfirst(cell);

			if (probe->identity && !is_answered(probe))
				conns[nconns++] = probe->conn;
		}
		if (nconns == 0 || GetCurrentTimestamp() >= deadline)
			break;
		remote_wait_any(conns, nconns, deadline);
	}
	pfree(conns);
}

/* ---- answers ---- */

/*
 * A shard is told from others by what a session there says when it begins.
 */
static int
number_of_cluster(const char *identity)
{
	MemoryContext old_context;
	ListCell   *cell;

	foreach(cell, state.clusters)
	{
		if (strcmp(lfirst(cell), identity) == 0)
			return foreach_current_index(cell);
	}
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	state.clusters = lappend(state.clusters, pstrdup(identity));
	MemoryContextSwitchTo(old_context);
	return list_length(state.clusters) - 1;
}

static bool
is_true(RemoteResult *rows, int row, int col)
{
	return strcmp(remote_result_value(rows, row, col), "t") == 0;
}

static void
read_answer(Probe *probe, DeadlockSight *sight)
{
	RemoteResult *identity = remote_request_result(probe->identity);
	RemoteResult *rows = remote_request_result(probe->lock_waits);
	DeadlockShard *shard = palloc(sizeof(DeadlockShard));
	int			row;

	shard->serverid = probe->serverid;
	shard->cluster = number_of_cluster(remote_result_value(identity, 0, 0));
	sight->shards = lappend(sight->shards, shard);
	for (row = 0; row < remote_result_nrows(rows); row++)
	{
		DeadlockLockWait *wait = palloc(sizeof(DeadlockLockWait));

		wait->cluster = shard->cluster;
		wait->pid = atoi(remote_result_value(rows, row, COL_PID));
		wait->is_ours = is_true(rows, row, COL_IS_OURS);
		wait->blocker = atoi(remote_result_value(rows, row, COL_BLOCKER));
		wait->is_blocker_ours = is_true(rows, row, COL_IS_BLOCKER_OURS);
		wait->has_blocker_xid = is_true(rows, row, COL_HAS_BLOCKER_XID);
		wait->since = strtoll(remote_result_value(rows, row, COL_SINCE), NULL, 10);
		wait->server_name = probe->name;
		wait->lock = pstrdup(remote_result_value(rows, row, COL_LOCK));
		sight->lock_waits = lappend(sight->lock_waits, wait);
	}
}

static void
finish(Probe *probe, DeadlockSight *sight)
{
	RemoteRequest *requests[2] = {probe->identity, probe->lock_waits};
	int			which;

	for (which = 0; which < lengthof(requests); which++)
	{
		RemoteRequestState request_state = remote_request_state(requests[which]);

		if (request_state == REMOTE_REQUEST_DONE)
			continue;
		/* lost since the last question: the next one finds out why */
		if (request_state == REMOTE_REQUEST_LOST && probe->has_answered)
			drop_conn(probe);
		else if (remote_request_is_final(requests[which]))
			give_up(probe, recovery_conn_error(requests[which]), false);
		else
			give_up(probe, "no answer in time", true);
		return;
	}
	read_answer(probe, sight);
	probe->has_answered = true;
	probe->is_reported = false;
	remote_request_release(probe->identity);
	remote_request_release(probe->lock_waits);
	probe->identity = NULL;
	probe->lock_waits = NULL;
}

DeadlockSight *
deadlock_probe(List *waits)
{
	DeadlockSight *sight = palloc0(sizeof(DeadlockSight));
	ListCell   *cell;

	want_servers(waits);
	connect_probes();
	foreach(cell, state.probes)
	{
		Probe	   *probe = lfirst(cell);

		if (probe->is_wanted && probe->conn)
			ask(probe);
	}
	await_answers();
	foreach(cell, state.probes)
	{
		Probe	   *probe = lfirst(cell);

		if (probe->identity)
			finish(probe, sight);
	}
	return sight;
}

bool
deadlock_sight_find(const DeadlockSight *sight, Oid serverid, int *cluster)
{
	ListCell   *cell;

	foreach(cell, sight->shards)
	{
		const DeadlockShard *shard = lfirst(cell);

		*cluster = shard->cluster;
		if (shard->serverid == serverid)
			return true;
	}
	return false;
}
