/*-------------------------------------------------------------------------
 *
 * recovery_found.c
 *	  What a recovery pass over one shard has found there.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "txn/local_xact.h"
#include "txn/recovery_shard_internal.h"

RecoveryReport *
recovery_shard_report(RecoveryShard *shard)
{
	RecoveryReport *report = shard->report;

	report->lost = list_length(recovery_rows_on_server(shard->rows,
													   report->serverid,
													   PARTICIPANT_LOST));
	report->is_complete = shard->state == SHARD_FINISHED && !shard->has_more &&
		report->error == NULL && report->failed == 0 && report->lost == 0;
	return report;
}

static RecoveryBranchState
state_of_task(const BranchTask *task)
{
	if (task->facts.is_running)
		return local_xact_is_prepared(task->gid.xid) ? RECOVERY_USER_PREPARED :
			RECOVERY_RUNNING;
	if (task->facts.is_incarnation_alive)
		return RECOVERY_ELSEWHERE;
	return task->facts.is_logged ? RECOVERY_COMMIT_PENDING : RECOVERY_ABORT_PENDING;
}

static RecoveryBranch *
branch_of_task(const BranchTask *task)
{
	RecoveryBranch *branch = palloc(sizeof(RecoveryBranch));

	branch->gid = task->gid;
	branch->state = state_of_task(task);
	branch->since = task->participant ? task->participant->entry->logged_at :
		task->prepared_at;
	return branch;
}

static RecoveryBranch *
branch_of_participant(const RecoveryShard *shard,
					  const RecoveryParticipant *participant)
{
	RecoveryBranch *branch = palloc(sizeof(RecoveryBranch));

	branch->gid.identity = shard->identity;
	branch->gid.database = MyDatabaseId;
	branch->gid.incarnation = participant->entry->incarnation;
	branch->gid.xid = participant->entry->xid;
	branch->gid.token = participant->entry->token;
	branch->gid.branch = participant->who->branch;
	branch->gid.server = participant->who->serverid;
	branch->gid.user = participant->who->userid;
	branch->since = participant->entry->logged_at;
	if (participant->state == PARTICIPANT_LOST)
		branch->state = RECOVERY_LOST;
	else
		branch->state = shard->report->error ? RECOVERY_UNREACHABLE :
			RECOVERY_COMMIT_PENDING;
	return branch;
}

List *
recovery_shard_branches(const RecoveryShard *shard)
{
	Oid			serverid = shard->report->serverid;
	List	   *others;
	List	   *branches = NIL;
	ListCell   *cell;

	foreach(cell, shard->tasks)
		branches = lappend(branches, branch_of_task(lfirst(cell)));
	others = list_concat(recovery_rows_on_server(shard->rows, serverid,
												 PARTICIPANT_OPEN),
						 recovery_rows_on_server(shard->rows, serverid,
												 PARTICIPANT_LOST));
	foreach(cell, others)
	{
		RecoveryParticipant *participant = lfirst(cell);

		if (!participant->is_prepared)
			branches = lappend(branches,
							   branch_of_participant(shard, participant));
	}
	return branches;
}
