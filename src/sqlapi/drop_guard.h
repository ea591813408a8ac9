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

/* Installs the hook; called by _PG_init(). */
extern void drop_guard_init(void);

#endif							/* SHARD_FDW_SQLAPI_DROP_GUARD_H */
