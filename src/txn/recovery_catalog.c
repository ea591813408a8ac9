/*-------------------------------------------------------------------------
 *
 * recovery_catalog.c
 *	  Which servers there are, and with which mappings they can be reached.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "txn/recovery_catalog.h"

#define WRAPPER_NAME "shard_fdw"

List *
recovery_catalog_servers(void)
{
	Oid			wrapper = get_foreign_data_wrapper_oid(WRAPPER_NAME, true);
	Relation	rel = table_open(ForeignServerRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	List	   *servers = NIL;

	ScanKeyInit(&key, Anum_pg_foreign_server_srvfdw, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(wrapper));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		servers = lappend_oid(servers,
							  ((Form_pg_foreign_server) GETSTRUCT(tuple))->oid);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return servers;
}

bool
recovery_catalog_has_server(Oid serverid)
{
	ForeignServer *server = GetForeignServerExtended(serverid, FSV_MISSING_OK);

	return server != NULL &&
		server->fdwid == get_foreign_data_wrapper_oid(WRAPPER_NAME, true);
}

List *
recovery_catalog_users(Oid serverid)
{
	Relation	rel = table_open(UserMappingRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	List	   *users = NIL;

	ScanKeyInit(&key, Anum_pg_user_mapping_umserver, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(serverid));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			user = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umuser;

		users = list_append_unique_oid(users,
									   OidIsValid(user) ? user : GetUserId());
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return users;
}
