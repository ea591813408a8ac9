/*-------------------------------------------------------------------------
 *
 * recovery_presence.c
 *	  Sessions that show other incarnations of this coordinator that we live.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "txn/recovery_catalog.h"
#include "txn/recovery_presence.h"

static bool is_enabled = false;
static List *kept = NIL;		/* of RemoteConn, in TopMemoryContext */

void
recovery_presence_enable(void)
{
	is_enabled = true;
}

bool
recovery_presence_is_enabled(void)
{
	return is_enabled;
}

void
recovery_presence_set_noerror(Oid serverid, RemoteConn *conn)
{
	MemoryContext context;
	ListCell   *cell;

	foreach(cell, kept)
	{
		RemoteConn *old = lfirst(cell);

		if (remote_conn_serverid(old) != serverid)
			continue;
		kept = foreach_delete_current(kept, cell);
		remote_conn_free_noerror(old);
	}
	if (conn == NULL)
		return;
	context = MemoryContextSwitchTo(TopMemoryContext);
	kept = lappend(kept, conn);
	MemoryContextSwitchTo(context);
}

void
recovery_presence_prune(void)
{
	ListCell   *cell;

	foreach(cell, kept)
	{
		RemoteConn *conn = lfirst(cell);

		if (recovery_catalog_has_server(remote_conn_serverid(conn)))
			continue;
		kept = foreach_delete_current(kept, cell);
		remote_conn_free_noerror(conn);
	}
}

bool
recovery_presence_is_held(void)
{
	return kept != NIL;
}
