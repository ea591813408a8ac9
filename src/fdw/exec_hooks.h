/*-------------------------------------------------------------------------
 *
 * exec_hooks.h
 *	  Where statements end.
 *
 * Core reads the number of rows of a statement when ExecutorRun(), or COPY,
 * returns, and tells a foreign-data wrapper about the end only later or not
 * in a way that lets it correct the number.  Hooks around both do.  TRUNCATE
 * is handed to a wrapper server by server; the hook awaits all of them.
 *
 * What has been put off is also awaited before anything else is queued on its
 * branch.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_HOOKS_H
#define SHARD_FDW_FDW_EXEC_HOOKS_H

#include "nodes/execnodes.h"

#include "txn/branch.h"

/* Called by _PG_init(). */
extern void exec_hooks_init(void);

/*
 * Will the hooks see the EState's run end?  Not if the library was loaded
 * only while it was under way.
 */
extern bool exec_hooks_cover_run(const EState *estate);

/*
 * Does whoever runs the EState want no more than some number of rows?
 */
extern bool exec_hooks_is_run_limited(const EState *estate);

/*
 * What will be added to the number of rows of the COPY under way; NULL if the
 * hooks will not see its end.
 */
extern uint64 *exec_hooks_copy_correction(void);

/*
 * Leaves it to the hook to await and release a request of the TRUNCATE under
 * way; false if the hook will not see its end.
 */
extern bool exec_hooks_put_off_truncate(TxnBranch *branch,
										RemoteRequest *request);

#endif							/* SHARD_FDW_FDW_EXEC_HOOKS_H */
