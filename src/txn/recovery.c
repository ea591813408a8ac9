/*-------------------------------------------------------------------------
 *
 * recovery.c
 *	  One recovery pass over some servers, all at the same time.
 *
 * The log is read before the shards are asked, so that a row seen here is not
 * confirmed by a list that is older than its transaction.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "txn/commit_log.h"
#include "txn/recovery.h"
#include "txn/recovery_catalog.h"
#include "txn/recovery_presence.h"
#include "txn/recovery_shard.h"

/* a pass is not cut short for other work before this */
#define YIELD_AFTER_MS 500

/* how often to look whether there is other work */
#define YIELD_CHECK_MS 100

/*
 * Advances all shards; returns those that are not finished.
 */
static List *
advance_all(List *shards)
{
	List	   *unfinished = NIL;
	ListCell   *cell;

	foreach(cell, shards)
	{
		if (!recovery_shard_advance(lfirst(cell)))
			unfinished = lappend(unfinished, lfirst(cell));
	}
	return unfinished;
}

static void
give_up_all(List *shards, const char *reason)
{
	ListCell   *cell;

	foreach(cell, shards)
		recovery_shard_give_up(lfirst(cell), reason);
}

/*
 * Waits until one of the shards can go on, at the latest at the deadline.
 */
static void
wait_for_any(List *shards, TimestampTz deadline)
{
	List	   *all = NIL;
	RemoteConn **conns;
	ListCell   *cell;
	int			nconns = 0;

	foreach(cell, shards)
	{
		TimestampTz next_try = recovery_shard_next_try(lfirst(cell));

		all = list_concat(all, recovery_shard_conns(lfirst(cell)));
		if (next_try != 0 && next_try < deadline)
			deadline = next_try;
	}
	conns = palloc(sizeof(RemoteConn *) * Max(list_length(all), 1));
	foreach(cell, all)
		conns[nconns++] = lfirst(cell);
	remote_wait_any(conns, nconns, deadline);
	pfree(conns);
	list_free(all);
}

static void
run_shards(List *shards, TimestampTz deadline, RecoveryYield yield)
{
	TimestampTz start = GetCurrentTimestamp();
	List	   *unfinished = shards;

	while ((unfinished = advance_all(unfinished)) != NIL)
	{
		TimestampTz now = GetCurrentTimestamp();
		TimestampTz limit = deadline;

		if (now >= deadline)
		{
			give_up_all(unfinished, "no answer within the time of a recovery pass");
			return;
		}
		if (yield)
		{
			TimestampTz check = TimestampTzPlusMilliseconds(now, YIELD_CHECK_MS);

			if (TimestampDifferenceExceeds(start, now, YIELD_AFTER_MS) && yield())
			{
				give_up_all(unfinished, "no answer before there was other work to do");
				return;
			}
			limit = Min(limit, check);
		}
		wait_for_any(unfinished, limit);
	}
}

/*
 * A server may have been dropped since the list of oids was made.
 */
static List *
create_shards(List *serverids, RecoveryRows *rows, bool looks_only)
{
	uint64		identity = commit_log_identity();
	List	   *shards = NIL;
	ListCell   *cell;

	if (serverids == NIL)
		serverids = recovery_catalog_servers();
	foreach(cell, serverids)
	{
		if (recovery_catalog_has_server(lfirst_oid(cell)))
			shards = lappend(shards, recovery_shard_create(lfirst_oid(cell),
														   identity, rows,
														   looks_only));
	}
	return shards;
}

static void
free_shards(List *shards)
{
	ListCell   *cell;

	foreach(cell, shards)
		recovery_shard_free_noerror(lfirst(cell));
}

List *
recovery_run(List *serverids, TimestampTz deadline, RecoveryYield yield)
{
	RecoveryRows *rows = recovery_rows_load();
	List	   *shards = create_shards(serverids, rows, false);
	List	   *reports = NIL;
	ListCell   *cell;

	PG_TRY();
	{
		run_shards(shards, deadline, yield);
	}
	PG_FINALLY();
	{
		free_shards(shards);
	}
	PG_END_TRY();
	recovery_presence_prune();
	recovery_rows_trim(rows);
	foreach(cell, shards)
		reports = lappend(reports, recovery_shard_report(lfirst(cell)));
	return reports;
}

List *
recovery_look(List *serverids, TimestampTz deadline)
{
	List	   *shards = create_shards(serverids, recovery_rows_load(), true);
	List	   *sights = NIL;
	ListCell   *cell;

	PG_TRY();
	{
		run_shards(shards, deadline, NULL);
	}
	PG_FINALLY();
	{
		free_shards(shards);
	}
	PG_END_TRY();
	foreach(cell, shards)
	{
		RecoveryReport *report = recovery_shard_report(lfirst(cell));
		RecoverySight *sight = palloc0(sizeof(RecoverySight));

		sight->serverid = report->serverid;
		sight->server_name = report->server_name;
		sight->error = report->error;
		sight->branches = recovery_shard_branches(lfirst(cell));
		sights = lappend(sights, sight);
	}
	return sights;
}
