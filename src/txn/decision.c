/*-------------------------------------------------------------------------
 *
 * decision.c
 *	  The two decisions of the commit protocol, as pure functions.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "txn/decision.h"

CommitMethod
decision_commit_method(const CommitFacts *facts)
{
	if (facts->writers == 0)
		return COMMIT_METHOD_NONE;
	if (facts->is_user_prepare)
		return COMMIT_METHOD_TWO_PHASE;
	if (!facts->is_two_phase_enabled)
		return COMMIT_METHOD_ONE_PHASE;

	/*
	 * A plain COMMIT is atomic only if nothing can fail after it: neither
	 * another shard, nor local data, nor sending notifications, nor the late
	 * check of SERIALIZABLE.
	 */
	if (facts->writers > 1 || facts->has_local_writes ||
		facts->has_notifications || facts->is_serializable)
		return COMMIT_METHOD_TWO_PHASE;
	return COMMIT_METHOD_ONE_PHASE;
}

/*
 * The branch is prepared on the shard.  Another incarnation that lives may
 * know what we do not (F).  No log row and a transaction that has
 * ended means that it aborted (A); a row that a standby may still lose
 * decides nothing (B).
 */
static BranchAction
action_for_prepared(const BranchFacts *facts)
{
	if (facts->is_incarnation_alive)
		return BRANCH_ACTION_WAIT;
	if (!facts->is_logged)
		return BRANCH_ACTION_ROLLBACK;
	return facts->is_decision_safe ? BRANCH_ACTION_COMMIT : BRANCH_ACTION_WAIT;
}

/*
 * The shard no longer has the branch although the transaction committed.  Only
 * the shard itself can say whether that is success (D), and only if the
 * transaction id it speaks of is certain to be the branch's.
 */
static BranchAction
action_for_gone(const BranchFacts *facts)
{
	if (!facts->is_remote_known)
		return BRANCH_ACTION_ASK;
	if (facts->is_remote_other_server)
		return BRANCH_ACTION_WAIT;
	if (facts->is_remote_committed)
		return facts->is_remote_branched ? BRANCH_ACTION_LOST :
			BRANCH_ACTION_FORGET;
	return facts->is_remote_in_progress ? BRANCH_ACTION_WAIT : BRANCH_ACTION_LOST;
}

BranchAction
decision_branch_action(const BranchFacts *facts)
{
	if (facts->is_running)
		return BRANCH_ACTION_WAIT;
	if (facts->is_prepared)
		return action_for_prepared(facts);
	return facts->is_logged ? action_for_gone(facts) : BRANCH_ACTION_FORGET;
}
