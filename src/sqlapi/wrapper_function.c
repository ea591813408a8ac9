/*-------------------------------------------------------------------------
 *
 * wrapper_function.c
 *	  shard_fdw.set_wrapper(): a foreign server changes its wrapper.
 *
 * There is no ALTER SERVER for it, and dropping the server would drop its
 * tables, with the views and partitions that depend on them.  The server keeps
 * all its options, so the new wrapper is asked whether it takes them.
 *
 * Other sessions have the routines of the old wrapper in their cache of
 * relations.  All foreign tables of the server are locked, so that nobody is
 * in the middle of using them, and invalidated.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "sqlapi/drop_guard.h"

PGDLLEXPORT Datum shard_fdw_set_wrapper(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(shard_fdw_set_wrapper);

/*
 * Raises where the wrapper does not take the options, which may be missing.
 */
static void
check_options(const ForeignDataWrapper *wrapper, Datum options, bool isnull,
			  Oid catalog)
{
	if (!OidIsValid(wrapper->fdwvalidator))
		return;
	if (isnull)
		options = PointerGetDatum(construct_empty_array(TEXTOID));
	(void) OidFunctionCall2(wrapper->fdwvalidator, options,
							ObjectIdGetDatum(catalog));
}

/*
 * Checks the options of the rows of a catalog that belong to the server;
 * returns the first column of these rows, an oid.
 */
static List *
check_rows(const ForeignDataWrapper *wrapper, Oid serverid, Oid catalog,
		   AttrNumber server_column, AttrNumber options_column)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	List	   *oids = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, server_column, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(serverid));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		options = heap_getattr(tuple, options_column,
										   RelationGetDescr(rel), &isnull);

		check_options(wrapper, options, isnull, catalog);
		options = heap_getattr(tuple, 1, RelationGetDescr(rel), &isnull);
		oids = lappend_oid(oids, DatumGetObjectId(options));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return oids;
}

static void
check_columns(const ForeignDataWrapper *wrapper, Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	int			ncolumns = RelationGetNumberOfAttributes(rel);
	AttrNumber	attnum;

	relation_close(rel, NoLock);
	for (attnum = 1; attnum <= ncolumns; attnum++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
											Int16GetDatum(attnum));
		Datum		options;
		bool		isnull;

		if (!HeapTupleIsValid(tuple))
			continue;
		options = SysCacheGetAttr(ATTNUM, tuple,
								  Anum_pg_attribute_attfdwoptions, &isnull);
		if (!isnull)
			check_options(wrapper, options, false, AttributeRelationId);
		ReleaseSysCache(tuple);
	}
}

static void
update_server(const ForeignServer *server, const ForeignDataWrapper *wrapper)
{
	Relation	rel = table_open(ForeignServerRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(FOREIGNSERVEROID,
											ObjectIdGetDatum(server->serverid));
	Datum		options;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for foreign server %u",
			 server->serverid);
	options = SysCacheGetAttr(FOREIGNSERVEROID, tuple,
							  Anum_pg_foreign_server_srvoptions, &isnull);
	check_options(wrapper, options, isnull, ForeignServerRelationId);
	((Form_pg_foreign_server) GETSTRUCT(tuple))->srvfdw = wrapper->fdwid;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(rel, RowExclusiveLock);
	if (changeDependencyFor(ForeignServerRelationId, server->serverid,
							ForeignDataWrapperRelationId, server->fdwid,
							wrapper->fdwid) != 1)
		elog(ERROR, "foreign server %u does not depend on its wrapper",
			 server->serverid);
}

Datum
shard_fdw_set_wrapper(PG_FUNCTION_ARGS)
{
	char	   *server_name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *wrapper_name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	ForeignServer *server = GetForeignServerByName(server_name, false);
	ForeignDataWrapper *wrapper = GetForeignDataWrapperByName(wrapper_name,
															  false);
	List	   *tables;
	ListCell   *cell;

	if (!superuser())
		ereport(ERROR,
				errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("must be superuser to change the wrapper of a foreign server"));
	if (server->fdwid == wrapper->fdwid)
		PG_RETURN_INT32(0);
	LockDatabaseObject(ForeignServerRelationId, server->serverid, 0,
					   AccessExclusiveLock);
	drop_guard_check_server(server->serverid);
	tables = check_rows(wrapper, server->serverid, ForeignTableRelationId,
						Anum_pg_foreign_table_ftserver,
						Anum_pg_foreign_table_ftoptions);
	foreach(cell, tables)
	{
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		check_columns(wrapper, lfirst_oid(cell));
	}
	(void) check_rows(wrapper, server->serverid, UserMappingRelationId,
					  Anum_pg_user_mapping_umserver,
					  Anum_pg_user_mapping_umoptions);
	update_server(server, wrapper);
	foreach(cell, tables)
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
	PG_RETURN_INT32(list_length(tables));
}
