/*-------------------------------------------------------------------------
 *
 * worker_shared.c
 *	  What backends, workers and launcher tell each other in shared memory.
 *
 * Nothing can fall between a worker that ends and a backend that asks: both
 * happen under the lock, and the worker detaches only when no request and no
 * settled transaction of its database is there; after that the backend finds
 * no worker and wakes the launcher.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "txn/commit_log.h"
#include "worker/worker_shared.h"

#define SHARED_NAME "shard_fdw worker"
#define MAX_SETTLED 4096
#define MAX_SERVERS 512

/* how long a database is kept free of workers for DROP and the like */
#define STOP_MS 10000

/* settled transactions that make a sleeping worker worth waking */
#define SETTLED_BATCH 1024

typedef struct SettledTransaction
{
	Oid			database;
	uint64		xid;
	uint64		token;
} SettledTransaction;

typedef struct WorkerServerTable
{
	int			nservers;
	WorkerServer servers[MAX_SERVERS];
} WorkerServerTable;

typedef struct WorkerShared
{
	int			launcher_pid;
	Latch	   *launcher_latch;
	WorkerDatabase databases[WORKER_MAX_DATABASES];
	int			nsettled;
	SettledTransaction settled[MAX_SETTLED];
	WorkerServerTable table;
} WorkerShared;

static struct
{
	WorkerShared *shared;		/* NULL: not preloaded */
	LWLock	   *lock;
	WorkerServerTable *own_table;	/* instead of the shared one */
}			state;

Size
worker_shared_size(void)
{
	return sizeof(WorkerShared);
}

void
worker_shared_init(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	state.shared = ShmemInitStruct(SHARED_NAME, sizeof(WorkerShared), &found);
	if (!found)
		memset(state.shared, 0, sizeof(WorkerShared));
	state.lock = &GetNamedLWLockTranche("shard_fdw")[0].lock;
	LWLockRelease(AddinShmemInitLock);
}

bool
worker_shared_is_available(void)
{
	return state.shared != NULL;
}

/* ---- databases; all with the lock held ---- */

static WorkerDatabase *
find_database(Oid database)
{
	int			slot;

	for (slot = 0; slot < WORKER_MAX_DATABASES; slot++)
	{
		if (state.shared->databases[slot].database == database)
			return &state.shared->databases[slot];
	}
	return NULL;
}

static WorkerDatabase *
enter_database(Oid database)
{
	WorkerDatabase *item = find_database(database);

	if (item)
		return item;
	item = find_database(InvalidOid);
	if (item)
	{
		memset(item, 0, sizeof(WorkerDatabase));
		item->database = database;
	}
	return item;
}

static void
wake_launcher(void)
{
	if (state.shared->launcher_latch)
		SetLatch(state.shared->launcher_latch);
}

static int
count_settled_of(Oid database)
{
	int			count = 0;
	int			position;

	for (position = 0; position < state.shared->nsettled; position++)
	{
		if (state.shared->settled[position].database == database)
			count++;
	}
	return count;
}

static void
forget_settled_of(Oid database)
{
	int			nkept = 0;
	int			position;

	for (position = 0; position < state.shared->nsettled; position++)
	{
		if (state.shared->settled[position].database != database)
			state.shared->settled[nkept++] = state.shared->settled[position];
	}
	state.shared->nsettled = nkept;
}

/*
 * Frees the places of a server, or of all servers of the database
 * (InvalidOid).
 */
static void
forget_servers(WorkerServerTable *table, Oid database, Oid serverid)
{
	int			nkept = 0;
	int			position;

	for (position = 0; position < table->nservers; position++)
	{
		const WorkerServer *server = &table->servers[position];

		if (server->database != database ||
			(OidIsValid(serverid) && server->serverid != serverid))
			table->servers[nkept++] = *server;
	}
	table->nservers = nkept;
}

/* ---- for backends ---- */

void
worker_shared_push_settled_noerror(uint64 xid, uint64 token)
{
	WorkerDatabase *database;

	if (state.shared == NULL)
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = enter_database(MyDatabaseId);

	/* when the ring is full the worker confirms the slow way */
	if (state.shared->nsettled < MAX_SETTLED)
	{
		SettledTransaction *settled =
		&state.shared->settled[state.shared->nsettled++];

		settled->database = MyDatabaseId;
		settled->xid = xid;
		settled->token = token;
	}
	else if (database)
		database->wants_pass = true;
	if (database)
		database->has_settled = true;
	if (database && database->pid == 0)
		wake_launcher();
	else if (database && state.shared->nsettled == SETTLED_BATCH)
		SetLatch(database->latch);
	LWLockRelease(state.lock);
}

void
worker_shared_request_pass_noerror(void)
{
	WorkerDatabase *database;

	if (state.shared == NULL)
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = enter_database(MyDatabaseId);
	if (database)
	{
		database->wants_pass = true;
		if (database->pid != 0)
			SetLatch(database->latch);
		else
			wake_launcher();
	}
	LWLockRelease(state.lock);
}

void
worker_shared_stop_worker(Oid database)
{
	WorkerDatabase *item;

	if (state.shared == NULL)
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	item = find_database(database);
	if (item && item->pid != 0)
	{
		item->not_before = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   STOP_MS);
		kill(item->pid, SIGTERM);
	}
	LWLockRelease(state.lock);
}

/* ---- for workers ---- */

/*
 * The worker ends otherwise than by detaching: somebody must look again.
 */
static void
detach_at_exit(int code, Datum arg)
{
	WorkerDatabase *database;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = find_database(MyDatabaseId);
	if (database && database->pid == MyProcPid)
	{
		database->pid = 0;
		database->latch = NULL;
		database->wants_pass = true;
		wake_launcher();
	}
	LWLockRelease(state.lock);
}

bool
worker_shared_attach(void)
{
	WorkerDatabase *database;
	bool		is_attached = false;

	if (state.shared == NULL)
		return true;
	before_shmem_exit(detach_at_exit, (Datum) 0);
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = enter_database(MyDatabaseId);
	if (database && database->pid == 0)
	{
		database->pid = MyProcPid;
		database->latch = MyLatch;
		database->has_passed = false;
		is_attached = true;
	}
	LWLockRelease(state.lock);
	return is_attached;
}

bool
worker_shared_detach_if_idle(void)
{
	WorkerDatabase *database;
	bool		is_idle = true;

	if (state.shared == NULL)
		return true;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = find_database(MyDatabaseId);
	if (database)
	{
		is_idle = !database->wants_pass &&
			count_settled_of(MyDatabaseId) == 0;
		if (is_idle)
		{
			database->pid = 0;
			database->latch = NULL;
			database->has_settled = false;
		}
	}
	LWLockRelease(state.lock);
	return is_idle;
}

void
worker_shared_forget_database(Oid database)
{
	WorkerDatabase *item;

	if (state.shared == NULL || !OidIsValid(database))
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	item = find_database(database);
	if (item)
		memset(item, 0, sizeof(WorkerDatabase));
	forget_settled_of(database);
	forget_servers(&state.shared->table, database, InvalidOid);
	LWLockRelease(state.lock);
}

bool
worker_shared_has_pass_request(void)
{
	WorkerDatabase *database;
	bool		is_wanted;

	if (state.shared == NULL)
		return false;
	LWLockAcquire(state.lock, LW_SHARED);
	database = find_database(MyDatabaseId);
	is_wanted = database && database->wants_pass;
	LWLockRelease(state.lock);
	return is_wanted;
}

bool
worker_shared_take_pass_request(void)
{
	WorkerDatabase *database;
	bool		was_wanted;

	if (state.shared == NULL)
		return false;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = find_database(MyDatabaseId);
	was_wanted = database && database->wants_pass;
	if (database)
		database->wants_pass = false;
	LWLockRelease(state.lock);
	return was_wanted;
}

void
worker_shared_note_pass(void)
{
	WorkerDatabase *database;

	if (state.shared == NULL)
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = find_database(MyDatabaseId);
	if (database)
		database->has_passed = true;
	LWLockRelease(state.lock);
}

void
worker_shared_note_next_pass(TimestampTz next_pass)
{
	WorkerDatabase *database;

	if (state.shared == NULL)
		return;
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	database = find_database(MyDatabaseId);
	if (database)
		database->next_pass = next_pass;
	LWLockRelease(state.lock);
}

List *
worker_shared_pop_settled(void)
{
	CommitLogEntry *entries;
	List	   *list = NIL;
	int			max_entries;
	int			nentries = 0;
	int			nkept = 0;
	int			position;

	if (state.shared == NULL)
		return NIL;
	LWLockAcquire(state.lock, LW_SHARED);
	max_entries = count_settled_of(MyDatabaseId);
	LWLockRelease(state.lock);
	if (max_entries == 0)
		return NIL;

	/*
	 * Nothing that may raise while entries are neither here nor there, so
	 * what has been pushed since they were counted stays for the next time.
	 */
	entries = palloc0(sizeof(CommitLogEntry) * max_entries);
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	for (position = 0; position < state.shared->nsettled; position++)
	{
		SettledTransaction *settled = &state.shared->settled[position];

		if (settled->database == MyDatabaseId && nentries < max_entries)
		{
			entries[nentries].xid = settled->xid;
			entries[nentries++].token = settled->token;
		}
		else
			state.shared->settled[nkept++] = *settled;
	}
	state.shared->nsettled = nkept;
	LWLockRelease(state.lock);
	for (position = 0; position < nentries; position++)
		list = lappend(list, &entries[position]);
	return list;
}

/* ---- servers ---- */

static WorkerServerTable *
server_table(void)
{
	if (state.shared)
		return &state.shared->table;
	if (state.own_table == NULL)
		state.own_table = MemoryContextAllocZero(TopMemoryContext,
												 sizeof(WorkerServerTable));
	return state.own_table;
}

static WorkerServer *
find_server(WorkerServerTable *table, Oid database, Oid serverid)
{
	int			position;

	for (position = 0; position < table->nservers; position++)
	{
		WorkerServer *server = &table->servers[position];

		if (server->database == database && server->serverid == serverid)
			return server;
	}
	return NULL;
}

/*
 * A place for a server: a new one, or that of a server with nothing to tell.
 */
static WorkerServer *
free_server(WorkerServerTable *table)
{
	int			position;

	for (position = 0; position < table->nservers; position++)
	{
		if (table->servers[position].attempts == 0)
			return &table->servers[position];
	}
	return table->nservers < MAX_SERVERS ? &table->servers[table->nservers++] :
		NULL;
}

static void
lock_servers(LWLockMode mode)
{
	if (state.shared)
		LWLockAcquire(state.lock, mode);
}

static void
unlock_servers(void)
{
	if (state.shared)
		LWLockRelease(state.lock);
}

WorkerServer
worker_shared_get_server(Oid serverid)
{
	WorkerServerTable *table = server_table();
	WorkerServer *server;
	WorkerServer copy;

	memset(&copy, 0, sizeof(copy));
	lock_servers(LW_SHARED);
	server = find_server(table, MyDatabaseId, serverid);
	if (server)
		copy = *server;
	unlock_servers();
	copy.database = MyDatabaseId;
	copy.serverid = serverid;
	return copy;
}

void
worker_shared_set_server(const WorkerServer *server)
{
	WorkerServerTable *table = server_table();
	WorkerServer *item;

	lock_servers(LW_EXCLUSIVE);
	item = find_server(table, server->database, server->serverid);
	if (item == NULL && server->attempts > 0)
		item = free_server(table);
	if (item)
		*item = *server;
	unlock_servers();
}

void
worker_shared_forget_server(Oid serverid)
{
	WorkerServerTable *table = server_table();

	lock_servers(LW_EXCLUSIVE);
	forget_servers(table, MyDatabaseId, serverid);
	unlock_servers();
}

/* ---- for the launcher ---- */

List *
worker_shared_list_databases(void)
{
	Oid		   *oids = palloc(sizeof(Oid) * (WORKER_MAX_DATABASES + MAX_SETTLED +
											 MAX_SERVERS));
	List	   *databases = NIL;
	int			noids = 0;
	int			position;

	/* nothing is allocated with the lock held */
	LWLockAcquire(state.lock, LW_SHARED);
	for (position = 0; position < WORKER_MAX_DATABASES; position++)
		oids[noids++] = state.shared->databases[position].database;
	for (position = 0; position < state.shared->nsettled; position++)
		oids[noids++] = state.shared->settled[position].database;
	for (position = 0; position < state.shared->table.nservers; position++)
		oids[noids++] = state.shared->table.servers[position].database;
	LWLockRelease(state.lock);
	for (position = 0; position < noids; position++)
	{
		if (OidIsValid(oids[position]))
			databases = list_append_unique_oid(databases, oids[position]);
	}
	pfree(oids);
	return databases;
}

static void
detach_launcher_at_exit(int code, Datum arg)
{
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	if (state.shared->launcher_pid == MyProcPid)
	{
		state.shared->launcher_pid = 0;
		state.shared->launcher_latch = NULL;
	}
	LWLockRelease(state.lock);
}

void
worker_shared_attach_launcher(void)
{
	before_shmem_exit(detach_launcher_at_exit, (Datum) 0);
	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	state.shared->launcher_pid = MyProcPid;
	state.shared->launcher_latch = MyLatch;
	LWLockRelease(state.lock);
}

WorkerDatabase
worker_shared_get_database(int slot)
{
	WorkerDatabase copy;

	LWLockAcquire(state.lock, LW_SHARED);
	copy = state.shared->databases[slot];
	LWLockRelease(state.lock);
	return copy;
}

bool
worker_shared_add_database(Oid database)
{
	WorkerDatabase *item;

	LWLockAcquire(state.lock, LW_EXCLUSIVE);
	item = enter_database(database);
	if (item)
		item->wants_pass = true;
	LWLockRelease(state.lock);
	return item != NULL;
}
