/*-------------------------------------------------------------------------
 *
 * table_cache.c
 *	  What the catalogs say of foreign tables, remembered for the session.
 *
 * An entry is made on first use, and the names of all columns are added to it
 * when the first of them is asked for: one scan of pg_attribute brings them.
 * It is removed by a relcache invalidation of the table, which changes of its
 * options and of its columns send, or by a change of any server, foreign
 * table or schema.  An invalidation that comes while the catalogs are being
 * read finds nothing to remove, so it is counted: what was read is used once
 * and read again.
 *
 * Option "extensions" is a list of names.  Their oids change without notice,
 * so that the options of such servers are not remembered.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "fdw/table_cache.h"

/* Names of a table's columns, in one palloc'd chunk. */
typedef struct ColumnNames
{
	int			ncolumns;
	const char *names[FLEXIBLE_ARRAY_MEMBER];	/* NULL for a dropped one */
} ColumnNames;

typedef struct TableEntry
{
	Oid			relid;			/* must be first */
	bool		is_valid;
	bool		has_options;	/* else they are not remembered */
	FdwTableOptions options;
	char	   *relation_name;	/* qualified and quoted */
	ColumnNames *columns;		/* NULL until asked for */
} TableEntry;

/* the catalogs of which any change counts */
static const int watched[] = {
	FOREIGNSERVEROID, FOREIGNTABLEREL, NAMESPACEOID
};

static struct
{
	MemoryContext context;
	HTAB	   *entries;
	uint64		ninvalidations;
}			cache;

/* ---- invalidation ---- */

static void
remove_entry(TableEntry *entry)
{
	pfree(entry->relation_name);
	if (entry->columns)
		pfree(entry->columns);
	hash_search(cache.entries, &entry->relid, HASH_REMOVE, NULL);
}

static void
remove_all_entries(void)
{
	HASH_SEQ_STATUS status;
	TableEntry *entry;

	hash_seq_init(&status, cache.entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		remove_entry(entry);
}

/* Callback of the relation cache; InvalidOid means all. */
static void
forget_table(Datum arg, Oid relid)
{
	TableEntry *entry;

	cache.ninvalidations++;
	if (!OidIsValid(relid))
		remove_all_entries();
	else if ((entry = hash_search(cache.entries, &relid, HASH_FIND,
								  NULL)) != NULL)
		remove_entry(entry);
}

/* Callback of the watched syscaches. */
static void
forget_all_tables(Datum arg, CompatSysCacheId syscache, uint32 row_hash)
{
	cache.ninvalidations++;
	remove_all_entries();
}

static void
create_cache(void)
{
	HASHCTL		control = {0};
	int			position;

	cache.context = AllocSetContextCreate(CacheMemoryContext,
										  "shard_fdw foreign tables",
										  ALLOCSET_SMALL_SIZES);
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(TableEntry);
	control.hcxt = cache.context;
	cache.entries = hash_create("shard_fdw foreign tables", 64, &control,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(forget_table, (Datum) 0);
	for (position = 0; position < lengthof(watched); position++)
		CacheRegisterSyscacheCallback(watched[position], forget_all_tables,
									  (Datum) 0);
}

/* ---- reading ---- */

static const char *
find_string(List *defs, const char *name)
{
	ListCell   *cell;

	foreach(cell, defs)
	{
		DefElem    *def = lfirst(cell);

		if (strcmp(def->defname, name) == 0)
			return strVal(def->arg);
	}
	return NULL;
}

static const char *
read_relation_name(const ForeignTable *table)
{
	const char *schema_name = find_string(table->options, "schema_name");
	const char *table_name = find_string(table->options, "table_name");

	if (schema_name == NULL)
		schema_name = get_namespace_name(get_rel_namespace(table->relid));
	if (table_name == NULL)
		table_name = get_rel_name(table->relid);
	return quote_qualified_identifier(schema_name, table_name);
}

/*
 * Nothing that it keeps is allocated before the last look at the catalogs,
 * which may raise.
 */
static TableEntry *
make_entry(Oid relid)
{
	uint64		ninvalidations = cache.ninvalidations;
	ForeignTable *table = GetForeignTable(relid);
	ForeignServer *server = GetForeignServer(table->serverid);
	FdwTableOptions *options = fdw_options_read(server, table);
	const char *relation_name = read_relation_name(table);
	char	   *kept_name = MemoryContextStrdup(cache.context, relation_name);
	TableEntry *entry = hash_search(cache.entries, &relid, HASH_ENTER, NULL);

	entry->is_valid = cache.ninvalidations == ninvalidations;
	entry->has_options = find_string(server->options, "extensions") == NULL;
	entry->options = *options;
	entry->relation_name = kept_name;
	entry->columns = NULL;
	return entry;
}

static TableEntry *
find_entry(Oid relid)
{
	TableEntry *entry;

	if (cache.entries == NULL)
		create_cache();
	entry = hash_search(cache.entries, &relid, HASH_FIND, NULL);
	if (entry && entry->is_valid)
		return entry;
	if (entry)
		remove_entry(entry);
	return make_entry(relid);
}

/* ---- columns ---- */

static const char *
column_name_of(HeapTuple tuple, TupleDesc desc)
{
	Form_pg_attribute attr = (Form_pg_attribute) GETSTRUCT(tuple);
	const char *name = NULL;
	Datum		options;
	bool		is_null;

	options = heap_getattr(tuple, Anum_pg_attribute_attfdwoptions, desc,
						   &is_null);
	if (!is_null)
		name = find_string(untransformRelOptions(options), "column_name");
	return name ? name : pstrdup(NameStr(attr->attname));
}

/* Fills the array, which is long enough for any table. */
static int
read_column_names(Oid relid, const char **names)
{
	Relation	catalog = table_open(AttributeRelationId, AccessShareLock);
	int			ncolumns = 0;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTGreaterStrategyNumber,
				F_INT2GT, Int16GetDatum(0));
	scan = systable_beginscan(catalog, AttributeRelidNumIndexId, true, NULL,
							  lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attribute attr = (Form_pg_attribute) GETSTRUCT(tuple);

		names[attr->attnum - 1] = attr->attisdropped ? NULL :
			column_name_of(tuple, RelationGetDescr(catalog));
		ncolumns = Max(ncolumns, attr->attnum);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return ncolumns;
}

static ColumnNames *
pack_names(const char **names, int ncolumns)
{
	size_t		head = offsetof(ColumnNames, names) +
	ncolumns * sizeof(char *);
	size_t		size = head;
	ColumnNames *packed;
	char	   *place;
	int			col;

	for (col = 0; col < ncolumns; col++)
		size += names[col] ? strlen(names[col]) + 1 : 0;
	packed = MemoryContextAllocZero(cache.context, size);
	packed->ncolumns = ncolumns;
	place = (char *) packed + head;
	for (col = 0; col < ncolumns; col++)
	{
		if (names[col] == NULL)
			continue;
		strcpy(place, names[col]);
		packed->names[col] = place;
		place += strlen(place) + 1;
	}
	return packed;
}

/* The entry is looked for again, as reading may have removed it. */
static ColumnNames *
add_columns(Oid relid)
{
	uint64		ninvalidations = cache.ninvalidations;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "shard_fdw column names",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	const char **names = palloc(sizeof(char *) * MaxHeapAttributeNumber);
	int			ncolumns = read_column_names(relid, names);
	TableEntry *entry = find_entry(relid);

	if (entry->columns)
		pfree(entry->columns);
	entry->columns = pack_names(names, ncolumns);
	if (cache.ninvalidations != ninvalidations)
		entry->is_valid = false;
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
	return entry->columns;
}

/* ---- answers ---- */

bool
table_cache_contains(Oid relid)
{
	return cache.entries != NULL &&
		hash_search(cache.entries, &relid, HASH_FIND, NULL) != NULL;
}

void
table_cache_add(Oid relid)
{
	(void) find_entry(relid);
}

FdwTableOptions *
table_cache_options(Oid relid)
{
	const TableEntry *entry = find_entry(relid);
	FdwTableOptions *options;

	if (!entry->has_options)
	{
		ForeignTable *table = GetForeignTable(relid);

		return fdw_options_read(GetForeignServer(table->serverid), table);
	}
	options = palloc(sizeof(FdwTableOptions));
	*options = entry->options;
	return options;
}

const char *
table_cache_relation_name(Oid relid)
{
	return find_entry(relid)->relation_name;
}

const char *
table_cache_column_name(Oid relid, AttrNumber attnum)
{
	ColumnNames *columns = find_entry(relid)->columns;

	if (columns == NULL)
		columns = add_columns(relid);
	if (attnum <= 0 || attnum > columns->ncolumns ||
		columns->names[attnum - 1] == NULL)
		elog(ERROR, "foreign table %u has no column %d", relid, attnum);
	return columns->names[attnum - 1];
}
