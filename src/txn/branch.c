/*-------------------------------------------------------------------------
 *
 * branch.c
 *	  Our transaction on one shard.
 *
 * What is queued is believed to happen: the state runs ahead of the shard's.
 * Observers on BEGIN and SAVEPOINT keep the other book, depth_done: how deep
 * the shard's transaction is known to be nested.  After an abort, when
 * nothing is outstanding any more, that one is the truth, and tells what has
 * to be rolled back.
 *
 * Snapshots.  Under READ COMMITTED a local statement that reads the shard
 * more than once must see one state of it, so it runs in a REPEATABLE READ
 * block.  Where nothing was written, locked or left open the block is
 * exchanged for another one between statements (COMMIT and BEGIN in the same
 * segment); otherwise it stays.  shard_fdw.isolation = snapshot never
 * exchanges.
 *
 * Lone reads outside a transaction block need no block on the shard either.
 * They run READ ONLY there, which is the session's default, because what they
 * wrote could not be taken back.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "txn/branch_internal.h"

/* a branch's lock_timeout: what the shard has is to be set anew */
#define LOCK_TIMEOUT_UNKNOWN (-1)

/* time in which an abandoned statement may come to its end by itself */
#define DRAIN_MS 10

/*
 * Asked with every statement, see BranchFactsFromShard.  Where each
 * transaction may get another session, what else there is to know has to be
 * asked with it.
 */
#define PROBE_SQL \
	"SELECT pg_catalog.pg_current_xact_id_if_assigned()"
#define PROBE_POOLED_SQL PROBE_SQL ", " SHARD_SESSION_SQL

static BranchFlushPutOff flush_put_off = NULL;

TxnBranch *
branch_create(RemoteConn *conn)
{
	TxnBranch  *branch = MemoryContextAllocZero(TopTransactionContext,
												sizeof(TxnBranch));

	branch->conn = conn;
	branch->state = BRANCH_IDLE;
	branch->begin_level = GetCurrentTransactionNestLevel();
	branch->facts.session.max_prepared = -1;
	branch->stats_at_start = *remote_conn_stats(conn);
	return branch;
}

static int
cursor_slot(int level)
{
	return Min(level, CURSOR_LEVELS - 1);
}

static bool
has_cursors(const TxnBranch *branch)
{
	int			slot;

	for (slot = 0; slot < CURSOR_LEVELS; slot++)
	{
		if (branch->cursors[slot] > 0)
			return true;
	}
	return false;
}

/* ---- observers ---- */

static void
observe_lost(TxnBranch *branch, RemoteRequest *request)
{
	if (remote_request_state(request) == REMOTE_REQUEST_LOST &&
		branch->state == BRANCH_OPEN)
		branch->state = BRANCH_LOST;
}

static void
observe_begin(RemoteRequest *request, void *arg)
{
	TxnBranch  *branch = arg;

	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
		branch->depth_done = 1;
	observe_lost(branch, request);
}

static void
observe_end_of_block(RemoteRequest *request, void *arg)
{
	TxnBranch  *branch = arg;

	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
		branch->depth_done = 0;
	observe_lost(branch, request);
}

/*
 * Of savepoints the absolute level is noted: when one of the statements fails
 * the others must not be counted from there.
 */
static void
observe_savepoint(RemoteRequest *request, void *arg)
{
	LevelRef   *ref = arg;

	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
		ref->branch->depth_done = ref->level;
	observe_lost(ref->branch, request);
}

static void
observe_release(RemoteRequest *request, void *arg)
{
	LevelRef   *ref = arg;

	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
		ref->branch->depth_done = ref->level - 1;
	observe_lost(ref->branch, request);
}

/*
 * Rolling back to a savepoint is not awaited; if it fails nobody may go on.
 */
static void
observe_rollback_to(RemoteRequest *request, void *arg)
{
	LevelRef   *ref = arg;
	TxnBranch  *branch = ref->branch;

	observe_lost(branch, request);
	if (remote_request_state(request) == REMOTE_REQUEST_DONE)
		branch->depth_done = ref->level;
	else if (branch->state == BRANCH_OPEN)
		branch->state = BRANCH_BROKEN;
}

static void
observe_statement(RemoteRequest *request, void *arg)
{
	observe_lost(arg, request);
}

/*
 * Does what is answered now lie behind a savepoint that is about to be rolled
 * back to?  It may have met the request to cancel the statement before it.
 */
static bool
is_being_rolled_back(const TxnBranch *branch)
{
	return branch->aborting_level > 0 &&
		branch->depth_done >= branch->aborting_level;
}

static void
observe_probe(RemoteRequest *request, void *arg)
{
	TxnBranch  *branch = arg;
	RemoteResult *result = remote_request_result(request);

	observe_lost(branch, request);
	if (remote_request_state(request) != REMOTE_REQUEST_DONE)
		branch->is_unprobed = true;

	/* skipped: its statement failed; failed by itself: the block had before */
	if (remote_request_state(request) == REMOTE_REQUEST_FAILED &&
		branch->state == BRANCH_OPEN && !is_being_rolled_back(branch))
		branch->state = BRANCH_BROKEN;
	if (remote_request_state(request) != REMOTE_REQUEST_DONE ||
		result == NULL || remote_result_nrows(result) != 1)
		return;
	if (!remote_result_is_null(result, 0, 0))
		branch->facts.xid = strtou64(remote_result_value(result, 0, 0), NULL, 10);
	branch->facts.session =
		shard_session_parse(remote_result_nfields(result) > 1 ?
							remote_result_value(result, 0, 1) :
							remote_conn_setup_answer(branch->conn));
}

/* ---- queueing ---- */

static void
queue_observed(TxnBranch *branch, const char *sql,
			   RemoteRequestObserver observer, void *arg)
{
	RemoteQuery query = {0};
	RemoteRequest *request;

	query.sql = sql;
	query.is_reusable = true;
	request = remote_request_queue(branch->conn, &query, 0);
	remote_request_set_observer(request, observer, arg);
	remote_request_release(request);
}

/*
 * A statement of our own whose answer only its observer sees.
 */
static void
queue_own(TxnBranch *branch, const char *sql, RemoteRequestObserver observer)
{
	queue_observed(branch, sql, observer, branch);
}

static LevelRef *
level_ref(TxnBranch *branch, int level)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

	if (level >= branch->max_level_refs)
	{
		int			size = Max(level + 1, branch->max_level_refs * 2);
		LevelRef  **refs = palloc0(sizeof(LevelRef *) * size);

		if (branch->level_refs)
			memcpy(refs, branch->level_refs,
				   sizeof(LevelRef *) * branch->max_level_refs);
		branch->level_refs = refs;
		branch->max_level_refs = size;
	}
	if (branch->level_refs[level] == NULL)
	{
		branch->level_refs[level] = palloc(sizeof(LevelRef));
		branch->level_refs[level]->branch = branch;
		branch->level_refs[level]->level = level;
	}
	MemoryContextSwitchTo(old_context);
	return branch->level_refs[level];
}

/*
 * The same for a statement about the savepoint of a level.
 */
static void
queue_savepoint(TxnBranch *branch, const char *command, int level,
				RemoteRequestObserver observer)
{
	char		sql[64];

	snprintf(sql, sizeof(sql), "%s s%d", command, level);
	queue_observed(branch, sql, observer, level_ref(branch, level));
}

/*
 * One question behind the last statement of what is sent together is enough,
 * so one that has not been sent yet moves there.
 */
static void
queue_probe(TxnBranch *branch)
{
	RemoteQuery query = {0};

	branch->is_unprobed = false;
	if (branch->probe && remote_request_requeue(branch->probe))
		return;
	if (branch->probe)
		remote_request_release(branch->probe);
	query.sql =
		remote_conn_pooling(branch->conn) == REMOTE_POOLING_TRANSACTION ?
		PROBE_POOLED_SQL : PROBE_SQL;
	query.is_reusable = true;
	branch->probe = remote_request_queue(branch->conn, &query, 0);
	remote_request_set_observer(branch->probe, observe_probe, branch);
}

static bool
is_probe_outstanding(const TxnBranch *branch)
{
	return branch->probe && !remote_request_is_final(branch->probe);
}

static const char *
isolation_name(bool is_snapshot)
{
	if (IsolationIsSerializable())
		return "SERIALIZABLE";
	if (is_snapshot || IsolationUsesXactSnapshot() ||
		setting_isolation == SHARD_ISOLATION_SNAPSHOT)
		return "REPEATABLE READ";
	return "READ COMMITTED";
}

static void
queue_begin(TxnBranch *branch, bool is_snapshot)
{
	bool		is_read_only = XactReadOnly &&
	GetCurrentTransactionNestLevel() == 1;
	char	   *sql;

	/* below a savepoint READ ONLY may end with it: ensure_access_mode() */
	sql = psprintf("BEGIN ISOLATION LEVEL %s %s%s",
				   isolation_name(is_snapshot),
				   is_read_only ? "READ ONLY" : "READ WRITE",
				   XactDeferrable ? " DEFERRABLE" : "");
	queue_own(branch, sql, observe_begin);
	pfree(sql);
	if (remote_conn_pooling(branch->conn) == REMOTE_POOLING_TRANSACTION)
		queue_own(branch, remote_options_settings_query(), observe_statement);
	branch->state = BRANCH_OPEN;
	branch->depth = 1;
	branch->read_only_level = is_read_only ? 1 : 0;
	branch->is_snapshot = is_snapshot;
	branch->lock_timeout = 0;
	branch->lock_timeout_level = 0;
}

/*
 * Could the block be committed and replaced without anybody noticing?
 */
static bool
is_exchangeable(const TxnBranch *branch)
{
	return branch->state == BRANCH_OPEN && !IsolationUsesXactSnapshot() &&
		setting_isolation == SHARD_ISOLATION_MATCH && !branch->may_write &&
		branch->facts.xid == 0 && !branch->is_unprobed &&
		!has_cursors(branch) && branch->depth <= 1;
}

/*
 * Should it?  Not before the shard has said that nothing was written; mostly
 * that answer is here already and has only to be read.
 */
static bool
must_exchange(TxnBranch *branch, bool is_snapshot, uint64 statement)
{
	if (!branch->is_snapshot && !is_snapshot)
		return false;
	if (branch->statement == statement && branch->is_snapshot == is_snapshot)
		return false;
	if (is_exchangeable(branch) && is_probe_outstanding(branch))
		remote_request_finish_all(&branch->probe, 1, 0);
	return is_exchangeable(branch);
}

static bool
wants_snapshot(BranchUse use)
{
	return use == BRANCH_USE_READ && !IsolationUsesXactSnapshot() &&
		setting_isolation == SHARD_ISOLATION_MATCH;
}

/*
 * Sees to it that the shard is in a transaction that suits the statement.
 */
static void
ensure_block(TxnBranch *branch, BranchUse use, uint64 statement)
{
	bool		is_snapshot = wants_snapshot(use);

	if (branch->state == BRANCH_IDLE)
	{
		remote_conn_allow_replay(branch->conn);
		branch->begin_level = GetCurrentTransactionNestLevel();
		queue_begin(branch, is_snapshot);
	}
	else if (use != BRANCH_USE_CLOSE &&
			 must_exchange(branch, is_snapshot, statement))
	{
		queue_own(branch, "COMMIT", observe_end_of_block);
		queue_begin(branch, is_snapshot);
	}
	branch->statement = statement;
}

static void
ensure_savepoints(TxnBranch *branch, int level)
{
	while (branch->depth < level)
	{
		branch->depth++;
		queue_savepoint(branch, "SAVEPOINT", branch->depth, observe_savepoint);
	}
}

/*
 * The local transaction may have become READ ONLY since the block began.
 */
static void
ensure_access_mode(TxnBranch *branch)
{
	if (!XactReadOnly || branch->read_only_level != 0)
		return;
	queue_own(branch, "SET TRANSACTION READ ONLY", observe_statement);
	branch->read_only_level = branch->depth;
}

/*
 * Locks are waited for on the shard, so that is where the limit has to be.
 * Without one here the shard's own holds.
 */
static void
ensure_lock_timeout(TxnBranch *branch, int lock_timeout)
{
	char		sql[64];

	if (branch->lock_timeout == lock_timeout)
		return;
	snprintf(sql, sizeof(sql), "SET LOCAL lock_timeout = %d", lock_timeout);
	queue_own(branch, lock_timeout > 0 ? sql :
			  "SET LOCAL lock_timeout TO DEFAULT", observe_statement);
	branch->lock_timeout = lock_timeout;
	branch->lock_timeout_level = branch->depth;
}

void
branch_check_usable(const TxnBranch *branch)
{
	if (branch->state == BRANCH_LOST ||
		(branch->state == BRANCH_OPEN &&
		 remote_conn_state(branch->conn) == REMOTE_CONN_LOST))
		ereport(ERROR,
				errcode(ERRCODE_CONNECTION_FAILURE),
				errmsg("connection to server \"%s\" was lost in this transaction",
					   remote_conn_server_name(branch->conn)),
				errhint("Roll the transaction back and try again."));
	if (branch->state != BRANCH_IDLE && branch->state != BRANCH_OPEN)
		ereport(ERROR,
				errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
				errmsg("transaction on server \"%s\" has failed",
					   remote_conn_server_name(branch->conn)),
				errhint("Roll the transaction back and try again."));
}

static bool
may_run_without_block(const TxnBranch *branch, BranchUse use)
{
	return use == BRANCH_USE_ALONE && branch->state == BRANCH_IDLE &&
		LockTimeout == 0 && !IsTransactionBlock() && !IsolationUsesXactSnapshot() &&
		setting_isolation == SHARD_ISOLATION_MATCH &&
		remote_conn_pooling(branch->conn) != REMOTE_POOLING_TRANSACTION;
}

/* Where a statement belongs, which may be queued later than it was made. */
typedef struct StatementPlace
{
	uint64		statement;
	int			level;			/* nest level to run at */
	int			owner_level;
	int			lock_timeout;
} StatementPlace;

/*
 * Sees to it that the shard is in a transaction, nested as deep as the
 * statement's level, that suits it.
 */
static void
ensure_transaction(TxnBranch *branch, BranchUse use,
				   const StatementPlace *place)
{
	if (branch->state == BRANCH_IDLE)
		remote_conn_reset_noerror(branch->conn);
	ensure_block(branch, use, place->statement);
	ensure_savepoints(branch, place->level);
	ensure_access_mode(branch);
	if (use != BRANCH_USE_CLOSE)
		ensure_lock_timeout(branch, place->lock_timeout);
	if (use == BRANCH_USE_WRITE)
		branch->may_write = true;
}

/*
 * Is there nothing in the block, before the statement is queued, that could
 * not be had again?
 */
static bool
is_block_empty(const TxnBranch *branch, BranchUse use, uint64 statement)
{
	if (use == BRANCH_USE_CLOSE)
		return false;
	return branch->state == BRANCH_IDLE ||
		(is_exchangeable(branch) && remote_conn_is_quiet(branch->conn) &&
		 (!branch->is_snapshot || branch->statement != statement));
}

static RemoteRequest *
queue_in_block(TxnBranch *branch, const RemoteQuery *query, BranchUse use,
			   const StatementPlace *place)
{
	RemoteRequest *request;
	bool		is_restartable = is_block_empty(branch, use, place->statement);

	ensure_transaction(branch, use, place);
	request = remote_request_queue(branch->conn, query, place->owner_level);
	remote_request_set_observer(request, observe_statement, branch);
	branch->restartable = is_restartable ? request : NULL;
	branch->restart_use = use;
	if (use != BRANCH_USE_CLOSE && branch->read_only_level == 0 &&
		branch->facts.xid == 0)
		queue_probe(branch);
	remote_request_queue_sync(branch->conn);
	return request;
}

RemoteRequest *
branch_queue(TxnBranch *branch, const RemoteQuery *query, BranchUse use,
			 uint64 statement, int owner_level)
{
	RemoteRequest *request;
	StatementPlace place;

	if (flush_put_off)
		flush_put_off(branch, statement);
	branch_check_usable(branch);
	if (may_run_without_block(branch, use))
	{
		remote_conn_reset_noerror(branch->conn);
		remote_conn_allow_replay(branch->conn);
		request = remote_request_queue(branch->conn, query, owner_level);
		remote_request_queue_sync(branch->conn);
		return request;
	}
	place.statement = statement;
	place.level = GetCurrentTransactionNestLevel();
	place.owner_level = owner_level;
	place.lock_timeout = LockTimeout;
	return queue_in_block(branch, query, use, &place);
}

void
branch_set_flush_put_off(BranchFlushPutOff flush)
{
	flush_put_off = flush;
}

static StatementPlace
place_of_writer(const BranchWriter *writer)
{
	StatementPlace place;

	place.statement = writer->statement;
	place.level = Min(GetCurrentTransactionNestLevel(), writer->owner_level);
	place.owner_level = writer->owner_level;
	place.lock_timeout = writer->lock_timeout;
	return place;
}

RemoteRequest *
branch_queue_put_off(TxnBranch *branch, const RemoteQuery *query,
					 const BranchWriter *writer)
{
	StatementPlace place = place_of_writer(writer);

	branch_check_usable(branch);
	return queue_in_block(branch, query, BRANCH_USE_WRITE, &place);
}

RemoteRequest *
branch_queue_copy(TxnBranch *branch, const char *sql,
				  const BranchWriter *writer)
{
	StatementPlace place = place_of_writer(writer);
	RemoteRequest *request;

	branch_check_usable(branch);
	ensure_transaction(branch, BRANCH_USE_WRITE, &place);
	request = remote_request_queue_copy(branch->conn, sql, writer->owner_level);
	remote_request_set_observer(request, observe_statement, branch);
	if (branch->read_only_level == 0 && branch->facts.xid == 0)
		branch->is_unprobed = true;
	return request;
}

RemoteRequest *
branch_start_probe_if_needed(TxnBranch *branch)
{
	if (branch->state == BRANCH_OPEN && branch->facts.xid == 0 &&
		branch->is_unprobed && !is_probe_outstanding(branch))
	{
		queue_probe(branch);
		remote_request_queue_sync(branch->conn);
	}
	return is_probe_outstanding(branch) ? branch->probe : NULL;
}

/*
 * A lone read that failed before it gave a row is sent again where that can
 * help: in the branch, if it turned out to write; as it is, if its prepared
 * statement was lost or does not fit the tables any more (the engine has
 * forgotten it by now); or with its rows as text.  NULL if nothing helps.
 */
static RemoteRequest *
repeat_lone_read(TxnBranch *branch, const RemoteRequest *request)
{
	RemoteQuery query = *remote_request_query(request);
	BranchUse	use = BRANCH_USE_ALONE;

	if (branch->state != BRANCH_IDLE ||
		remote_request_state(request) != REMOTE_REQUEST_FAILED ||
		remote_request_rows(request) > 0)
		return NULL;
	if (remote_request_is_outdated(request))
		return branch_queue(branch, &query, use, 0,
							remote_request_owner_level(request));
	switch (remote_result_sqlstate(remote_request_result(request)))
	{
		case ERRCODE_READ_ONLY_SQL_TRANSACTION:
			if (XactReadOnly)
				return NULL;
			use = BRANCH_USE_WRITE;
			break;
		case ERRCODE_UNDEFINED_FUNCTION:
			if (!query.binary_result)
				return NULL;
			query.binary_result = false;
			break;
		default:
			return NULL;
	}
	return branch_queue(branch, &query, use, 0,
						remote_request_owner_level(request));
}

/* Can the shard not send a type of the result in the binary format? */
static bool
is_without_binary_form(const RemoteRequest *request)
{
	return remote_request_query(request)->binary_result &&
		remote_result_sqlstate(remote_request_result(request)) ==
		ERRCODE_UNDEFINED_FUNCTION;
}

/*
 * Did the statement fail because the session, or the table, is not what it was
 * when something was prepared?  It may have been BEGIN.
 */
static bool
is_stale(const RemoteRequest *request)
{
	const RemoteResult *result = remote_request_result(request);

	switch (remote_request_state(request))
	{
		case REMOTE_REQUEST_SKIPPED:
			return result != NULL &&
				remote_result_sqlstate(result) == ERRCODE_UNDEFINED_PSTATEMENT;
		case REMOTE_REQUEST_FAILED:
			return remote_request_is_outdated(request) ||
				is_without_binary_form(request);
		default:
			return false;
	}
}

/*
 * In a block such a statement cannot be repeated, because the block has
 * failed.  But where there is nothing in it yet another one will do as well.
 * That is tried once.
 */
static RemoteRequest *
repeat_in_new_block(TxnBranch *branch, const RemoteRequest *request)
{
	RemoteQuery query = *remote_request_query(request);
	RemoteRequest *again;

	if (request != branch->restartable || branch->state != BRANCH_OPEN ||
		has_cursors(branch) || remote_request_rows(request) > 0 ||
		!is_stale(request))
		return NULL;
	if (remote_request_state(request) == REMOTE_REQUEST_FAILED &&
		is_without_binary_form(request))
		query.binary_result = false;
	if (branch->probe)
		(void) remote_request_finish_all(&branch->probe, 1, 0);
	if (branch->state != BRANCH_OPEN)
		return NULL;
	if (branch->depth_done > 0)
	{
		queue_own(branch, "ROLLBACK", observe_end_of_block);
		remote_request_queue_sync(branch->conn);
	}
	branch->state = BRANCH_IDLE;
	branch->depth = 0;
	branch->may_write = false;
	branch->is_unprobed = false;
	again = branch_queue(branch, &query, branch->restart_use,
						 branch->statement,
						 remote_request_owner_level(request));
	branch->restartable = NULL;
	return again;
}

/* Exchanges the request for another one where that can help. */
static bool
repeat_if_of_use(TxnBranch *branch, RemoteRequest **request)
{
	RemoteRequest *again;

	again = branch->state == BRANCH_IDLE ? repeat_lone_read(branch, *request) :
		repeat_in_new_block(branch, *request);
	if (again == NULL)
		return false;
	remote_request_release(*request);
	*request = again;
	return true;
}

RemoteResult *
branch_next(TxnBranch *branch, RemoteRequest **request)
{
	do
	{
		remote_request_wait(*request);
	} while (repeat_if_of_use(branch, request));
	return remote_request_next(*request);
}

RemoteResult *
branch_finish(TxnBranch *branch, RemoteRequest **request)
{
	do
	{
		(void) remote_request_finish_all(request, 1, 0);
	} while (repeat_if_of_use(branch, request));
	return remote_request_finish(*request);
}

void
branch_count_cursor(TxnBranch *branch, int change)
{
	int			slot = cursor_slot(GetCurrentTransactionNestLevel());

	/* one is closed at its own level, or after that was merged into ours */
	while (change < 0 && slot > 0 && branch->cursors[slot] == 0)
		slot--;
	if (change > 0 || branch->cursors[slot] > 0)
		branch->cursors[slot] += change;
}

/*
 * Can the block be rolled back without losing anything but the shard's
 * answers?  Writes that the shard has not told us of are its own to look for.
 */
static bool
is_disposable(const TxnBranch *branch, bool is_ending)
{
	if (branch->state != BRANCH_OPEN || branch->may_write ||
		branch->facts.xid != 0)
		return false;
	return is_ending ||
		(!IsolationUsesXactSnapshot() && !has_cursors(branch) &&
		 setting_isolation == SHARD_ISOLATION_MATCH && branch->depth <= 1 &&
		 GetCurrentTransactionNestLevel() == 1);
}

void
branch_stop_orphans(TxnBranch *branch, bool is_ending)
{
	RemoteConn *conn = branch->conn;
	TimestampTz now;

	if (remote_conn_is_quiet(conn) || !is_disposable(branch, is_ending))
		return;
	now = GetCurrentTimestamp();
	if (!remote_conn_drain_orphans(conn,
								   TimestampTzPlusMilliseconds(now, DRAIN_MS)) ||
		!remote_cancel_reader_noerror(conn,
									  TimestampTzPlusMilliseconds(now,
																  setting_cancel_timeout)) ||
		branch->state != BRANCH_OPEN)
		return;
	queue_own(branch, "ROLLBACK", observe_end_of_block);
	remote_request_queue_sync(conn);
	branch_flush(branch);
	branch->state = BRANCH_IDLE;
	branch->depth = 0;
	memset(branch->cursors, 0, sizeof(branch->cursors));
}

uint32
branch_next_cursor_number(TxnBranch *branch)
{
	static uint32 last_number = 0;

	return ++last_number;
}

void
branch_flush(TxnBranch *branch)
{
	remote_flush_noerror(branch->conn);
}

RemoteConn *
branch_conn(const TxnBranch *branch)
{
	return branch->conn;
}

BranchState
branch_state(const TxnBranch *branch)
{
	return branch->state;
}

const BranchFactsFromShard *
branch_facts(const TxnBranch *branch)
{
	return &branch->facts;
}

bool
branch_may_have_written(const TxnBranch *branch)
{
	return branch->may_write || branch->facts.xid != 0 ||
		(branch->is_unprobed && branch->read_only_level == 0);
}

bool
branch_has_begun(const TxnBranch *branch)
{
	if (!remote_conn_is_quiet(branch->conn))
		return true;
	return branch->depth_done > 0 && remote_conn_is_in_block(branch->conn);
}

bool
branch_is_in_block(const TxnBranch *branch)
{
	return branch->state != BRANCH_IDLE;
}

/* ---- savepoints ---- */

void
branch_subcommit(TxnBranch *branch, int level)
{
	remote_request_lower_level_noerror(branch->conn, level - 1);
	branch->begin_level = Min(branch->begin_level, level - 1);
	if (level < CURSOR_LEVELS)
	{
		branch->cursors[level - 1] += branch->cursors[level];
		branch->cursors[level] = 0;
	}
	if (branch->read_only_level >= level)
		branch->read_only_level = 0;
	branch->lock_timeout_level = Min(branch->lock_timeout_level, level - 1);
	if (branch->state != BRANCH_OPEN || branch->depth < level)
		return;
	queue_savepoint(branch, "RELEASE SAVEPOINT", level, observe_release);
	remote_request_queue_sync(branch->conn);
	branch->depth = level - 1;
}

void
branch_start_subabort_noerror(TxnBranch *branch, int level)
{
	remote_request_orphan_level_noerror(branch->conn, level);
	branch->aborting_level = level;
}

/*
 * Nothing is outstanding on the connection but what outer levels wait for,
 * and perhaps, while it is being opened, our own BEGIN and SAVEPOINT.
 */
void
branch_subabort_noerror(TxnBranch *branch, int level)
{
	branch->aborting_level = 0;
	if (branch->state == BRANCH_LOST && branch->begin_level >= level)
	{
		/* nothing of outer levels is gone: a fresh start is possible */
		remote_conn_reset_noerror(branch->conn);
		branch->state = BRANCH_IDLE;
		branch->depth = branch->depth_done = 0;
		branch->may_write = false;
		branch->facts.xid = 0;
		memset(branch->cursors, 0, sizeof(branch->cursors));
		return;
	}
	if (branch->state != BRANCH_OPEN)
		return;
	/* the executor does not end scans that are aborted */
	if (level < CURSOR_LEVELS)
		branch->cursors[level] = 0;
	if (branch->read_only_level >= level)
		branch->read_only_level = 0;
	if (branch->lock_timeout_level >= level)
		branch->lock_timeout = LOCK_TIMEOUT_UNKNOWN;
	if (remote_conn_is_quiet(branch->conn))
	{
		branch->depth = branch->depth_done;
		if (branch->depth == 0)
		{
			branch->state = BRANCH_IDLE;
			return;
		}
	}
	if (branch->depth < level)
		return;
	queue_savepoint(branch, "ROLLBACK TO SAVEPOINT", level,
					observe_rollback_to);
	queue_savepoint(branch, "RELEASE SAVEPOINT", level, observe_release);
	remote_request_queue_sync(branch->conn);
	branch->depth = level - 1;
	remote_flush_noerror(branch->conn);
}

RemoteConnStats
branch_stats(const TxnBranch *branch)
{
	RemoteConnStats delta = *remote_conn_stats(branch->conn);
	const RemoteConnStats *start = &branch->stats_at_start;

	delta.connects -= start->connects;
	delta.statements -= start->statements;
	delta.trips -= start->trips;
	delta.rows -= start->rows;
	delta.bytes -= start->bytes;
	delta.errors -= start->errors;
	delta.wait_us -= start->wait_us;
	return delta;
}
