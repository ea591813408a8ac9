/*-------------------------------------------------------------------------
 *
 * utility_hook.h
 *	  Commands that shard_fdw has to take part in.
 *
 * COMMIT PREPARED and ROLLBACK PREPARED of a transaction that the user
 * prepared: no callback tells that it ended, so its branches are settled
 * after the command, within shard_fdw.commit_timeout; what is left is the
 * recovery worker's.
 *
 * Commands that need a database without sessions in it (DROP, RENAME, use as
 * a template): the worker is ended first.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_SQLAPI_UTILITY_HOOK_H
#define SHARD_FDW_SQLAPI_UTILITY_HOOK_H

/* Installs the hook; called by _PG_init(). */
extern void utility_hook_init(void);

#endif							/* SHARD_FDW_SQLAPI_UTILITY_HOOK_H */
