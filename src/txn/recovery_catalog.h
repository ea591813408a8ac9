/*-------------------------------------------------------------------------
 *
 * recovery_catalog.h
 *	  Which servers there are, and with which mappings they can be reached.
 *
 * Needs a transaction.  Lists are palloc'd in the current context.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_CATALOG_H
#define SHARD_FDW_TXN_RECOVERY_CATALOG_H

#include "nodes/pg_list.h"

/* Oids of all foreign servers of our wrapper. */
extern List *recovery_catalog_servers(void);

/* Does the server exist, and is it one of ours? */
extern bool recovery_catalog_has_server(Oid serverid);

/*
 * Oids of the users with whose mapping the server can be reached; the mapping
 * for PUBLIC is represented by the current user.
 */
extern List *recovery_catalog_users(Oid serverid);

#endif							/* SHARD_FDW_TXN_RECOVERY_CATALOG_H */
