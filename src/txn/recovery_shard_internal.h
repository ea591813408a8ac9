/*-------------------------------------------------------------------------
 *
 * recovery_shard_internal.h
 *	  What the files of a shard's recovery share: recovery_shard.c is the
 *	  machine, recovery_found.c tells what it has found.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_SHARD_INTERNAL_H
#define SHARD_FDW_TXN_RECOVERY_SHARD_INTERNAL_H

#include "access/xlogdefs.h"

#include "txn/decision.h"
#include "txn/incarnation.h"
#include "txn/recovery_questions.h"
#include "txn/recovery_shard.h"

typedef enum ShardState
{
	SHARD_START,				/* until a mapping is found to list with */
	SHARD_LISTING,				/* until lock and list are answered */
	SHARD_LOCKED_OUT,			/* until the next try for the lock */
	SHARD_FENCING,				/* until it is known which incarnations live */
	SHARD_CONFIRMING,			/* when looking only: until it is known what
								 * is still prepared */
	SHARD_AWAITING_STANDBY,		/* until commits may be acted upon (B) */
	SHARD_ACTING,				/* until all are committed or rolled back */
	SHARD_ASKING,				/* until all questions are answered (D) */
	SHARD_UNLOCKING,			/* until the lock is given back */
	SHARD_FINISHED				/* final */
} ShardState;

/* One of our prepared transactions on the shard. */
typedef struct BranchTask
{
	Gid			gid;
	TimestampTz prepared_at;
	RecoveryParticipant *participant;	/* NULL: no row when we began */
	BranchFacts facts;
	BranchAction action;
	RemoteRequest *request;
	char	   *user_error;		/* why it failed as the user who prepared it,
								 * if it was tried again as somebody else */
	bool		is_finished;	/* no longer prepared */
} BranchTask;

struct RecoveryShard
{
	ShardState	state;
	RecoveryReport *report;
	uint64		identity;
	RecoveryRows *rows;
	bool		looks_only;
	List	   *users;			/* whose mappings have not been tried */
	List	   *conns;
	RemoteConn *main;			/* one of them: holds the lock */
	RemoteRequest *lock_request;
	RemoteRequest *list_request;
	IncarnationFence *fence;
	RemoteRequest *fence_request;
	RemoteRequest *unlock_request;
	TimestampTz state_since;
	TimestampTz lock_wanted_since;	/* 0: not refused yet */
	TimestampTz next_try;
	XLogRecPtr	decision_lsn;	/* all rows found are on disk up to here */
	List	   *tasks;			/* of BranchTask */
	int			next_task;		/* the first one whose action is not begun */
	List	   *acting;			/* tasks whose action is on its way */
	RecoveryQuestions *questions;
	bool		has_more;		/* something is left for another pass */
	bool		needs_presence; /* something is unsettled in the end */
	bool		is_over;		/* it has come to its regular end */
};

#endif							/* SHARD_FDW_TXN_RECOVERY_SHARD_INTERNAL_H */
