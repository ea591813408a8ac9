/*-------------------------------------------------------------------------
 *
 * drop_guard.h
 *	  Keeps servers, user mappings and the log itself from being dropped
 *	  while something in doubt needs them (invariant J).
 *
 * Sits in core's hook for dropped objects, so it covers DROP SERVER, DROP
 * USER MAPPING, DROP EXTENSION, DROP OWNED and every CASCADE.  A transaction
 * that is about to commit in two phases holds locks on what it needs
 * (commit_log_lock_participant()), so a drop waits for it and finds its row.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_SQLAPI_DROP_GUARD_H
#define SHARD_FDW_SQLAPI_DROP_GUARD_H

#include "nodes/nodes.h"

/* Installs the hook; called by _PG_init(). */
extern void drop_guard_init(void);

/*
 * The same check for DROP SERVER and DROP USER MAPPING before the command has
 * begun: later it would first wait for locks, which a transaction prepared by
 * the user may hold for long.  Other statements pass.
 */
extern void drop_guard_check_statement(Node *statement);

/* The same for a server that is to be no longer ours; of others, nothing. */
extern void drop_guard_check_server(Oid serverid);

#endif							/* SHARD_FDW_SQLAPI_DROP_GUARD_H */
