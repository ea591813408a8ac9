/*-------------------------------------------------------------------------
 *
 * branch_end.c
 *	  How our transaction on one shard ends, and what is known of that.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "txn/branch_internal.h"

static RemoteRequest *
queue_end(TxnBranch *branch, const char *sql, bool is_reusable)
{
	RemoteQuery query = {0};

	if (branch->end_request)
		remote_request_release(branch->end_request);
	query.sql = sql;
	query.is_reusable = is_reusable;
	branch->end_request = remote_request_queue(branch->conn, &query, 0);
	remote_request_queue_sync(branch->conn);
	return branch->end_request;
}

RemoteRequest *
branch_start_prepare(TxnBranch *branch, const Gid *gid)
{
	char		sql[GID_MAX_LENGTH + 64];

	gid_format(gid, branch->gid);
	snprintf(sql, sizeof(sql), "PREPARE TRANSACTION '%s'", branch->gid);
	branch->state = BRANCH_PREPARING;
	return queue_end(branch, sql, false);
}

RemoteRequest *
branch_start_commit(TxnBranch *branch)
{
	branch->state = BRANCH_COMMITTING;
	return queue_end(branch, "COMMIT", true);
}

RemoteRequest *
branch_start_rollback(TxnBranch *branch)
{
	return queue_end(branch, "ROLLBACK", false);
}

RemoteRequest *
branch_start_commit_prepared(TxnBranch *branch)
{
	char		sql[GID_MAX_LENGTH + 64];

	snprintf(sql, sizeof(sql), "COMMIT PREPARED '%s'", branch->gid);
	return queue_end(branch, sql, false);
}

RemoteRequest *
branch_start_rollback_prepared(TxnBranch *branch)
{
	char		sql[GID_MAX_LENGTH + 64];

	snprintf(sql, sizeof(sql), "ROLLBACK PREPARED '%s'", branch->gid);
	return queue_end(branch, sql, false);
}

/*
 * Success is the tag, not the absence of an error: in an aborted block both
 * COMMIT and PREPARE TRANSACTION succeed with the tag ROLLBACK.
 */
static bool
has_done(const TxnBranch *branch, const char *tag)
{
	return branch->end_request &&
		remote_request_state(branch->end_request) == REMOTE_REQUEST_DONE &&
		strcmp(remote_result_tag(remote_request_result(branch->end_request)),
			   tag) == 0;
}

/*
 * A request to cancel that meets COMMIT or PREPARE TRANSACTION before it is
 * carried out leaves a failed block behind; any other answer is its end.
 */
static void
note_failed_end(TxnBranch *branch)
{
	if (remote_request_state(branch->end_request) == REMOTE_REQUEST_DONE)
		branch->state = BRANCH_ENDED;
	else if (remote_request_state(branch->end_request) != REMOTE_REQUEST_LOST)
		branch->state = BRANCH_BROKEN;
}

void
branch_note_answer_noerror(TxnBranch *branch)
{
	if (branch->end_request == NULL ||
		!remote_request_is_final(branch->end_request))
		return;
	switch (branch->state)
	{
		case BRANCH_PREPARING:
			if (has_done(branch, "PREPARE TRANSACTION"))
				branch->state = BRANCH_PREPARED;
			else
				note_failed_end(branch);
			break;
		case BRANCH_COMMITTING:
			note_failed_end(branch);
			break;
		case BRANCH_PREPARED:
			if (has_done(branch, "COMMIT PREPARED") ||
				has_done(branch, "ROLLBACK PREPARED"))
				branch->state = BRANCH_ENDED;
			break;
		case BRANCH_IDLE:
		case BRANCH_OPEN:
		case BRANCH_BROKEN:
		case BRANCH_LOST:
		case BRANCH_ENDED:
			break;
	}
}

RemoteRequest *
branch_end_request(const TxnBranch *branch)
{
	return branch->end_request;
}

const char *
branch_gid(const TxnBranch *branch)
{
	return branch->gid;
}
