/*-------------------------------------------------------------------------
 *
 * branch_internal.h
 *	  What the files of a branch share: branch.c has its statements and
 *	  savepoints, branch_end.c how it ends.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_BRANCH_INTERNAL_H
#define SHARD_FDW_TXN_BRANCH_INTERNAL_H

#include "txn/branch.h"

/* nest levels told apart when counting cursors; deeper ones share the last */
#define CURSOR_LEVELS 32

/* What observers of statements about a savepoint have to know. */
typedef struct LevelRef
{
	TxnBranch  *branch;
	int			level;
} LevelRef;

struct TxnBranch
{
	RemoteConn *conn;
	BranchState state;
	int			begin_level;	/* local nest level that began it */
	int			depth;			/* nesting of the shard's transaction when all
								 * that is queued is done; 0: none */
	int			depth_done;		/* nesting as far as the shard has said */
	int			aborting_level; /* local level whose abort is under way */
	int			read_only_level;	/* level at which it became READ ONLY on
									 * the shard; 0: it is READ WRITE */
	int			lock_timeout;	/* told to the shard, in ms; 0: nothing, its
								 * own holds */
	int			lock_timeout_level; /* level at which it was told */
	bool		may_write;		/* a statement may have written or locked */
	bool		is_snapshot;	/* REPEATABLE READ for one statement */
	uint64		statement;		/* the one that has the snapshot */
	int			cursors[CURSOR_LEVELS]; /* open ones, by nest level */
	LevelRef  **level_refs;		/* by nest level, made when needed */
	int			max_level_refs;
	BranchFactsFromShard facts;
	RemoteRequest *probe;		/* the last one queued, or NULL */
	bool		is_unprobed;	/* the probe of a statement got no answer, or
								 * it has none */
	RemoteRequest *restartable; /* the last statement of the block, if the
								 * block can be begun anew for it; else NULL */
	BranchUse	restart_use;
	RemoteRequest *end_request;
	char		gid[GID_MAX_LENGTH + 1];
	RemoteConnStats stats_at_start;
};

#endif							/* SHARD_FDW_TXN_BRANCH_INTERNAL_H */
