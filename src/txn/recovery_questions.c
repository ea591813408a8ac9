/*-------------------------------------------------------------------------
 *
 * recovery_questions.c
 *	  What has become of a branch that is not prepared any more.
 *
 * The shard is asked for the state of the branch's transaction id.  First of
 * all it is asked who it is: another server at the same address knows nothing
 * of the branch, and one that was failed over to a standby, or restored, may
 * have given the id to another transaction since.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/compat.h"
#include "txn/decision.h"
#include "txn/local_xact.h"
#include "txn/recovery_conn.h"
#include "txn/recovery_questions.h"
#include "txn/shard_history.h"

/* questions asked in one pass */
#define MAX_QUESTIONS 1000

typedef struct Question
{
	RecoveryParticipant *participant;
	RemoteRequest *request;
} Question;

struct RecoveryQuestions
{
	RecoveryReport *report;
	RemoteRequest *history_request; /* NULL: nothing has been asked */
	ShardHistory now;
	List	   *asked;			/* of Question */
	bool		has_more;		/* something is left for another pass */
};

RecoveryQuestions *
recovery_questions_create(RecoveryReport *report)
{
	RecoveryQuestions *questions = palloc0(sizeof(RecoveryQuestions));

	questions->report = report;
	return questions;
}

static void
note_error(RecoveryQuestions *questions, char *error)
{
	if (questions->report->error == NULL)
		questions->report->error = error;
}

static void
note_failure(RecoveryQuestions *questions, RemoteRequest *request)
{
	questions->report->failed++;
	note_error(questions, recovery_conn_error(request));
}

/*
 * The shard was failed over to a server that had not got the prepared
 * transaction, or somebody rolled it back by hand.  Nothing can be repaired
 * from here; it must not go unnoticed (D).
 */
static void
participant_is_lost(RecoveryQuestions *questions,
					RecoveryParticipant *participant, const char *answer)
{
	RecoveryReport *report = questions->report;
	char	   *incident;

	recovery_rows_set_state(participant, PARTICIPANT_LOST);
	incident = psprintf("branch %u of committed transaction " UINT64_FORMAT
						" is no longer prepared, and the answer for its transaction "
						UINT64_FORMAT " on the server is: %s",
						participant->who->branch, participant->entry->xid,
						participant->who->remote_xid, answer);
	report->incidents = lappend(report->incidents, incident);
}

/* ---- asking ---- */

static RemoteRequest *
queue_segment(RemoteConn *conn, const char *sql)
{
	RemoteRequest *request = remote_request_queue_sql(conn, sql, 0);

	remote_request_queue_sync(conn);
	return request;
}

static void
ask(RecoveryQuestions *questions, RemoteConn *conn,
	RecoveryParticipant *participant)
{
	Question   *question = palloc(sizeof(Question));
	char	   *sql = psprintf("SELECT pg_catalog.pg_xact_status('" UINT64_FORMAT "'::pg_catalog.xid8)",
							   participant->who->remote_xid);

	if (questions->history_request == NULL)
		questions->history_request =
			queue_segment(conn, "SELECT " SHARD_HISTORY_SQL);
	question->participant = participant;
	question->request = queue_segment(conn, sql);
	questions->asked = lappend(questions->asked, question);
}

void
recovery_questions_add(RecoveryQuestions *questions, RemoteConn *conn,
					   RecoveryParticipant *participant)
{
	BranchFacts facts = {0};

	facts.is_logged = true;
	facts.is_running = local_xact_is_running(participant->entry->xid);
	facts.is_remote_known = participant->who->remote_xid == 0;
	switch (decision_branch_action(&facts))
	{
		case BRANCH_ACTION_WAIT:
			questions->report->waiting++;
			break;
		case BRANCH_ACTION_ASK:
			if (list_length(questions->asked) < MAX_QUESTIONS)
				ask(questions, conn, participant);
			else
				questions->has_more = true;
			break;
		case BRANCH_ACTION_LOST:
			participant_is_lost(questions, participant, "never told");
			break;
		case BRANCH_ACTION_COMMIT:
		case BRANCH_ACTION_ROLLBACK:
		case BRANCH_ACTION_FORGET:
			break;				/* not with these facts */
	}
}

bool
recovery_questions_is_answered(const RecoveryQuestions *questions)
{
	ListCell   *cell;

	if (questions->history_request &&
		!remote_request_is_final(questions->history_request))
		return false;
	foreach(cell, questions->asked)
	{
		if (!remote_request_is_final(((Question *) lfirst(cell))->request))
			return false;
	}
	return true;
}

/* ---- answers ---- */

/*
 * Turns the shard's answer into facts; false when it is no answer.
 */
static bool
read_answer(RemoteRequest *request, BranchFacts *facts, const char **answer)
{
	RemoteResult *result = remote_request_result(request);

	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
	{
		*answer = remote_result_is_null(result, 0, 0) ? "too old to be known" :
			remote_result_value(result, 0, 0);
		facts->is_remote_committed = strcmp(*answer, "committed") == 0;
		facts->is_remote_in_progress = strcmp(*answer, "in progress") == 0;
		return true;
	}
	if (recovery_conn_sqlstate(request) == ERRCODE_INVALID_PARAMETER_VALUE)
	{
		/* the number has not been handed out there: it is another history */
		*answer = remote_result_message(result);
		return true;
	}
	return false;
}

static void
wait_with(RecoveryQuestions *questions, const BranchFacts *facts)
{
	questions->report->waiting++;
	questions->has_more = true;
	if (facts->is_remote_other_server)
		note_error(questions, pstrdup("the server is not the one that prepared the transactions"));
}

static void
finish_question(RecoveryQuestions *questions, const Question *question)
{
	RecoveryParticipant *participant = question->participant;
	BranchFacts facts = {0};
	const char *answer;

	facts.is_logged = true;
	facts.is_remote_known = true;
	if (!read_answer(question->request, &facts, &answer))
	{
		note_failure(questions, question->request);
		return;
	}
	facts.is_remote_other_server =
		shard_history_is_other_server(&participant->who->history,
									  &questions->now);
	facts.is_remote_branched =
		shard_history_has_branched(&participant->who->history,
								   &questions->now);
	if (facts.is_remote_committed && facts.is_remote_branched)
		answer = "committed, but it was failed over or restored since, so that this may be another transaction";
	switch (decision_branch_action(&facts))
	{
		case BRANCH_ACTION_FORGET:
			recovery_rows_set_state(participant, PARTICIPANT_PAST);
			break;
		case BRANCH_ACTION_LOST:
			participant_is_lost(questions, participant, answer);
			break;
		case BRANCH_ACTION_WAIT:
			wait_with(questions, &facts);
			break;
		case BRANCH_ACTION_ASK:
		case BRANCH_ACTION_COMMIT:
		case BRANCH_ACTION_ROLLBACK:
			break;				/* not with these facts */
	}
}

bool
recovery_questions_finish(RecoveryQuestions *questions)
{
	RemoteRequest *history = questions->history_request;
	bool		is_known = false;
	ListCell   *cell;

	if (history)
	{
		is_known = remote_request_state(history) == REMOTE_REQUEST_DONE;
		if (is_known)
			questions->now =
				shard_history_parse(remote_result_value(remote_request_result(history), 0, 0));
		else
			note_failure(questions, history);
		remote_request_release(history);
	}
	foreach(cell, questions->asked)
	{
		Question   *question = lfirst(cell);

		if (is_known)
			finish_question(questions, question);
		remote_request_release(question->request);
	}
	return questions->has_more;
}
