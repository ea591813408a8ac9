/*-------------------------------------------------------------------------
 *
 * incarnation.c
 *	  Which run of which copy of this coordinator has prepared a transaction,
 *	  and does it live?
 *
 * The lock's number is the hash of the first part of the gid, the same that
 * hashtextextended(..., 0) gives for it in SQL.
 *
 * Who holds it is read from pg_locks.  A session of ours may hold the lock of
 * an earlier incarnation besides our own; it does not count.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "txn/commit_log.h"
#include "txn/gid.h"
#include "txn/incarnation.h"
#include "txn/shard_session.h"

/* microseconds between 1970 and the server's epoch */
#define EPOCH_DIFFERENCE \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

typedef struct Incarnation
{
	uint64		start;
	bool		is_dead;		/* the shard has said so */
} Incarnation;

struct IncarnationFence
{
	uint64		identity;
	List	   *others;			/* of Incarnation */
};

uint64
incarnation_own(void)
{
	return (uint64) (PgStartTime + EPOCH_DIFFERENCE);
}

static int64
lock_key(uint64 identity, uint64 incarnation)
{
	Gid			gid = {0};
	char		name[GID_MAX_LENGTH + 1];

	gid.identity = identity;
	gid.database = MyDatabaseId;
	gid.incarnation = incarnation;
	gid_format_incarnation(&gid, name);
	return (int64) hash_bytes_extended((const unsigned char *) name,
									   strlen(name), 0);
}

char *
incarnation_adopt_sql(uint64 identity, uint64 incarnation)
{
	return psprintf("SELECT pg_catalog.pg_advisory_lock_shared(" INT64_FORMAT ")",
					lock_key(identity, incarnation));
}

const char *
incarnation_hold_sql(RemotePooling pooling)
{
	static char sql[1024];
	static uint64 identity;

	if (pooling == REMOTE_POOLING_TRANSACTION)
		return "SELECT " SHARD_SESSION_SQL;
	if (sql[0] == '\0' || identity != commit_log_identity())
	{
		identity = commit_log_identity();
		snprintf(sql, sizeof(sql), "SELECT " SHARD_SESSION_SQL
				 ", pg_catalog.pg_advisory_lock_shared(" INT64_FORMAT ")",
				 lock_key(identity, incarnation_own()));
	}
	return sql;
}

char *
incarnation_is_own_lock_sql(void)
{
	return psprintf("granted AND locktype OPERATOR(pg_catalog.=) 'advisory' "
					"AND objsubid OPERATOR(pg_catalog.=) 1 "
					"AND (classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32) "
					"OPERATOR(pg_catalog.|) objid::pg_catalog.int8 "
					"OPERATOR(pg_catalog.=) " INT64_FORMAT,
					lock_key(commit_log_identity(), incarnation_own()));
}

/* ---- looking for others ---- */

IncarnationFence *
incarnation_fence_create(uint64 identity)
{
	IncarnationFence *fence = palloc0(sizeof(IncarnationFence));

	fence->identity = identity;
	return fence;
}

static Incarnation *
find(const IncarnationFence *fence, uint64 start)
{
	ListCell   *cell;

	foreach(cell, fence->others)
	{
		if (((Incarnation *) lfirst(cell))->start == start)
			return lfirst(cell);
	}
	return NULL;
}

void
incarnation_fence_add(IncarnationFence *fence, uint64 incarnation)
{
	Incarnation *other;

	if (incarnation == incarnation_own() || find(fence, incarnation))
		return;
	other = palloc0(sizeof(Incarnation));
	other->start = incarnation;
	fence->others = lappend(fence->others, other);
}

/*
 * One look at pg_locks serves all.
 */
RemoteRequest *
incarnation_fence_ask(IncarnationFence *fence, RemoteConn *conn)
{
	RemoteRequest *request;
	StringInfoData sql;
	ListCell   *cell;

	if (fence->others == NIL)
		return NULL;
	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "WITH held AS MATERIALIZED (SELECT pid, "
					 "(classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32) "
					 "OPERATOR(pg_catalog.|) objid::pg_catalog.int8 AS key "
					 "FROM pg_catalog.pg_locks "
					 "WHERE locktype OPERATOR(pg_catalog.=) 'advisory' "
					 "AND objsubid OPERATOR(pg_catalog.=) 1 "
					 "AND database OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database "
					 "WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())), "
					 "ours AS (SELECT pid FROM held WHERE key OPERATOR(pg_catalog.=) " INT64_FORMAT ") "
					 "SELECT EXISTS (SELECT FROM held "
					 "WHERE held.key OPERATOR(pg_catalog.=) other.key AND NOT EXISTS "
					 "(SELECT FROM ours WHERE ours.pid OPERATOR(pg_catalog.=) held.pid)) "
					 "FROM pg_catalog.unnest('{",
					 lock_key(fence->identity, incarnation_own()));
	foreach(cell, fence->others)
		appendStringInfo(&sql, "%s" INT64_FORMAT,
						 foreach_current_index(cell) > 0 ? "," : "",
						 lock_key(fence->identity,
								  ((Incarnation *) lfirst(cell))->start));
	appendStringInfoString(&sql, "}'::pg_catalog.int8[]) AS other(key)");
	request = remote_request_queue_sql(conn, sql.data, 0);
	remote_request_queue_sync(conn);
	pfree(sql.data);
	return request;
}

void
incarnation_fence_read(IncarnationFence *fence, RemoteRequest *request)
{
	RemoteResult *result = remote_request_result(request);
	ListCell   *cell;

	foreach(cell, fence->others)
	{
		int			row = foreach_current_index(cell);

		if (row < remote_result_nrows(result))
			((Incarnation *) lfirst(cell))->is_dead =
				strcmp(remote_result_value(result, row, 0), "f") == 0;
	}
}

bool
incarnation_fence_is_alive(const IncarnationFence *fence, uint64 incarnation)
{
	const Incarnation *other = find(fence, incarnation);

	return incarnation != incarnation_own() &&
		(other == NULL || !other->is_dead);
}
