/*-------------------------------------------------------------------------
 *
 * recovery_shard.c
 *	  Recovery of one shard, as a state machine that never waits.
 *
 * The order of observation is the heart of it (C): the shard's list of
 * prepared transactions first, then whether the local transaction still runs,
 * then the log under a snapshot taken after that.  A transaction that commits
 * meanwhile is seen running, or is found in the log; in any other order it
 * could be taken for aborted while its COMMIT PREPARED is on the way.
 *
 * Whoever recovers holds an advisory lock on the shard, named after this
 * coordinator, database and server, from before the list until the end, so
 * that only one does.  What another incarnation of this coordinator has
 * prepared is touched only while it is proven to have no session there (F);
 * that is asked between the list and the look at what runs here.
 *
 * A branch is finished on a connection of the user who prepared it, since the
 * shard lets only him (or a superuser) do it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "txn/decision.h"
#include "txn/incarnation.h"
#include "txn/local_xact.h"
#include "txn/recovery_catalog.h"
#include "txn/recovery_conn.h"
#include "txn/recovery_presence.h"
#include "txn/recovery_questions.h"
#include "txn/recovery_shard_internal.h"
#include "txn/shard_session.h"
#include "txn/sync_rep.h"

/* commits and rollbacks on their way at a time */
#define MAX_ACTIONS 1000

/* how often and how long to try for the lock, and to wait for a standby */
#define LOCK_RETRY_MS 100
#define LOCK_LIMIT_MS 2000
#define STANDBY_RETRY_MS 20
#define STANDBY_LIMIT_MS 1000

#define LIST_SQL \
	"SELECT gid, (extract(epoch FROM prepared) OPERATOR(pg_catalog.*) 1000000)" \
	"::pg_catalog.int8 FROM pg_catalog.pg_prepared_xacts " \
	"WHERE database OPERATOR(pg_catalog.=) pg_catalog.current_database()"

/* microseconds between 1970 and the server's epoch */
#define EPOCH_DIFFERENCE \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* ---- small helpers ---- */

static void
change_state(RecoveryShard *shard, ShardState state)
{
	shard->state = state;
	shard->state_since = GetCurrentTimestamp();
	shard->next_try = 0;
}

static bool
has_lasted(const RecoveryShard *shard, int ms)
{
	return TimestampDifferenceExceeds(shard->state_since, GetCurrentTimestamp(),
									  ms);
}

static void
note_error(RecoveryShard *shard, char *error)
{
	if (shard->report->error == NULL)
		shard->report->error = error;
}

static void
note_failure(RecoveryShard *shard, RemoteRequest *request)
{
	shard->report->failed++;
	note_error(shard, recovery_conn_error(request));
}

/*
 * Makes a connection with a user's mapping; NULL, with the reason, when there
 * is none or it must not be used.
 */
static RemoteConn *
open_conn(RecoveryShard *shard, Oid userid, char **error)
{
	RemoteConn *conn = recovery_conn_open(userid, shard->report->serverid, error);

	if (conn == NULL)
		return NULL;
	if (!shard->looks_only)
		remote_conn_set_setup(conn,
							  incarnation_hold_sql(remote_conn_pooling(conn)));
	shard->conns = lappend(shard->conns, conn);
	return conn;
}

/*
 * The connection on which to finish what a user has prepared; if his mapping
 * is gone, the one that holds the lock may have the rights.
 */
static RemoteConn *
conn_for_user(RecoveryShard *shard, Oid userid)
{
	ListCell   *cell;
	RemoteConn *conn;
	char	   *error = NULL;

	foreach(cell, shard->conns)
	{
		if (remote_conn_userid(lfirst(cell)) == userid)
			return lfirst(cell);
	}
	conn = open_conn(shard, userid, &error);
	return conn ? conn : shard->main;
}

static void start_asking(RecoveryShard *shard);

/* ---- listing ---- */

/*
 * The same number on every coordinator that has our identity, so on a clone
 * as well; the server is part of it because two servers may lead to one
 * database.
 */
static int64
lock_key(const RecoveryShard *shard)
{
	struct
	{
		uint64		identity;
		uint32		database;
		uint32		server;
	}			name;

	name.identity = shard->identity;
	name.database = MyDatabaseId;
	name.server = shard->report->serverid;
	return (int64) hash_bytes_extended((const unsigned char *) &name,
									   sizeof(name), 0);
}

/*
 * Behind a pooler that has no sessions there is nobody to hold a lock.
 */
static bool
takes_lock(const RecoveryShard *shard)
{
	return !shard->looks_only &&
		remote_conn_pooling(shard->main) != REMOTE_POOLING_TRANSACTION;
}

static void
queue_listing(RecoveryShard *shard)
{
	char	   *lock_sql;

	if (!takes_lock(shard))
		lock_sql = "SELECT pg_catalog.pg_is_in_recovery(), true";
	else
		lock_sql = psprintf("SELECT pg_catalog.pg_is_in_recovery(), "
							"pg_catalog.pg_try_advisory_lock(" INT64_FORMAT ")",
							lock_key(shard));
	shard->lock_request = recovery_conn_queue(shard->main, lock_sql);
	shard->list_request = recovery_conn_queue(shard->main, LIST_SQL);
	change_state(shard, SHARD_LISTING);
}

/*
 * Takes the next mapping and lists with it.
 */
static void
start(RecoveryShard *shard)
{
	shard->main = NULL;
	while (shard->users != NIL && shard->main == NULL)
	{
		Oid			userid = linitial_oid(shard->users);
		char	   *error = NULL;

		shard->users = list_delete_first(shard->users);
		shard->main = open_conn(shard, userid, &error);
		if (shard->main == NULL)
			note_error(shard, error);
	}
	if (shard->main)
		queue_listing(shard);
	else
		change_state(shard, SHARD_FINISHED);
}

/*
 * A branch belongs to the server in its name; what a dropped server left
 * behind is taken over by any that leads to the same database.
 */
static bool
is_of_shard(const RecoveryShard *shard, const Gid *gid)
{
	return gid_is_ours(gid, shard->identity, MyDatabaseId) &&
		(gid->server == shard->report->serverid ||
		 !recovery_catalog_has_server(gid->server));
}

static void
add_task(RecoveryShard *shard, const Gid *gid, const char *prepared_at)
{
	BranchTask *task = palloc0(sizeof(BranchTask));

	task->gid = *gid;
	task->prepared_at = strtoll(prepared_at, NULL, 10) - EPOCH_DIFFERENCE;
	task->facts.is_prepared = true;
	task->participant = recovery_rows_find(shard->rows, gid->xid, gid->token,
										   gid->branch);
	if (task->participant)
		task->participant->is_prepared = true;
	incarnation_fence_add(shard->fence, gid->incarnation);
	shard->tasks = lappend(shard->tasks, task);
}

static void
read_list(RecoveryShard *shard)
{
	RemoteResult *result = remote_request_result(shard->list_request);
	int			row;

	for (row = 0; row < remote_result_nrows(result); row++)
	{
		Gid			gid;

		if (gid_parse(remote_result_value(result, row, 0), &gid) &&
			is_of_shard(shard, &gid))
			add_task(shard, &gid, remote_result_value(result, row, 1));
	}
}

/*
 * Observes, in the order of (C), what is known here of each branch.
 */
static void
gather_facts(RecoveryShard *shard)
{
	ListCell   *cell;

	foreach(cell, shard->tasks)
	{
		BranchTask *task = lfirst(cell);
		const Gid  *gid = &task->gid;

		task->facts.is_incarnation_alive =
			incarnation_fence_is_alive(shard->fence, gid->incarnation);
		task->facts.is_running = local_xact_is_running(gid->xid);
		if (!task->facts.is_running)
			task->facts.is_logged = commit_log_exists(gid->xid, gid->token);
	}
	shard->decision_lsn = sync_rep_position_noerror();
}

/*
 * Who only looks does not have the lock: somebody else may have finished a
 * branch, and its row may be gone, since the list was made.  So what seems to
 * have aborted is looked for in the list once more.
 */
static bool
start_confirming_if_needed(RecoveryShard *shard)
{
	ListCell   *cell;

	foreach(cell, shard->tasks)
	{
		const BranchFacts *facts = &((BranchTask *) lfirst(cell))->facts;

		if (facts->is_running || facts->is_incarnation_alive ||
			facts->is_logged)
			continue;
		remote_request_release(shard->list_request);
		shard->list_request = recovery_conn_queue(shard->main, LIST_SQL);
		change_state(shard, SHARD_CONFIRMING);
		return true;
	}
	return false;
}

static int
compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *) left, *(const char *const *) right);
}

/*
 * Drops the tasks that are not in the list any more.
 */
static void
drop_finished_tasks(RecoveryShard *shard)
{
	RemoteResult *result = remote_request_result(shard->list_request);
	int			nnames = remote_result_nrows(result);
	const char **names = palloc(sizeof(char *) * Max(nnames, 1));
	List	   *kept = NIL;
	ListCell   *cell;
	int			row;

	for (row = 0; row < nnames; row++)
		names[row] = remote_result_value(result, row, 0);
	qsort(names, nnames, sizeof(char *), compare_names);
	foreach(cell, shard->tasks)
	{
		char		gid[GID_MAX_LENGTH + 1];
		const char *name = gid;

		gid_format(&((BranchTask *) lfirst(cell))->gid, gid);
		if (bsearch(&name, names, nnames, sizeof(char *), compare_names))
			kept = lappend(kept, lfirst(cell));
	}
	shard->tasks = kept;
}

static void
finish_confirming(RecoveryShard *shard)
{
	if (!remote_request_is_final(shard->list_request))
		return;
	if (remote_request_state(shard->list_request) != REMOTE_REQUEST_DONE)
	{
		note_failure(shard, shard->list_request);
		change_state(shard, SHARD_FINISHED);
		return;
	}
	drop_finished_tasks(shard);
	start_asking(shard);
}

static void
list_is_known(RecoveryShard *shard)
{
	gather_facts(shard);
	if (!shard->looks_only)
		change_state(shard, SHARD_AWAITING_STANDBY);
	else if (!start_confirming_if_needed(shard))
		start_asking(shard);
}

static void
start_fencing(RecoveryShard *shard)
{
	shard->fence_request = incarnation_fence_ask(shard->fence, shard->main);
	if (shard->fence_request)
		change_state(shard, SHARD_FENCING);
	else
		list_is_known(shard);
}

static void
finish_fencing(RecoveryShard *shard)
{
	if (!remote_request_is_final(shard->fence_request))
		return;
	if (remote_request_state(shard->fence_request) == REMOTE_REQUEST_DONE)
	{
		incarnation_fence_read(shard->fence, shard->fence_request);
		list_is_known(shard);
		return;
	}
	note_failure(shard, shard->fence_request);
	change_state(shard, SHARD_FINISHED);
}

static void
lock_was_refused(RecoveryShard *shard)
{
	if (shard->lock_wanted_since == 0)
		shard->lock_wanted_since = GetCurrentTimestamp();
	if (TimestampDifferenceExceeds(shard->lock_wanted_since,
								   GetCurrentTimestamp(), LOCK_LIMIT_MS))
	{
		shard->report->waiting++;
		note_error(shard, pstrdup("another recovery of this coordinator is at work on the server"));
		change_state(shard, SHARD_FINISHED);
		return;
	}
	change_state(shard, SHARD_LOCKED_OUT);
	shard->next_try = TimestampTzPlusMilliseconds(shard->state_since,
												  LOCK_RETRY_MS);
}

static bool
is_answer_true(RemoteRequest *request, int col)
{
	return strcmp(remote_result_value(remote_request_result(request), 0, col),
				  "t") == 0;
}

static void
finish_listing(RecoveryShard *shard)
{
	RemoteRequest *lock = shard->lock_request;
	RemoteRequest *list = shard->list_request;

	if (!remote_request_is_final(lock) || !remote_request_is_final(list))
		return;
	if (remote_request_state(lock) != REMOTE_REQUEST_DONE ||
		remote_request_state(list) != REMOTE_REQUEST_DONE)
	{
		note_error(shard, recovery_conn_error(remote_request_state(lock) ==
											  REMOTE_REQUEST_DONE ? list : lock));
		/* it may have got the lock, which would keep the next one out */
		remote_conn_close_noerror(shard->main);
		change_state(shard, SHARD_START);
	}
	else if (is_answer_true(lock, 0))
	{
		/* it knows nothing for certain, and nothing can be done there */
		note_error(shard, pstrdup("the server is a standby"));
		change_state(shard, SHARD_FINISHED);
	}
	else if (!is_answer_true(lock, 1))
		lock_was_refused(shard);
	else
	{
		shard->report->error = NULL;	/* of mappings tried before */
		read_list(shard);
		start_fencing(shard);
	}
}

/* ---- acting ---- */

static void
start_action(BranchTask *task, RemoteConn *conn)
{
	char		gid[GID_MAX_LENGTH + 1];

	gid_format(&task->gid, gid);
	task->request =
		recovery_conn_queue(conn,
							psprintf("%s PREPARED '%s'",
									 task->action == BRANCH_ACTION_COMMIT ? "COMMIT" : "ROLLBACK",
									 gid));
}

/*
 * The user's mapping does not lead to the shard any more: his password was
 * changed there, or he was dropped.  The one that holds the lock may have the
 * rights.
 */
static void
repeat_action_if_needed(RecoveryShard *shard, BranchTask *task)
{
	RemoteRequest *request = task->request;

	if (request == NULL ||
		remote_request_state(request) != REMOTE_REQUEST_LOST ||
		remote_request_conn(request) == shard->main)
		return;
	task->user_error = recovery_conn_error(request);
	remote_request_release(request);
	start_action(task, shard->main);
}

/*
 * Does a commit decided here have to reach a standby first?
 */
static bool
must_await_standby(const RecoveryShard *shard)
{
	ListCell   *cell;

	foreach(cell, shard->tasks)
	{
		if (((BranchTask *) lfirst(cell))->facts.is_logged)
			return !sync_rep_is_flushed_noerror(shard->decision_lsn);
	}
	return false;
}

/*
 * What is prepared here has come along when the shard was failed over or
 * restored, and its transaction id is still its own.  That has to be in the
 * row before the branch is gone (D).
 */
static void
note_histories(RecoveryShard *shard)
{
	ShardHistory now =
	shard_session_parse(remote_conn_setup_answer(shard->main)).history;
	ListCell   *cell;

	foreach(cell, shard->tasks)
	{
		RecoveryParticipant *participant = ((BranchTask *) lfirst(cell))->participant;

		if (participant &&
			shard_history_has_branched(&participant->who->history, &now))
			recovery_rows_set_history(participant, &now);
	}
}

/*
 * Begins the next actions; false when there are no more.  Branches that have
 * to wait, or that fail each time, hold up none behind them.
 */
static bool
begin_actions(RecoveryShard *shard)
{
	shard->acting = NIL;
	while (shard->next_task < list_length(shard->tasks) &&
		   list_length(shard->acting) < MAX_ACTIONS)
	{
		BranchTask *task = list_nth(shard->tasks, shard->next_task++);

		if (task->action != BRANCH_ACTION_COMMIT &&
			task->action != BRANCH_ACTION_ROLLBACK)
			continue;
		start_action(task, conn_for_user(shard, task->gid.user));
		shard->acting = lappend(shard->acting, task);
	}
	return shard->acting != NIL;
}

static void
start_acting(RecoveryShard *shard)
{
	bool		is_safe = !must_await_standby(shard);
	ListCell   *cell;

	if (!is_safe && !has_lasted(shard, STANDBY_LIMIT_MS))
	{
		shard->next_try = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													  STANDBY_RETRY_MS);
		return;
	}
	note_histories(shard);
	foreach(cell, shard->tasks)
	{
		BranchTask *task = lfirst(cell);

		task->facts.is_decision_safe = is_safe;
		task->action = decision_branch_action(&task->facts);
		if (task->action == BRANCH_ACTION_WAIT)
			shard->report->waiting++;
		if (task->facts.is_incarnation_alive)
		{
			note_error(shard, pstrdup("another incarnation of this coordinator is connected to the server"));
			shard->has_more = true;
		}
	}
	if (!is_safe)
	{
		note_error(shard, pstrdup("the synchronous standby has not confirmed the decision"));
		shard->has_more = true;
	}
	begin_actions(shard);
	change_state(shard, SHARD_ACTING);
}

static void
action_succeeded(RecoveryShard *shard, BranchTask *task)
{
	task->is_finished = true;
	if (task->action == BRANCH_ACTION_ROLLBACK)
	{
		shard->report->rolled_back++;
		return;
	}
	shard->report->committed++;
	if (task->participant && task->participant->state == PARTICIPANT_OPEN)
		recovery_rows_set_state(task->participant, PARTICIPANT_PAST);
}

static void
finish_action(RecoveryShard *shard, BranchTask *task)
{
	int			sqlstate = recovery_conn_sqlstate(task->request);

	if (remote_request_state(task->request) == REMOTE_REQUEST_DONE)
		action_succeeded(shard, task);
	else if (sqlstate == ERRCODE_UNDEFINED_OBJECT)
	{
		/* somebody else finished it: what became of it is asked next */
		task->is_finished = true;
		if (task->participant)
			task->participant->is_prepared = false;
	}
	else if (sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
	{
		/* somebody else is just doing it */
		shard->report->waiting++;
		shard->has_more = true;
	}
	else
	{
		if (task->user_error)
			note_error(shard, task->user_error);
		note_failure(shard, task->request);
	}
	remote_request_release(task->request);
	task->request = NULL;
}

/* ---- asking ---- */

static void
start_asking(RecoveryShard *shard)
{
	List	   *open = recovery_rows_on_server(shard->rows,
											   shard->report->serverid,
											   PARTICIPANT_OPEN);
	ListCell   *cell;

	foreach(cell, open)
	{
		RecoveryParticipant *participant = lfirst(cell);

		if (!participant->is_prepared)
			recovery_questions_add(shard->questions, shard->main,
								   participant);
	}
	change_state(shard, SHARD_ASKING);
}

static void
finish_acting(RecoveryShard *shard)
{
	ListCell   *cell;

	foreach(cell, shard->acting)
		repeat_action_if_needed(shard, lfirst(cell));
	foreach(cell, shard->acting)
	{
		if (!remote_request_is_final(((BranchTask *) lfirst(cell))->request))
			return;
	}
	foreach(cell, shard->acting)
		finish_action(shard, lfirst(cell));
	if (!begin_actions(shard))
		start_asking(shard);
}

/*
 * Is the branch ours to see through, and still prepared?
 */
static bool
is_unsettled(const BranchTask *task)
{
	return !task->facts.is_incarnation_alive && !task->is_finished;
}

/*
 * Gives the lock of the recovery back.  While something is unsettled the
 * session may stay (recovery_presence.h), and then stands for the earlier
 * incarnations of ours, too, that have left it behind.
 */
static void
start_unlocking(RecoveryShard *shard)
{
	uint64		adopted = 0;	/* the last one */
	ListCell   *cell;

	shard->needs_presence = recovery_rows_on_server(shard->rows,
													shard->report->serverid,
													PARTICIPANT_OPEN) != NIL;
	foreach(cell, shard->tasks)
	{
		const BranchTask *task = lfirst(cell);

		if (!is_unsettled(task))
			continue;
		shard->needs_presence = true;
		if (!recovery_presence_is_enabled() ||
			task->gid.incarnation == incarnation_own() ||
			task->gid.incarnation == adopted)
			continue;
		adopted = task->gid.incarnation;
		remote_request_release(recovery_conn_queue(shard->main,
												   incarnation_adopt_sql(shard->identity,
																		 adopted)));
	}
	shard->unlock_request =
		recovery_conn_queue(shard->main,
							psprintf("SELECT pg_catalog.pg_advisory_unlock(" INT64_FORMAT ")",
									 lock_key(shard)));
	change_state(shard, SHARD_UNLOCKING);
}

static void
finish_asking(RecoveryShard *shard)
{
	if (!recovery_questions_advance(shard->questions))
		return;
	if (recovery_questions_has_more(shard->questions))
		shard->has_more = true;
	if (takes_lock(shard))
		start_unlocking(shard);
	else
		change_state(shard, SHARD_FINISHED);
}

/* ---- the machine ---- */

RecoveryShard *
recovery_shard_create(Oid serverid, uint64 identity, RecoveryRows *rows,
					  bool looks_only)
{
	RecoveryShard *shard = palloc0(sizeof(RecoveryShard));
	ForeignServer *server = GetForeignServer(serverid);

	shard->report = palloc0(sizeof(RecoveryReport));
	shard->report->serverid = serverid;
	shard->report->server_name = server->servername;
	shard->identity = identity;
	shard->fence = incarnation_fence_create(identity);
	shard->rows = rows;
	shard->looks_only = looks_only;
	shard->questions = recovery_questions_create(shard->report);
	shard->users = recovery_catalog_users(serverid);
	if (shard->users == NIL &&
		recovery_rows_on_server(rows, serverid, PARTICIPANT_OPEN) != NIL)
		note_error(shard, pstrdup("no user mapping is left to reach the server with"));
	change_state(shard, SHARD_START);
	return shard;
}

static void
advance_one_step(RecoveryShard *shard)
{
	if (shard->next_try != 0 && GetCurrentTimestamp() < shard->next_try)
		return;
	switch (shard->state)
	{
		case SHARD_START:
			start(shard);
			break;
		case SHARD_LISTING:
			finish_listing(shard);
			break;
		case SHARD_LOCKED_OUT:
			queue_listing(shard);
			break;
		case SHARD_FENCING:
			finish_fencing(shard);
			break;
		case SHARD_CONFIRMING:
			finish_confirming(shard);
			break;
		case SHARD_AWAITING_STANDBY:
			start_acting(shard);
			break;
		case SHARD_ACTING:
			finish_acting(shard);
			break;
		case SHARD_ASKING:
			finish_asking(shard);
			break;
		case SHARD_UNLOCKING:
			if (remote_request_is_final(shard->unlock_request))
			{
				shard->is_over = true;
				change_state(shard, SHARD_FINISHED);
			}
			break;
		case SHARD_FINISHED:
			break;
	}
}

bool
recovery_shard_advance(RecoveryShard *shard)
{
	ShardState	state;

	do
	{
		state = shard->state;
		advance_one_step(shard);
	} while (shard->state != state);
	return state == SHARD_FINISHED;
}

void
recovery_shard_give_up(RecoveryShard *shard, const char *reason)
{
	ListCell   *cell;

	/* what has been answered counts */
	foreach(cell, shard->tasks)
	{
		BranchTask *task = lfirst(cell);

		if (task->request && remote_request_is_final(task->request))
			finish_action(shard, task);
	}

	/* up to here only giving the lock back was left, which closing does too */
	if (shard->state != SHARD_UNLOCKING)
		note_error(shard, pstrdup(reason));
	change_state(shard, SHARD_FINISHED);
}

List *
recovery_shard_conns(const RecoveryShard *shard)
{
	return shard->conns;
}

TimestampTz
recovery_shard_next_try(const RecoveryShard *shard)
{
	return shard->next_try;
}

/*
 * The session that may stay leaves the pass with nothing outstanding.
 */
static void
update_presence_noerror(RecoveryShard *shard)
{
	RemoteConn *conn = NULL;

	if (!recovery_presence_is_enabled() || !shard->is_over)
		return;
	if (shard->needs_presence &&
		remote_conn_state(shard->main) == REMOTE_CONN_READY)
	{
		conn = shard->main;
		shard->conns = list_delete_ptr(shard->conns, conn);
		remote_request_orphan_level_noerror(conn, 0);
	}
	recovery_presence_set_noerror(shard->report->serverid, conn);
}

void
recovery_shard_free_noerror(RecoveryShard *shard)
{
	ListCell   *cell;

	update_presence_noerror(shard);
	foreach(cell, shard->conns)
		remote_conn_free_noerror(lfirst(cell));
	shard->conns = NIL;
}
