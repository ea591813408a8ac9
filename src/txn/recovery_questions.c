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

/* questions on their way at a time */
#define MAX_QUESTIONS 1000

typedef struct Question
{
	RecoveryParticipant *participant;
	RemoteRequest *request;
} Question;

struct RecoveryQuestions
{
	RecoveryReport *report;
	RemoteConn *conn;
	List	   *participants;	/* to ask for */
	int			next_participant;	/* the first one not asked for yet */
	RemoteRequest *history_request; /* NULL: not asked, or answered */
	bool		has_history;	/* answered, in: */
	ShardHistory now;
	List	   *asked;			/* of Question: on their way */
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

static void
ask(RecoveryQuestions *questions, RecoveryParticipant *participant)
{
	Question   *question = palloc(sizeof(Question));
	char	   *sql = psprintf("SELECT pg_catalog.pg_xact_status('" UINT64_FORMAT "'::pg_catalog.xid8)",
							   participant->who->remote_xid);

	question->participant = participant;
	question->request = recovery_conn_queue(questions->conn, sql);
	questions->asked = lappend(questions->asked, question);
}

/*
 * Asks the next questions; false when there are no more.  Participants about
 * whom no answer decides hold up none behind them.
 */
static bool
ask_next(RecoveryQuestions *questions)
{
	if (questions->participants != NIL && questions->next_participant == 0)
		questions->history_request =
			recovery_conn_queue(questions->conn, "SELECT " SHARD_HISTORY_SQL);
	while (questions->next_participant < list_length(questions->participants) &&
		   list_length(questions->asked) < MAX_QUESTIONS)
		ask(questions, list_nth(questions->participants,
								questions->next_participant++));
	return questions->asked != NIL;
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
			questions->conn = conn;
			questions->participants = lappend(questions->participants,
											  participant);
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

static bool
is_answered(const RecoveryQuestions *questions)
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

static void
finish_history(RecoveryQuestions *questions)
{
	RemoteRequest *history = questions->history_request;

	questions->has_history = remote_request_state(history) == REMOTE_REQUEST_DONE;
	if (questions->has_history)
		questions->now =
			shard_history_parse(remote_result_value(remote_request_result(history), 0, 0));
	else
		note_failure(questions, history);
	remote_request_release(history);
	questions->history_request = NULL;
}

static void
finish_asked(RecoveryQuestions *questions)
{
	ListCell   *cell;

	if (questions->history_request)
		finish_history(questions);
	foreach(cell, questions->asked)
	{
		Question   *question = lfirst(cell);

		if (questions->has_history)
			finish_question(questions, question);
		remote_request_release(question->request);
	}
	questions->asked = NIL;
}

bool
recovery_questions_advance(RecoveryQuestions *questions)
{
	do
	{
		if (!is_answered(questions))
			return false;
		finish_asked(questions);
	} while (ask_next(questions));
	return true;
}

bool
recovery_questions_has_more(const RecoveryQuestions *questions)
{
	return questions->has_more;
}
