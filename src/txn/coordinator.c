/*-------------------------------------------------------------------------
 *
 * coordinator.c
 *	  The branches of the current local transaction, and how it commits.
 *
 * Steps of a two-phase commit, as in doc/commit-protocol.md:
 *
 *	PRE_COMMIT	P1	PREPARE TRANSACTION to all writers at once, await all
 *				P2	insert the log row; the commit will be synchronous
 *	core		P3	the commit record is on disk: decided
 *	COMMIT		P4	COMMIT PREPARED to all at once, await within a limit
 *	worker		P5	confirm and delete the row
 *	ABORT			ROLLBACK (PREPARED) to all; what cannot be reached is the
 *					worker's
 *
 * A crash before P3 leaves prepared transactions without a row, which
 * recovery rolls back (A); one after P3 leaves a row, and recovery commits.
 *
 * After P3 nothing may raise (G): the COMMIT arm and both abort arms call
 * only _noerror functions, and guard() catches what allocation may still
 * throw.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/catch_point.h"
#include "base/settings.h"
#include "remote/remote_cache.h"
#include "remote/remote_watch.h"
#include "txn/commit_log.h"
#include "txn/coordinator.h"
#include "txn/incarnation.h"
#include "txn/notify_watch.h"
#include "txn/sync_rep.h"

/* The open local transaction, as far as shards are concerned. */
static struct
{
	TxnBranch **branches;		/* in TopTransactionContext */
	int			nbranches;
	int			max_branches;
	CommitMethod method;		/* once chosen */
	uint64		xid;			/* of a two-phase commit */
	uint64		token;
	bool		is_log_written;
	bool		is_commit;		/* how it ended */
	uint64		last_statement; /* for coordinator_next_statement() */
}			current;

static CoordinatorNotify notify;

void
coordinator_set_notify(const CoordinatorNotify *new_notify)
{
	notify = *new_notify;
}

/* ---- handing out branches ---- */

static TxnBranch *
find_branch(const RemoteConn *conn)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		if (branch_conn(current.branches[position]) == conn)
			return current.branches[position];
	}
	return NULL;
}

static TxnBranch *
find_branch_of(Oid userid, Oid serverid)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		RemoteConn *conn = branch_conn(current.branches[position]);

		if (remote_conn_userid(conn) == userid &&
			remote_conn_serverid(conn) == serverid)
			return current.branches[position];
	}
	return NULL;
}

static void
remember_branch(TxnBranch *branch)
{
	if (current.branches == NULL)
	{
		current.max_branches = 16;
		current.branches = MemoryContextAlloc(TopTransactionContext,
											  current.max_branches *
											  sizeof(TxnBranch *));
	}
	else if (current.nbranches == current.max_branches)
	{
		current.max_branches *= 2;
		current.branches = repalloc(current.branches,
									current.max_branches *
									sizeof(TxnBranch *));
	}
	current.branches[current.nbranches++] = branch;
}

TxnBranch *
coordinator_get_branch(Oid userid, Oid serverid)
{
	TxnBranch  *branch = find_branch_of(userid, serverid);
	RemoteConn *conn;

	if (branch)
		return branch;
	conn = remote_cache_get(userid, serverid, true);

	/* COMMIT of a branch that only read is not awaited, and may have failed */
	if (remote_conn_is_quiet(conn) && remote_conn_is_in_block(conn))
		remote_conn_close_noerror(conn);
	remote_conn_reset_noerror(conn);
	remote_conn_set_setup(conn, incarnation_hold_sql(remote_conn_pooling(conn)));
	branch = branch_create(conn);
	remember_branch(branch);
	remote_conn_open(conn);
	return branch;
}

TxnBranch *
coordinator_get_branch_to_write(Oid userid, Oid serverid)
{
	TxnBranch  *branch = coordinator_get_branch(userid, serverid);

	if (!branch_may_have_written(branch))
		commit_log_lock_participant(serverid, userid, true);
	return branch;
}

uint64
coordinator_next_statement(void)
{
	return ++current.last_statement;
}

bool
coordinator_is_in_use(const RemoteConn *conn)
{
	return find_branch(conn) != NULL;
}

List *
coordinator_begun_branches(void)
{
	List	   *branches = NIL;
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		if (branch_has_begun(current.branches[position]))
			branches = lappend(branches, current.branches[position]);
	}
	return branches;
}

/* ---- shared by the steps ---- */

static TimestampTz
step_deadline(int limit_ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), limit_ms);
}

static bool
is_writer(const TxnBranch *branch)
{
	return branch_facts(branch)->xid != 0;
}

/*
 * The end requests of all branches that have one, as an array.
 */
static int
collect_end_requests(RemoteRequest **requests)
{
	int			nrequests = 0;
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		RemoteRequest *request = branch_end_request(current.branches[position]);

		if (request)
			requests[nrequests++] = request;
	}
	return nrequests;
}

static void
note_answers(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
		branch_note_answer_noerror(current.branches[position]);
}

static void
flush_all(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
		branch_flush(current.branches[position]);
}

/* ---- before the local commit ---- */

/*
 * What an executor left running for nobody is stopped where that harms
 * nothing: outside a block, or in one that has not written.
 */
static void
stop_orphans(void)
{
	RemoteConn **conns = palloc(sizeof(RemoteConn *) * current.nbranches);
	int			nconns = 0;
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];

		branch_flush(branch);
		if (remote_conn_runs_orphan(branch_conn(branch)))
			branch_stop_orphans(branch, true);
		if (branch_state(branch) == BRANCH_IDLE &&
			remote_conn_runs_orphan(branch_conn(branch)))
			conns[nconns++] = branch_conn(branch);
	}
	if (nconns > 0)
		remote_cancel_all_noerror(conns, nconns,
								  step_deadline(setting_cancel_timeout));
	pfree(conns);
}

/*
 * Waits until every shard has said whether we wrote there.
 */
static void
finish_probes(void)
{
	RemoteRequest **probes = palloc(sizeof(RemoteRequest *) * current.nbranches);
	int			nprobes;
	int			position;

	do
	{
		nprobes = 0;
		for (position = 0; position < current.nbranches; position++)
		{
			RemoteRequest *probe =
			branch_start_probe_if_needed(current.branches[position]);

			if (probe)
				probes[nprobes++] = probe;
		}
		remote_request_finish_all(probes, nprobes, 0);
	} while (nprobes > 0);
	pfree(probes);
}

static void
check_branches(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];

		/* a lost or failed branch that only read takes nothing with it */
		if (branch_may_have_written(branch) ||
			branch_state(branch) == BRANCH_BROKEN)
			branch_check_usable(branch);
	}
}

static CommitMethod
choose_method(bool is_user_prepare)
{
	CommitFacts facts = {0};
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		if (is_writer(current.branches[position]))
			facts.writers++;
	}
	facts.has_local_writes = TransactionIdIsValid(GetTopTransactionIdIfAny());
	facts.has_notifications = notify_watch_is_pending();
	facts.is_serializable = IsolationIsSerializable();
	facts.is_user_prepare = is_user_prepare;
	facts.is_two_phase_enabled = setting_two_phase_commit;
	return decision_commit_method(&facts);
}

/*
 * The answer to a one-phase COMMIT did not come: nobody but the shard knows.
 */
static void
report_unknown_outcome(TxnBranch *branch)
{
	RemoteConn *conn = branch_conn(branch);
	const BranchFactsFromShard *facts = branch_facts(branch);
	OnePhaseToken token = {0};
	char text[	GID_MAX_LENGTH + 1];

	/* reading it must not let a pending cancel take this error's place (I) */
	HOLD_INTERRUPTS();
	token.identity = commit_log_identity();
	RESUME_INTERRUPTS();
	token.database = MyDatabaseId;
	token.server = remote_conn_serverid(conn);
	token.user = remote_conn_userid(conn);
	token.remote_xid = facts->xid;
	token.start_time = facts->session.start_time;
	token.system = facts->session.history.system;
	one_phase_token_format(&token, text);
	ereport(ERROR,
			errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			errmsg("outcome of the transaction on server \"%s\" is not known",
				   remote_conn_server_name(conn)),
			errdetail("The answer to COMMIT did not arrive. The transaction has either committed there as a whole or not at all."),
			errhint("Ask with SELECT shard_fdw.transaction_status('%s') once the server can be reached.",
					text));
}

/*
 * A cancelled wait for COMMIT is no answer.  Stop what the shard does, which
 * may be a deferred trigger, and take the answer that comes.
 */
static void
finish_one_phase(TxnBranch *branch)
{
	RemoteRequest *request = branch_end_request(branch);
	RemoteConn *conn = branch_conn(branch);

	if (!remote_request_finish_all_noerror(&request, 1,
										   step_deadline(setting_commit_timeout),
										   true))
		remote_cancel_all_noerror(&conn, 1,
								  step_deadline(setting_cancel_timeout));
	branch_note_answer_noerror(branch);
	if (branch_state(branch) == BRANCH_COMMITTING)
		report_unknown_outcome(branch);

	/* committed all the same: the request to cancel came too late */
	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
		QueryCancelPending = false;
	if (remote_request_state(request) != REMOTE_REQUEST_DONE)
		remote_request_report(ERROR, request);
	if (strcmp(remote_result_tag(remote_request_result(request)), "COMMIT") != 0)
		ereport(ERROR,
				errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
				errmsg("server \"%s\" rolled the transaction back instead of committing it",
					   remote_conn_server_name(conn)));
}

/*
 * A COMMIT that was never sent leaves no doubt, so look first.
 */
static void
check_still_connected(TxnBranch *branch)
{
	RemoteConn *conn = branch_conn(branch);

	if (remote_conn_is_closed_by_peer(conn))
		ereport(ERROR,
				errcode(ERRCODE_CONNECTION_FAILURE),
				errmsg("connection to server \"%s\" was lost",
					   remote_conn_server_name(conn)),
				errdetail("The transaction was not committed."));
}

static void
commit_one_phase(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		if (is_writer(current.branches[position]))
			check_still_connected(current.branches[position]);
	}
	for (position = 0; position < current.nbranches; position++)
	{
		if (is_writer(current.branches[position]))
			branch_start_commit(current.branches[position]);
	}
	flush_all();
	for (position = 0; position < current.nbranches; position++)
	{
		if (is_writer(current.branches[position]))
			finish_one_phase(current.branches[position]);
	}
}

/*
 * Fail before anything is prepared where a shard cannot prepare.
 */
static void
check_prepare_possible(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];

		if (is_writer(branch) && branch_facts(branch)->session.max_prepared == 0)
			ereport(ERROR,
					errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("server \"%s\" cannot take part in a transaction across servers",
						   remote_conn_server_name(branch_conn(branch))),
					errdetail("Prepared transactions are disabled there."),
					errhint("Set max_prepared_transactions on that server to a value greater than zero."));
	}
}

static void
start_prepares(void)
{
	Gid			gid = {0};
	int			position;

	gid.identity = commit_log_identity();
	gid.database = MyDatabaseId;
	gid.incarnation = incarnation_own();
	gid.xid = current.xid;
	gid.token = current.token;
	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];

		if (!is_writer(branch))
			continue;
		gid.branch = position;
		gid.server = remote_conn_serverid(branch_conn(branch));
		gid.user = remote_conn_userid(branch_conn(branch));
		branch_start_prepare(branch, &gid);
	}
	flush_all();
}

static void
report_not_prepared(TxnBranch *branch)
{
	RemoteRequest *request = branch_end_request(branch);
	const char *server = remote_conn_server_name(branch_conn(branch));

	if (!remote_request_is_final(request))
		ereport(ERROR,
				errcode(ERRCODE_CONNECTION_FAILURE),
				errmsg("server \"%s\" did not prepare the transaction in time",
					   server),
				errhint("See the setting shard_fdw.commit_timeout."));
	if (remote_request_state(request) != REMOTE_REQUEST_DONE)
		remote_request_report(ERROR, request);
	ereport(ERROR,
			errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
			errmsg("server \"%s\" rolled the transaction back instead of preparing it",
				   server));
}

/*
 * P1.
 */
static void
finish_prepares(void)
{
	RemoteRequest **requests = palloc(sizeof(RemoteRequest *) * current.nbranches);
	int			nrequests = collect_end_requests(requests);
	int			position;

	remote_request_finish_all(requests, nrequests,
							  step_deadline(setting_commit_timeout));
	pfree(requests);
	note_answers();
	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];

		if (branch_end_request(branch) &&
			branch_state(branch) != BRANCH_PREPARED)
			report_not_prepared(branch);
	}
}

/*
 * P2.
 */
static void
write_log(void)
{
	CommitLogEntry entry = {0};
	int			position;

	entry.xid = current.xid;
	entry.token = current.token;
	entry.incarnation = incarnation_own();
	entry.logged_at = GetCurrentTimestamp();
	entry.participants = palloc0(sizeof(CommitLogParticipant) * current.nbranches);
	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];
		CommitLogParticipant *participant;

		if (branch_state(branch) != BRANCH_PREPARED)
			continue;
		participant = &entry.participants[entry.nparticipants++];
		participant->serverid = remote_conn_serverid(branch_conn(branch));
		participant->userid = remote_conn_userid(branch_conn(branch));
		participant->branch = position;
		participant->remote_xid = branch_facts(branch)->xid;
		participant->history = branch_facts(branch)->session.history;
	}
	commit_log_insert(&entry);
	current.is_log_written = true;
	ForceSyncCommit();
}

/*
 * Until the log row is there to speak for them, locks keep the servers and
 * user mappings of the writers from being dropped (J).
 */
static void
lock_participants(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		RemoteConn *conn = branch_conn(current.branches[position]);

		if (is_writer(current.branches[position]))
			commit_log_lock_participant(remote_conn_serverid(conn),
										remote_conn_userid(conn), false);
	}
}

/*
 * A session lost since its PREPARE no longer keeps other incarnations of this
 * coordinator away from what it prepared (F).  This is the last moment to give
 * up; later the worker has to be faster than they are.
 */
static void
check_fence_holds(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		if (branch_state(current.branches[position]) == BRANCH_PREPARED)
			check_still_connected(current.branches[position]);
	}
}

static void
prepare_two_phase(void)
{
	check_prepare_possible();
	lock_participants();
	if (notify.ensure_worker)
		notify.ensure_worker();
	current.xid = U64FromFullTransactionId(GetTopFullTransactionId());
	if (!pg_strong_random(&current.token, sizeof(current.token)))
		ereport(ERROR,
				errcode(ERRCODE_INTERNAL_ERROR),
				errmsg("could not generate random transaction token"));
	start_prepares();
	finish_prepares();
	write_log();
	check_fence_holds();
}

static void
pre_commit(bool is_user_prepare)
{
	if (current.nbranches == 0)
		return;
	stop_orphans();
	finish_probes();
	check_branches();
	current.method = choose_method(is_user_prepare);
	switch (current.method)
	{
		case COMMIT_METHOD_NONE:
			break;
		case COMMIT_METHOD_ONE_PHASE:
			commit_one_phase();
			break;
		case COMMIT_METHOD_TWO_PHASE:
			prepare_two_phase();
			break;
	}
}

/* ---- after the local commit ---- */

/*
 * Ends what only read, without waiting for the answer.
 */
static void
commit_readers_noerror(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];

		if (branch_state(branch) == BRANCH_OPEN)
			branch_start_commit(branch);
	}
	flush_all();
}

static void
warn_in_doubt_noerror(const TxnBranch *branch)
{
	ereport(WARNING,
			errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			errmsg("transaction is committed, but not yet on server \"%s\"",
				   remote_conn_server_name(branch_conn(branch))),
			errdetail("Prepared transaction \"%s\" will be committed there by the recovery worker.",
					  branch_gid(branch)),
			errhint("See the view shard_fdw.in_doubt."));
}

/*
 * P4.  Not before the wait for synchronous standbys has really succeeded (B):
 * core gives it up when the user cancels.
 */
static void
commit_prepared_noerror(void)
{
	RemoteRequest **requests = palloc(sizeof(RemoteRequest *) * current.nbranches);
	bool		is_settled = true;
	int			nrequests;
	int			position;

	if (sync_rep_is_confirmed_noerror(XactLastCommitEnd))
	{
		for (position = 0; position < current.nbranches; position++)
		{
			if (branch_state(current.branches[position]) == BRANCH_PREPARED)
				branch_start_commit_prepared(current.branches[position]);
		}
		flush_all();
		nrequests = collect_end_requests(requests);
		remote_request_finish_all_noerror(requests, nrequests,
										  step_deadline(setting_commit_timeout),
										  true);
		note_answers();
	}
	for (position = 0; position < current.nbranches; position++)
	{
		if (branch_state(current.branches[position]) != BRANCH_PREPARED)
			continue;
		is_settled = false;
		warn_in_doubt_noerror(current.branches[position]);
	}
	if (is_settled && notify.settled_noerror)
		notify.settled_noerror(current.xid, current.token);
	if (!is_settled && notify.wake_noerror)
		notify.wake_noerror();
}

/* ---- abort ---- */

static bool
is_in_end_step(const TxnBranch *branch)
{
	BranchState state = branch_state(branch);

	return state == BRANCH_PREPARING || state == BRANCH_COMMITTING;
}

/*
 * Stops what the shards still run for the transaction or its aborted part,
 * all at the same time.
 */
static void
stop_running_noerror(TimestampTz deadline)
{
	RemoteConn **conns = palloc(sizeof(RemoteConn *) * current.nbranches);
	int			nconns = 0;
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];
		RemoteConn *conn = branch_conn(branch);

		if (remote_conn_is_quiet(conn))
			continue;
		remote_flush_noerror(conn);
		if (!remote_conn_is_quiet(conn) &&
			(is_in_end_step(branch) || remote_conn_runs_orphan(conn)))
			conns[nconns++] = conn;
	}
	if (nconns > 0)
		remote_cancel_all_noerror(conns, nconns, deadline);
	pfree(conns);
}

static void
start_undo_noerror(TxnBranch *branch)
{
	switch (branch_state(branch))
	{
		case BRANCH_OPEN:
		case BRANCH_BROKEN:
			if (branch_has_begun(branch))
				branch_start_rollback(branch);
			break;
		case BRANCH_PREPARED:
			branch_start_rollback_prepared(branch);
			break;
		case BRANCH_PREPARING:
		case BRANCH_COMMITTING:
		case BRANCH_IDLE:
		case BRANCH_LOST:
		case BRANCH_ENDED:
			break;
	}
}

static void
abort_branches_noerror(void)
{
	TimestampTz deadline = step_deadline(setting_cancel_timeout);
	RemoteRequest **requests;
	bool		is_left_behind = false;
	int			nrequests;
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		RemoteConn *conn = branch_conn(current.branches[position]);

		remote_request_drop_unsent_noerror(conn);
		remote_request_orphan_level_noerror(conn, 1);
	}
	stop_running_noerror(deadline);
	note_answers();
	for (position = 0; position < current.nbranches; position++)
		start_undo_noerror(current.branches[position]);
	flush_all();
	requests = palloc(sizeof(RemoteRequest *) * current.nbranches);
	nrequests = collect_end_requests(requests);
	if (!remote_request_finish_all_noerror(requests, nrequests, deadline, false))
	{
		for (position = 0; position < current.nbranches; position++)
		{
			RemoteConn *conn = branch_conn(current.branches[position]);

			if (!remote_conn_is_quiet(conn))
				remote_conn_close_noerror(conn);
		}
	}
	note_answers();
	for (position = 0; position < current.nbranches; position++)
	{
		BranchState state = branch_state(current.branches[position]);

		is_left_behind |= state == BRANCH_PREPARING || state == BRANCH_PREPARED;
	}
	if (is_left_behind && notify.wake_noerror)
		notify.wake_noerror();
}

/* ---- the end in either case ---- */

static void
count_branch_noerror(TxnBranch *branch, bool is_commit)
{
	RemoteConnStats delta = branch_stats(branch);
	bool		was_prepared = branch_gid(branch)[0] != '\0';

	if (notify.count_branch_noerror)
		notify.count_branch_noerror(remote_conn_serverid(branch_conn(branch)),
									&delta, was_prepared,
									is_commit && was_prepared &&
									branch_state(branch) == BRANCH_ENDED,
									is_commit && is_writer(branch) &&
									current.method == COMMIT_METHOD_ONE_PHASE);
}

/*
 * Runs a step that must not raise.  What it might still throw (running out
 * of memory) ends here: the connections concerned are closed and the worker
 * is woken.
 */
static void
guard(void (*step) (void))
{
	CatchPoint	before = catch_point_here();

	PG_TRY();
	{
		step();
	}
	PG_CATCH();
	{
		int			position;

		catch_point_return(&before);
		for (position = 0; position < current.nbranches; position++)
			remote_conn_close_noerror(branch_conn(current.branches[position]));
		if (notify.wake_noerror)
			notify.wake_noerror();
	}
	PG_END_TRY();
}

static void
end_branches_noerror(void)
{
	int			position;

	for (position = 0; position < current.nbranches; position++)
	{
		TxnBranch  *branch = current.branches[position];
		RemoteConn *conn = branch_conn(branch);

		count_branch_noerror(branch, current.is_commit);
		remote_request_forget_observers_noerror(conn);
		remote_request_orphan_level_noerror(conn, 0);
		/* nobody will look after an attempt to connect from here on */
		if (remote_conn_state(conn) == REMOTE_CONN_CONNECTING)
			remote_cache_discard_noerror(conn);
		else
			remote_cache_end_use_noerror(conn);
	}
	if (current.nbranches > 0 && notify.count_transaction_noerror)
		notify.count_transaction_noerror(current.method, current.is_commit);
}

static void
forget_transaction_noerror(bool is_commit)
{
	current.is_commit = is_commit;
	guard(end_branches_noerror);
	current.branches = NULL;
	current.nbranches = 0;
	current.method = COMMIT_METHOD_NONE;
	current.is_log_written = false;
}

static void
after_commit_noerror(void)
{
	if (current.method == COMMIT_METHOD_TWO_PHASE)
		guard(commit_prepared_noerror);
	guard(commit_readers_noerror);
	forget_transaction_noerror(true);
}

static void
transaction_callback(XactEvent event, void *arg)
{
	remote_watch_end_noerror();
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			pre_commit(false);
			break;
		case XACT_EVENT_PRE_PREPARE:
			pre_commit(true);
			break;
		case XACT_EVENT_COMMIT:
			if (current.nbranches > 0)
				after_commit_noerror();
			guard(remote_cache_drop_invalid_noerror);
			break;
		case XACT_EVENT_PREPARE:
			if (current.nbranches > 0)
			{
				bool		has_writers = current.is_log_written;

				guard(commit_readers_noerror);
				forget_transaction_noerror(true);

				/* it has to be seen through, also when this session has gone */
				if (has_writers && notify.wake_noerror)
					notify.wake_noerror();
			}
			break;
		case XACT_EVENT_ABORT:
			if (current.nbranches > 0)
			{
				guard(abort_branches_noerror);
				forget_transaction_noerror(false);
			}
			guard(remote_cache_drop_invalid_noerror);
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

/* ---- subtransactions ---- */

static void
subcommit_noerror(void)
{
	int			level = GetCurrentTransactionNestLevel();
	int			position;

	for (position = 0; position < current.nbranches; position++)
		branch_subcommit(current.branches[position], level);
}

static void
subabort_noerror(void)
{
	int			level = GetCurrentTransactionNestLevel();
	int			position;

	for (position = 0; position < current.nbranches; position++)
		branch_start_subabort_noerror(current.branches[position], level);
	stop_running_noerror(step_deadline(setting_cancel_timeout));
	for (position = 0; position < current.nbranches; position++)
		branch_subabort_noerror(current.branches[position], level);
}

static void
subtransaction_callback(SubXactEvent event, SubTransactionId subid,
						SubTransactionId parent_subid, void *arg)
{
	remote_watch_end_noerror();
	if (current.nbranches == 0)
		return;
	switch (event)
	{
		case SUBXACT_EVENT_COMMIT_SUB:
			guard(subcommit_noerror);
			break;
		case SUBXACT_EVENT_ABORT_SUB:
			guard(subabort_noerror);
			break;
		case SUBXACT_EVENT_START_SUB:
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			break;
	}
}

void
coordinator_init(void)
{
	RegisterXactCallback(transaction_callback, NULL);
	RegisterSubXactCallback(subtransaction_callback, NULL);
}
