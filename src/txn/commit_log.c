/*-------------------------------------------------------------------------
 *
 * commit_log.c
 *	  The only code that touches shard_fdw.commit_log.
 *
 * Everything goes through the heap and the index, not through SQL: the insert
 * runs inside a commit, perhaps without a snapshot, in a READ ONLY
 * transaction, or as a user with an odd search_path and no rights on the
 * table.  The relations are found by name in the schema that belongs to the
 * extension, so nobody can put one of his own in the way.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/extension.h"
#include "commands/vacuum.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "base/compat.h"
#include "base/compat_worker.h"
#include "txn/commit_log.h"

#define COMMIT_LOG_EXTENSION "shard_fdw"
#define COMMIT_LOG_SCHEMA "shard_fdw"
#define LOG_NAME "commit_log"
#define LOG_INDEX_NAME "commit_log_pkey"
#define COORDINATOR_NAME "coordinator"

/* attribute numbers of commit_log, as in the extension's script */
enum
{
	LOG_XID = 1,
	LOG_TOKEN,
	LOG_INCARNATION,
	LOG_LOGGED_AT,
	LOG_SERVERS,
	LOG_USERS,
	LOG_BRANCHES,
	LOG_REMOTE_XIDS,
	LOG_SYSTEMS,
	LOG_TIMELINES,
	LOG_NATTS = LOG_TIMELINES
};

#define COORDINATOR_IDENTITY 1

/* What was found out; forgotten with any change of one of the relations. */
static struct
{
	bool		is_callback_registered;
	bool		is_valid;
	bool		has_identity;
	uint64		identity;
	Oid			log;
	Oid			log_index;
	Oid			coordinator;
	bool		is_other_version;	/* the log is not as this library has it */
}			cache;

static void
invalidate_cache(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == cache.log ||
		relid == cache.log_index || relid == cache.coordinator)
	{
		cache.is_valid = false;
		cache.has_identity = false;
	}
}

static bool
is_log_of_other_version(void)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(cache.log));
	int			natts;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", cache.log);
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return natts != LOG_NATTS;
}

/*
 * Fills the cache; false when the extension is not installed here, or in
 * another version, which is not remembered.
 */
static bool
find_relations(void)
{
	Oid			schema;
	Oid			extension;

	if (cache.is_valid)
		return true;
	if (!cache.is_callback_registered)
	{
		CacheRegisterRelcacheCallback(invalidate_cache, (Datum) 0);
		cache.is_callback_registered = true;
	}
	cache.is_other_version = false;
	extension = get_extension_oid(COMMIT_LOG_EXTENSION, true);
	schema = get_namespace_oid(COMMIT_LOG_SCHEMA, true);
	if (!OidIsValid(extension) || !OidIsValid(schema))
		return false;
	cache.has_identity = false;
	cache.log = get_relname_relid(LOG_NAME, schema);
	cache.log_index = get_relname_relid(LOG_INDEX_NAME, schema);
	cache.coordinator = get_relname_relid(COORDINATOR_NAME, schema);
	if (!OidIsValid(cache.log) || !OidIsValid(cache.log_index) ||
		!OidIsValid(cache.coordinator) ||
		getExtensionOfObject(RelationRelationId, cache.log) != extension ||
		getExtensionOfObject(RelationRelationId, cache.coordinator) != extension)
		return false;
	cache.is_other_version = is_log_of_other_version();
	if (cache.is_other_version)
		return false;
	cache.is_valid = true;
	return true;
}

static void
require_relations(void)
{
	if (find_relations())
		return;
	if (cache.is_other_version)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"%s\" in this database does not have the version of the loaded library",
						COMMIT_LOG_EXTENSION),
				 errhint("Use ALTER EXTENSION %s UPDATE.", COMMIT_LOG_EXTENSION)));
	else
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"%s\" is not installed in this database",
						COMMIT_LOG_EXTENSION),
				 errhint("Use CREATE EXTENSION %s.", COMMIT_LOG_EXTENSION)));
}

bool
commit_log_is_installed(void)
{
	return find_relations();
}

/*
 * Asked for every relation that is dropped, so the name is looked at first.
 */
bool
commit_log_is_relation(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL ||
		(strcmp(name, LOG_NAME) != 0 && strcmp(name, LOG_INDEX_NAME) != 0 &&
		 strcmp(name, COORDINATOR_NAME) != 0))
		return false;
	return find_relations() &&
		(relid == cache.log || relid == cache.log_index ||
		 relid == cache.coordinator);
}

uint64
commit_log_identity(void)
{
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	uint64		identity = 0;

	require_relations();
	if (cache.has_identity)
		return cache.identity;
	rel = table_open(cache.coordinator, AccessShareLock);

	/* with a catalog snapshot, as a parallel operation allows no other */
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;

		identity = (uint64) DatumGetInt64(heap_getattr(tuple, COORDINATOR_IDENTITY,
													   RelationGetDescr(rel),
													   &isnull));
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s.coordinator\" is empty", COMMIT_LOG_SCHEMA)));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	/* closing the table may have brought an invalidation */
	cache.identity = identity;
	cache.has_identity = cache.is_valid;
	return identity;
}

/*
 * Late in a transaction nobody is waited for: who drops an object holds its
 * lock while he waits for transactions that use what depends on it, such as
 * this one.
 */
static void
lock_object(Oid classid, Oid objectid, bool waits)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, classid, objectid, 0);
	if (LockAcquire(&tag, AccessShareLock, false, !waits) ==
		LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("cannot commit while a server or user mapping it needs is being dropped"),
				 errhint("Try the transaction again.")));
	AcceptInvalidationMessages();
}

void
commit_log_lock_participant(Oid serverid, Oid userid, bool waits)
{
	UserMapping *mapping = GetUserMapping(userid, serverid);
	Oid			umid = mapping->umid;

	lock_object(ForeignServerRelationId, serverid, waits);
	lock_object(UserMappingRelationId, umid, waits);

	/* they may have gone while we waited; taking locks brought the news */
	GetForeignServer(serverid);
	mapping = GetUserMapping(userid, serverid);
	if (mapping->umid != umid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("user mapping for \"%s\" was changed while the transaction used it",
						MappingUserName(userid))));
}

/* ---- inserting ---- */

static Datum
build_array(Datum *elements, int nelements, Oid type)
{
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	return PointerGetDatum(construct_array(elements, nelements, type,
										   typlen, typbyval, typalign));
}

static HeapTuple
form_row(const CommitLogEntry *entry, TupleDesc desc)
{
	int			n = entry->nparticipants;
	Datum	   *servers = palloc(sizeof(Datum) * n);
	Datum	   *users = palloc(sizeof(Datum) * n);
	Datum	   *branches = palloc(sizeof(Datum) * n);
	Datum	   *remote_xids = palloc(sizeof(Datum) * n);
	Datum	   *systems = palloc(sizeof(Datum) * n);
	Datum	   *timelines = palloc(sizeof(Datum) * n);
	Datum		values[LOG_NATTS];
	bool		nulls[LOG_NATTS] = {false};
	int			participant;

	for (participant = 0; participant < n; participant++)
	{
		const CommitLogParticipant *p = &entry->participants[participant];

		servers[participant] = ObjectIdGetDatum(p->serverid);
		users[participant] = ObjectIdGetDatum(p->userid);
		branches[participant] = Int32GetDatum((int32) p->branch);
		remote_xids[participant] =
			FullTransactionIdGetDatum(FullTransactionIdFromU64(p->remote_xid));
		systems[participant] = Int64GetDatum((int64) p->history.system);
		timelines[participant] = Int32GetDatum((int32) p->history.timeline);
	}
	values[LOG_XID - 1] =
		FullTransactionIdGetDatum(FullTransactionIdFromU64(entry->xid));
	values[LOG_TOKEN - 1] = Int64GetDatum((int64) entry->token);
	values[LOG_INCARNATION - 1] = Int64GetDatum((int64) entry->incarnation);
	values[LOG_LOGGED_AT - 1] = TimestampTzGetDatum(entry->logged_at);
	values[LOG_SERVERS - 1] = build_array(servers, n, OIDOID);
	values[LOG_USERS - 1] = build_array(users, n, OIDOID);
	values[LOG_BRANCHES - 1] = build_array(branches, n, INT4OID);
	values[LOG_REMOTE_XIDS - 1] = build_array(remote_xids, n, XID8OID);
	values[LOG_SYSTEMS - 1] = build_array(systems, n, INT8OID);
	values[LOG_TIMELINES - 1] = build_array(timelines, n, INT4OID);
	return heap_form_tuple(desc, values, nulls);
}

void
commit_log_insert(const CommitLogEntry *entry)
{
	Relation	rel;

	require_relations();
	PushActiveSnapshot(GetTransactionSnapshot());
	rel = table_open(cache.log, RowExclusiveLock);
	CatalogTupleInsert(rel, form_row(entry, RelationGetDescr(rel)));
	table_close(rel, NoLock);
	PopActiveSnapshot();
}

/* ---- reading ---- */

static SysScanDesc
begin_key_scan(Relation rel, Snapshot snapshot, uint64 xid, uint64 token)
{
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], LOG_XID, BTEqualStrategyNumber, F_XID8EQ,
				FullTransactionIdGetDatum(FullTransactionIdFromU64(xid)));
	ScanKeyInit(&keys[1], LOG_TOKEN, BTEqualStrategyNumber, F_INT8EQ,
				Int64GetDatum((int64) token));
	return systable_beginscan(rel, cache.log_index, true, snapshot, 2, keys);
}

bool
commit_log_exists(uint64 xid, uint64 token)
{
	Relation	rel;
	Snapshot	snapshot;
	SysScanDesc scan;
	bool		exists;

	require_relations();
	rel = table_open(cache.log, AccessShareLock);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = begin_key_scan(rel, snapshot, xid, token);
	exists = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, AccessShareLock);
	return exists;
}

/*
 * The elements of an array column, which must be nelements of the given size
 * (-1 takes as many as there are); NULL when they are not.
 */
static const void *
read_array(HeapTuple tuple, TupleDesc desc, int attno, Size element_size,
		   int *nelements)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, attno, desc, &isnull);
	ArrayType  *array;
	int			found;

	if (isnull)
		return NULL;
	array = DatumGetArrayTypePCopy(value);
	found = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (ARR_HASNULL(array) || (*nelements >= 0 && found != *nelements))
		return NULL;
	*nelements = found;
	if (ARR_SIZE(array) < ARR_DATA_OFFSET(array) + found * element_size)
		return NULL;
	return ARR_DATA_PTR(array);
}

/*
 * Somebody has written into the table by hand.  The row still says that its
 * transaction committed; it must not keep the others from being settled.
 */
static void
warn_invalid_row(uint64 xid)
{
	static bool has_warned = false;

	if (!has_warned)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("row of transaction " UINT64_FORMAT " in table \"%s.%s\" is not valid",
						xid, COMMIT_LOG_SCHEMA, LOG_NAME)));
	has_warned = true;
}

/*
 * False when the arrays do not fit together.
 */
static bool
read_participants(HeapTuple tuple, TupleDesc desc, CommitLogEntry *entry)
{
	int			n = -1;
	int			participant;
	const Oid  *servers = read_array(tuple, desc, LOG_SERVERS, sizeof(Oid), &n);
	const Oid  *users = read_array(tuple, desc, LOG_USERS, sizeof(Oid), &n);
	const int32 *branches = read_array(tuple, desc, LOG_BRANCHES,
									   sizeof(int32), &n);
	const uint64 *remote_xids = read_array(tuple, desc, LOG_REMOTE_XIDS,
										   sizeof(uint64), &n);
	const uint64 *systems = read_array(tuple, desc, LOG_SYSTEMS,
									   sizeof(uint64), &n);
	const uint32 *timelines = read_array(tuple, desc, LOG_TIMELINES,
										 sizeof(uint32), &n);

	if (!servers || !users || !branches || !remote_xids || !systems ||
		!timelines)
		return false;
	entry->nparticipants = n;
	entry->participants = palloc(sizeof(CommitLogParticipant) * Max(n, 1));
	for (participant = 0; participant < n; participant++)
	{
		CommitLogParticipant *p = &entry->participants[participant];

		p->serverid = servers[participant];
		p->userid = users[participant];
		p->branch = (uint32) branches[participant];
		p->remote_xid = remote_xids[participant];
		p->history.system = systems[participant];
		p->history.timeline = timelines[participant];
	}
	return true;
}

static CommitLogEntry *
read_row(HeapTuple tuple, TupleDesc desc)
{
	CommitLogEntry *entry = palloc0(sizeof(CommitLogEntry));
	bool		isnull;
	Datum		value;

	value = heap_getattr(tuple, LOG_XID, desc, &isnull);
	entry->xid = U64FromFullTransactionId(DatumGetFullTransactionId(value));
	value = heap_getattr(tuple, LOG_TOKEN, desc, &isnull);
	entry->token = (uint64) DatumGetInt64(value);
	value = heap_getattr(tuple, LOG_INCARNATION, desc, &isnull);
	entry->incarnation = (uint64) DatumGetInt64(value);
	value = heap_getattr(tuple, LOG_LOGGED_AT, desc, &isnull);
	entry->logged_at = DatumGetTimestampTz(value);
	if (read_participants(tuple, desc, entry))
		return entry;
	warn_invalid_row(entry->xid);
	return NULL;
}

static int
compare_age(const ListCell *a, const ListCell *b)
{
	const CommitLogEntry *left = lfirst(a);
	const CommitLogEntry *right = lfirst(b);

	if (left->logged_at != right->logged_at)
		return left->logged_at < right->logged_at ? -1 : 1;
	return left->xid < right->xid ? -1 : left->xid > right->xid;
}

static List *
list_rows(Relation rel, Snapshot snapshot)
{
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, snapshot, 0,
										  NULL);
	HeapTuple	tuple;
	List	   *rows = NIL;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CommitLogEntry *entry = read_row(tuple, RelationGetDescr(rel));

		CHECK_FOR_INTERRUPTS();
		if (entry)
			rows = lappend(rows, entry);
	}
	systable_endscan(scan);
	list_sort(rows, compare_age);
	return rows;
}

List *
commit_log_list(void)
{
	Relation	rel;
	Snapshot	snapshot;
	List	   *rows;

	require_relations();
	rel = table_open(cache.log, AccessShareLock);
	snapshot = GetLatestSnapshot();
	PushActiveSnapshot(snapshot);
	rows = list_rows(rel, GetActiveSnapshot());
	PopActiveSnapshot();
	table_close(rel, AccessShareLock);
	return rows;
}

List *
commit_log_list_with_uncommitted(void)
{
	Relation	rel;
	SnapshotData snapshot;
	List	   *rows;

	require_relations();
	rel = table_open(cache.log, AccessShareLock);
	InitDirtySnapshot(snapshot);

	/* a large row is read back under the active snapshot */
	PushActiveSnapshot(GetLatestSnapshot());
	rows = list_rows(rel, &snapshot);
	PopActiveSnapshot();
	table_close(rel, AccessShareLock);
	return rows;
}

/* ---- deleting ---- */

static bool
delete_row(Relation rel, Snapshot snapshot, const CommitLogEntry *entry)
{
	SysScanDesc scan = begin_key_scan(rel, snapshot, entry->xid, entry->token);
	HeapTuple	tuple = systable_getnext(scan);
	bool		is_deleted = false;

	if (HeapTupleIsValid(tuple))
	{
		TM_FailureData failure;

		is_deleted = compat_heap_delete(rel, &tuple->t_self,
										GetCurrentCommandId(true),
										&failure) == TM_Ok;
	}
	systable_endscan(scan);
	return is_deleted;
}

int
commit_log_delete(List *entries)
{
	Relation	rel;
	ListCell   *cell;
	int			ndeleted = 0;

	if (entries == NIL)
		return 0;
	require_relations();
	rel = table_open(cache.log, RowExclusiveLock);
	PushActiveSnapshot(GetLatestSnapshot());
	foreach(cell, entries)
	{
		CHECK_FOR_INTERRUPTS();
		if (delete_row(rel, GetActiveSnapshot(), lfirst(cell)))
			ndeleted++;
	}
	PopActiveSnapshot();
	table_close(rel, NoLock);
	return ndeleted;
}

void
commit_log_vacuum(void)
{
	MemoryContext saved_context = PortalContext;
	VacuumStmt *statement = makeNode(VacuumStmt);
	DefElem    *skip = makeDefElem("skip_locked", (Node *) makeBoolean(true),
								   -1);

	require_relations();
	statement->options = list_make1(skip);
	statement->rels = list_make1(makeVacuumRelation(NULL, cache.log, NIL));
	statement->is_vacuumcmd = true;

	/* where VACUUM keeps what has to outlive its transactions */
	PortalContext = CurrentMemoryContext;
	PG_TRY();
	{
		ExecVacuum(make_parsestate(NULL), statement, true);
	}
	PG_FINALLY();
	{
		PortalContext = saved_context;
	}
	PG_END_TRY();
}

bool
commit_log_replace(const CommitLogEntry *entry)
{
	Relation	rel;
	bool		is_replaced;

	require_relations();
	rel = table_open(cache.log, RowExclusiveLock);
	PushActiveSnapshot(GetLatestSnapshot());
	is_replaced = delete_row(rel, GetActiveSnapshot(), entry);
	if (is_replaced)
		CatalogTupleInsert(rel, form_row(entry, RelationGetDescr(rel)));
	PopActiveSnapshot();
	table_close(rel, NoLock);
	CommandCounterIncrement();
	return is_replaced;
}
