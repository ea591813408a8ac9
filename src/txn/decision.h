/*-------------------------------------------------------------------------
 *
 * decision.h
 *	  The two decisions of the commit protocol, as pure functions.
 *
 * Both map facts to an action and know neither libpq nor catalogs.  The unit
 * test walks the full product of their inputs.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_DECISION_H
#define SHARD_FDW_TXN_DECISION_H

/* ---- how to commit (DESIGN 6.1) ---- */

typedef struct CommitFacts
{
	int			writers;		/* shards that wrote */
	bool		has_local_writes;	/* a local xid was assigned */
	bool		has_notifications;	/* the local commit may still fail late */
	bool		is_serializable;	/* likewise */
	bool		is_user_prepare;	/* PREPARE TRANSACTION, not COMMIT */
	bool		is_two_phase_enabled;	/* shard_fdw.two_phase_commit */
} CommitFacts;

typedef enum CommitMethod
{
	COMMIT_METHOD_NONE,			/* nobody wrote: end the branches afterwards */
	COMMIT_METHOD_ONE_PHASE,	/* plain COMMIT before the local commit */
	COMMIT_METHOD_TWO_PHASE		/* prepare, log, local commit, finish */
} CommitMethod;

/*
 * The user's own PREPARE TRANSACTION is two-phase whatever the setting says:
 * there is no other way to do it.
 */
extern CommitMethod decision_commit_method(const CommitFacts *facts);

/* ---- what to do with a branch found in recovery (DESIGN 6.3) ---- */

/*
 * The facts, in the order in which they must be observed (C): first the
 * shard's list of prepared transactions, then who is connected, then the
 * local transaction, then the log.
 */
typedef struct BranchFacts
{
	bool		is_prepared;	/* the gid is in the shard's list */
	bool		is_incarnation_alive;	/* it was prepared by another
										 * incarnation of this coordinator,
										 * which is still connected to the
										 * shard */
	bool		is_running;		/* the local xid runs or is prepared here */
	bool		is_logged;		/* a log row with this xid and token is
								 * visible */
	bool		is_decision_safe;	/* the log row has reached the synchronous
									 * standbys, if there are any (B) */
	bool		is_remote_committed;	/* the shard says its xid committed;
										 * only known when asked */
	bool		is_remote_known;	/* the shard was asked for it */
	bool		is_remote_in_progress;	/* it answered that the xid has not
										 * ended yet */
	bool		is_remote_other_server; /* who answered is not the server that
										 * prepared */
	bool		is_remote_branched; /* it has been failed over or restored
									 * since, and may have handed the xid out
									 * again */
} BranchFacts;

typedef enum BranchAction
{
	BRANCH_ACTION_WAIT,			/* not decided, or not known enough */
	BRANCH_ACTION_COMMIT,		/* COMMIT PREPARED */
	BRANCH_ACTION_ROLLBACK,		/* ROLLBACK PREPARED */
	BRANCH_ACTION_ASK,			/* gid gone, logged: ask for the remote xid */
	BRANCH_ACTION_FORGET,		/* past it: counts towards deleting the row */
	BRANCH_ACTION_LOST			/* gone but not committed: an incident (D) */
} BranchAction;

extern BranchAction decision_branch_action(const BranchFacts *facts);

#endif							/* SHARD_FDW_TXN_DECISION_H */
