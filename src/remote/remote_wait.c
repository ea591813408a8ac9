/*-------------------------------------------------------------------------
 *
 * remote_wait.c
 *	  The one place that waits.
 *
 * Every loop has the same shape: do for each connection whatever can be done
 * without waiting (open, send, flush, read), look whether that is enough,
 * else sleep until the latch is set, a socket is ready or a limit is reached.
 *
 * Building a WaitEventSet costs several system calls, so one is kept: for a
 * single connection with the connection, for several one for the last
 * combination waited for.  They hold sockets by number, so they are thrown
 * away whenever a socket of theirs is closed.
 *
 * Limits.  A connection attempt has connect_timeout.  While we wait for an
 * answer and hear nothing for response_timeout, a second connection asks the
 * shard whether our session is still at work; if not, or if the shard cannot
 * be reached, the connection counts as lost.  The commit steps bring
 * deadlines of their own.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/catch_point.h"
#include "base/compat.h"
#include "base/settings.h"
#include "remote/remote_internal.h"
#include "remote/remote_watch.h"

/* longest sleep, so that limits kept elsewhere are looked at */
#define MAX_SLEEP_MS 1000

/* how a wait behaves */
typedef struct WaitMode
{
	TimestampTz deadline;		/* 0: none */
	bool		is_interruptible;
	bool		stops_on_interrupt; /* end, with interrupts left pending */
	bool		is_watched;		/* is told when it gets long */
	TimestampTz long_at;		/* when it does; 0: has not slept yet */
} WaitMode;

/*
 * Seen once, never forgotten.  A wait that may raise ends the process.  One
 * that may not, being in the middle of a commit that must not fail, ends at
 * once; the process finds out elsewhere (G).
 */
static bool postmaster_is_dead = false;

/* the set for the last combination of several connections */
static struct
{
	WaitEventSet *set;
	int			nconns;
	RemoteConn **conns;
	uint64	   *generations;
}			shared_set;

static uint32
wait_event(void)
{
	static uint32 event = 0;

	if (event == 0)
		event = compat_wait_event("ShardFdwWait");
	return event;
}

/* ---- wait event sets ---- */

static void
free_shared_set(void)
{
	if (shared_set.set)
		FreeWaitEventSet(shared_set.set);
	shared_set.set = NULL;
	shared_set.nconns = 0;
}

void
remote_wait_forget(RemoteConn *conn)
{
	int			position;

	if (conn->wait_set)
		FreeWaitEventSet(conn->wait_set);
	conn->wait_set = NULL;
	for (position = 0; position < shared_set.nconns; position++)
	{
		if (shared_set.conns[position] == conn)
		{
			free_shared_set();
			return;
		}
	}
}

/*
 * Position of the connection's socket in the set is 2 + its position in the
 * array: the latch and postmaster death come first.
 */
static WaitEventSet *
build_set(RemoteConn **conns, int nconns)
{
	WaitEventSet *set = compat_create_wait_event_set(nconns + 2);
	int			position;

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(set, WL_POSTMASTER_DEATH, PGINVALID_SOCKET, NULL, NULL);
	for (position = 0; position < nconns; position++)
		AddWaitEventToSet(set, WL_SOCKET_READABLE,
						  PQsocket(conns[position]->pg), NULL, NULL);
	return set;
}

static WaitEventSet *
get_single_set(RemoteConn *conn)
{
	if (conn->wait_set && conn->wait_set_generation != conn->generation)
	{
		FreeWaitEventSet(conn->wait_set);
		conn->wait_set = NULL;
	}
	if (conn->wait_set == NULL)
	{
		conn->wait_set = build_set(&conn, 1);
		conn->wait_set_generation = conn->generation;
	}
	return conn->wait_set;
}

static bool
is_shared_set_for(RemoteConn **conns, int nconns)
{
	int			position;

	if (shared_set.set == NULL || shared_set.nconns != nconns)
		return false;
	for (position = 0; position < nconns; position++)
	{
		if (shared_set.conns[position] != conns[position] ||
			shared_set.generations[position] != conns[position]->generation)
			return false;
	}
	return true;
}

static WaitEventSet *
get_shared_set(RemoteConn **conns, int nconns)
{
	int			position;

	if (is_shared_set_for(conns, nconns))
		return shared_set.set;
	free_shared_set();
	if (shared_set.conns)
	{
		pfree(shared_set.conns);
		pfree(shared_set.generations);
		shared_set.conns = NULL;
	}
	shared_set.generations = MemoryContextAlloc(TopMemoryContext,
												nconns * sizeof(uint64));
	shared_set.conns = MemoryContextAlloc(TopMemoryContext,
										  nconns * sizeof(RemoteConn *));
	for (position = 0; position < nconns; position++)
	{
		shared_set.conns[position] = conns[position];
		shared_set.generations[position] = conns[position]->generation;
	}
	shared_set.set = build_set(conns, nconns);
	shared_set.nconns = nconns;
	return shared_set.set;
}

/* ---- what a sleep is for ---- */

static uint32
wanted_events(const RemoteConn *conn)
{
	if (conn->state == REMOTE_CONN_CONNECTING)
		return conn->poll_status == PGRES_POLLING_READING ?
			WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE;
	return WL_SOCKET_READABLE |
		(conn->has_unsent_output ? WL_SOCKET_WRITEABLE : 0);
}

static long
sleep_time(TimestampTz now, TimestampTz deadline, RemoteConn **conns,
		   int nconns)
{
	long		sleep_ms = MAX_SLEEP_MS;
	int			position;

	if (deadline != 0)
		sleep_ms = Min(sleep_ms, TimestampDifferenceMilliseconds(now, deadline));
	for (position = 0; position < nconns; position++)
	{
		TimestampTz limit = conns[position]->connect_deadline;

		if (conns[position]->state == REMOTE_CONN_CONNECTING && limit != 0)
			sleep_ms = Min(sleep_ms, TimestampDifferenceMilliseconds(now, limit));
	}
	return sleep_ms;
}

/*
 * A trip is a wait for something sent since the last wait.
 */
static void
count_trips(RemoteConn **conns, int nconns)
{
	int			position;

	for (position = 0; position < nconns; position++)
	{
		RemoteConn *conn = conns[position];

		if (conn->has_unwaited_flush)
			conn->stats.trips++;
		conn->has_unwaited_flush = false;
	}
}

/* ---- advancing ---- */

static void
advance_sending(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONN_IDLE && !dlist_is_empty(&conn->fifo))
		remote_conn_open(conn);
	if (conn->state == REMOTE_CONN_CONNECTING)
		remote_conn_poll(conn);
	if (conn->state == REMOTE_CONN_READY)
		remote_send_queued(conn);
}

static void
advance_receiving(RemoteConn *conn, RemoteRequest *target)
{
	if (conn->state == REMOTE_CONN_READY)
		remote_request_receive(conn, target);
	/* requests queued on a connection that was lost before */
	if (conn->state == REMOTE_CONN_LOST && !dlist_is_empty(&conn->fifo))
		remote_request_lose_all(conn, false);
}

void
remote_wait_advance(RemoteConn *conn, RemoteRequest *target)
{
	do
	{
		advance_sending(conn);
		advance_receiving(conn, target);
		/* a COPY, or what stood behind it, may have its turn now */
	} while (conn->state == REMOTE_CONN_READY && conn->nsent == 0 &&
			 !dlist_is_empty(&conn->fifo));
}

/*
 * The same before a sleep: what was just sent has no answer yet, so the
 * system call to look for it is spared.
 */
static void
advance_before_sleep(RemoteConn *conn, RemoteRequest *target)
{
	advance_sending(conn);
	if (!conn->is_unanswered)
		remote_wait_advance(conn, target);
}

static void
note_event(RemoteConn *conn)
{
	conn->last_activity = GetCurrentTimestamp();
	conn->is_seen_writing = false;

	/* nobody would read it, and the next sleep would end at once */
	if (conn->nsent == 0)
		remote_request_receive_unasked(conn);
}

/*
 * A wait that goes to sleep: when it is to wake up at the latest to be told.
 */
static long
watch_sleep(RemoteConn **conns, int nconns, TimestampTz now, WaitMode *mode)
{
	if (mode->long_at == 0)
		mode->long_at = remote_watch_due(now);
	if (now < mode->long_at)
		return TimestampDifferenceMilliseconds(now, mode->long_at);
	remote_watch_tell(conns, nconns, false);
	return MAX_SLEEP_MS;
}

/*
 * Sleeps until something happens on one of the connections, all of which
 * have sockets.
 */
static void
sleep_on_these(RemoteConn **conns, int nconns, WaitMode *mode)
{
	TimestampTz start = GetCurrentTimestamp();
	long		sleep_ms = sleep_time(start, mode->deadline, conns, nconns);
	WaitEventSet *set;
	WaitEvent	events[8];
	int			nevents;
	int			position;

	if (mode->is_watched)
		sleep_ms = Min(sleep_ms, watch_sleep(conns, nconns, start, mode));
	count_trips(conns, nconns);
	for (position = 0; position < nconns; position++)
		conns[position]->is_unanswered = false;
	set = nconns == 1 ? get_single_set(conns[0]) : get_shared_set(conns, nconns);
	ModifyWaitEvent(set, 0, WL_LATCH_SET, MyLatch);
	for (position = 0; position < nconns; position++)
		ModifyWaitEvent(set, position + 2, wanted_events(conns[position]), NULL);
	nevents = WaitEventSetWait(set, sleep_ms, events, lengthof(events),
							   wait_event());
	for (position = 0; position < nevents; position++)
	{
		if (events[position].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (events[position].events & WL_POSTMASTER_DEATH)
			postmaster_is_dead = true;
		else if (events[position].pos >= 2)
			note_event(conns[events[position].pos - 2]);
	}
	for (position = 0; position < nconns; position++)
		conns[position]->stats.wait_us += GetCurrentTimestamp() - start;
	if (postmaster_is_dead && mode->is_interruptible)
		proc_exit(1);
}

/*
 * The same, and looks after all connections that are being opened: they are
 * to come up at the same time, whichever of them is waited for.
 */
static void
sleep_on(RemoteConn **conns, int nconns, WaitMode *mode)
{
	dlist_head *connecting = remote_conn_connecting();
	dlist_mutable_iter iter;
	RemoteConn **all;
	int			nall = nconns;

	if (dlist_is_empty(connecting))
	{
		sleep_on_these(conns, nconns, mode);
		return;
	}
	dlist_foreach_modify(iter, connecting)
		nall++;
	all = palloc(sizeof(RemoteConn *) * nall);
	memcpy(all, conns, sizeof(RemoteConn *) * nconns);
	nall = nconns;
	dlist_foreach_modify(iter, connecting)
	{
		RemoteConn *conn = dlist_container(RemoteConn, connecting_node, iter.cur);

		if (!remote_conn_is_among(conn, conns, nconns))
			all[nall++] = conn;
	}
	sleep_on_these(all, nall, mode);
	while (nall > nconns)
		remote_wait_advance(all[--nall], NULL);
	pfree(all);
}

void
remote_flush_noerror(RemoteConn *conn)
{
	CatchPoint	before = catch_point_here();

	PG_TRY();
	{
		bool		was_unanswered = conn->is_unanswered;

		advance_sending(conn);
		if (was_unanswered || !conn->is_unanswered)
			advance_receiving(conn, NULL);
	}
	PG_CATCH();
	{
		catch_point_return(&before);
		remote_conn_close_noerror(conn);
	}
	PG_END_TRY();
}

/* ---- looking after a silent shard ---- */

static bool wait_for_requests(RemoteRequest **requests, int nrequests,
							  WaitMode *mode);

/* What a session on the shard was found to be doing. */
typedef enum SessionWork
{
	SESSION_NOT_AT_WORK,
	SESSION_AT_WORK,
	SESSION_WRITING				/* its answer does not get away */
} SessionWork;

static SessionWork
read_session_work(RemoteRequest *request)
{
	if (request->state != REMOTE_REQUEST_DONE ||
		remote_result_nrows(request->result) == 0)
		return SESSION_NOT_AT_WORK;
	return strcmp(remote_result_value(request->result, 0, 0), "t") == 0 ?
		SESSION_WRITING : SESSION_AT_WORK;
}

/*
 * Asks over a second connection whether our session on the shard is still at
 * work.  One that waits for more of a request is not, whatever its state says:
 * for so long nothing has passed, so the rest got lost.  Takes no longer than
 * it may take to connect and answer.
 */
static SessionWork
ask_for_session(RemoteConn *conn)
{
	RemoteConn *side = remote_conn_create_side(conn);
	volatile SessionWork work = SESSION_NOT_AT_WORK;
	WaitMode	mode = {0};

	mode.deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												2 * setting_connect_timeout);
	mode.is_interruptible = true;
	PG_TRY();
	{
		RemoteRequest *request;

		request = remote_request_queue_sql(side,
										   psprintf("SELECT wait_event IS NOT DISTINCT FROM 'ClientWrite' FROM pg_catalog.pg_stat_activity WHERE pid = %d AND state IN ('active', 'fastpath function call') AND wait_event IS DISTINCT FROM 'ClientRead'",
													remote_conn_backend_pid(conn)),
										   0);
		remote_request_queue_sync(side);
		if (wait_for_requests(&request, 1, &mode))
			work = read_session_work(request);
	}
	PG_FINALLY();
	{
		remote_conn_free_noerror(side);
	}
	PG_END_TRY();
	return work;
}

/*
 * A session that sends may have begun just now; if nothing has arrived until
 * the next time, what it sends gets lost.
 */
static bool
is_session_at_work(RemoteConn *conn)
{
	bool		was_writing = conn->is_seen_writing;
	SessionWork work = ask_for_session(conn);

	conn->is_seen_writing = work == SESSION_WRITING;
	return work == SESSION_AT_WORK || (work == SESSION_WRITING && !was_writing);
}

static void
look_after_silent(RemoteConn *conn)
{
	if (setting_response_timeout <= 0 || remote_conn_backend_pid(conn) == 0 ||
		conn->nsent == 0)
		return;
	if (!TimestampDifferenceExceeds(conn->last_activity, GetCurrentTimestamp(),
									setting_response_timeout))
		return;
	if (is_session_at_work(conn))
		conn->last_activity = GetCurrentTimestamp();
	else if (conn->state == REMOTE_CONN_READY)
		remote_conn_fail(conn, ERRCODE_CONNECTION_FAILURE, NULL,
						 "The server has not answered within shard_fdw.response_timeout, and the session there is not at work.",
						 NULL);
}

/* ---- waiting ---- */

/*
 * A wait of a statement.
 */
static WaitMode
statement_mode(TimestampTz deadline)
{
	WaitMode	mode = {0};

	mode.deadline = deadline;
	mode.is_interruptible = true;
	mode.is_watched = remote_watch_is_wanted();
	return mode;
}

static void
end_wait(const WaitMode *mode)
{
	if (mode->is_watched)
		remote_watch_end_noerror();
}

static bool
is_deadline_past(const WaitMode *mode)
{
	return postmaster_is_dead ||
		(mode->deadline != 0 && GetCurrentTimestamp() >= mode->deadline);
}

/*
 * The distinct connections with a socket among those of requests that are
 * not final.
 */
static int
collect_conns(RemoteRequest **requests, int nrequests, RemoteConn **conns)
{
	int			nconns = 0;
	int			position;
	int			known;

	for (position = 0; position < nrequests; position++)
	{
		RemoteConn *conn = requests[position]->conn;

		if (remote_request_is_final(requests[position]) || conn->pg == NULL)
			continue;
		for (known = 0; known < nconns && conns[known] != conn; known++)
			;
		if (known == nconns)
			conns[nconns++] = conn;
	}
	return nconns;
}

/*
 * Advances all connections concerned; true when all requests are final.
 */
static bool
advance_requests(RemoteRequest **requests, int nrequests)
{
	bool		all_final = true;
	int			position;

	for (position = 0; position < nrequests; position++)
	{
		if (!remote_request_is_final(requests[position]))
			advance_before_sleep(requests[position]->conn,
								 requests[position]);
	}
	for (position = 0; position < nrequests; position++)
		all_final &= remote_request_is_final(requests[position]);
	return all_final;
}

static bool
wait_for_requests(RemoteRequest **requests, int nrequests, WaitMode *mode)
{
	RemoteConn **conns;
	bool		all_final = true;
	int			position;

	if (advance_requests(requests, nrequests))
		return true;
	conns = palloc(sizeof(RemoteConn *) * nrequests);
	for (;;)
	{
		int			nconns = collect_conns(requests, nrequests, conns);

		if (mode->is_interruptible)
			CHECK_FOR_INTERRUPTS();
		if (nconns > 0)
			sleep_on(conns, nconns, mode);
		if (mode->is_interruptible)
		{
			CHECK_FOR_INTERRUPTS();
			for (position = 0; position < nconns; position++)
				look_after_silent(conns[position]);
		}
		all_final = advance_requests(requests, nrequests);
		if (all_final || is_deadline_past(mode))
			break;
		if (mode->stops_on_interrupt && (QueryCancelPending || ProcDiePending))
			break;
	}
	end_wait(mode);
	pfree(conns);
	return all_final;
}

void
remote_copy_wait(RemoteRequest *request, RemoteRequest **requests,
				 int nrequests)
{
	RemoteConn **conns = palloc(sizeof(RemoteConn *) * Max(nrequests, 1));
	WaitMode	mode = statement_mode(0);
	int			position;

	for (;;)
	{
		int			nconns;

		(void) advance_requests(requests, nrequests);
		if (remote_copy_has_room(request))
			break;
		CHECK_FOR_INTERRUPTS();
		nconns = collect_conns(requests, nrequests, conns);
		if (nconns > 0)
			sleep_on(conns, nconns, &mode);
		CHECK_FOR_INTERRUPTS();
		for (position = 0; position < nconns; position++)
			look_after_silent(conns[position]);
	}
	end_wait(&mode);
	pfree(conns);
}

/*
 * A stream counts as satisfied with its first row, so it cannot be waited
 * for as others are.
 */
static void
wait_for_rows(RemoteRequest *request, bool is_socket_enough)
{
	RemoteConn *conn = request->conn;
	WaitMode	mode = statement_mode(0);

	for (;;)
	{
		advance_before_sleep(conn, request);
		if (remote_request_is_satisfied(request) ||
			(is_socket_enough &&
			 remote_request_socket(request) != PGINVALID_SOCKET))
			break;
		CHECK_FOR_INTERRUPTS();
		if (conn->pg)
			sleep_on(&conn, 1, &mode);
		CHECK_FOR_INTERRUPTS();
		look_after_silent(conn);
	}
	end_wait(&mode);
}

void
remote_request_wait(RemoteRequest *request)
{
	if (!remote_request_is_satisfied(request))
		wait_for_rows(request, false);
}

void
remote_request_wait_for_socket(RemoteRequest *request)
{
	wait_for_rows(request, true);
}

RemoteResult *
remote_request_next(RemoteRequest *request)
{
	remote_rows_untake(request);
	if (remote_request_take_buffered(request))
		return &request->taken;
	if (!remote_request_is_satisfied(request))
		wait_for_rows(request, false);
	if (!remote_rows_is_empty(request))
	{
		remote_rows_take(request);
		return &request->taken;
	}
	if (request->state != REMOTE_REQUEST_DONE)
		remote_request_report(ERROR, request);
	return NULL;
}

bool
remote_request_is_ready(RemoteRequest *request)
{
	if (!remote_request_is_satisfied(request))
		remote_wait_advance(request->conn, request);
	return remote_request_is_satisfied(request);
}

RemoteResult *
remote_request_finish(RemoteRequest *request)
{
	WaitMode	mode = statement_mode(0);

	wait_for_requests(&request, 1, &mode);
	if (request->state != REMOTE_REQUEST_DONE)
		remote_request_report(ERROR, request);
	return request->result;
}

bool
remote_request_finish_all(RemoteRequest **requests, int nrequests,
						  TimestampTz deadline)
{
	WaitMode	mode = statement_mode(deadline);

	return nrequests == 0 || wait_for_requests(requests, nrequests, &mode);
}

bool
remote_request_finish_all_noerror(RemoteRequest **requests, int nrequests,
								  TimestampTz deadline,
								  bool stops_on_interrupt)
{
	CatchPoint	before = catch_point_here();
	volatile bool all_final = false;
	WaitMode	mode = {0};

	mode.deadline = deadline;
	mode.stops_on_interrupt = stops_on_interrupt;
	mode.is_interruptible = false;
	if (nrequests == 0)
		return true;
	PG_TRY();
	{
		all_final = wait_for_requests(requests, nrequests, &mode);
	}
	PG_CATCH();
	{
		catch_point_return(&before);
	}
	PG_END_TRY();
	return all_final;
}

/*
 * Advances the connections and collects those with a socket; true when one
 * of them got something done.
 */
static bool
advance_any(RemoteConn **conns, int nconns, RemoteConn **live, int *nlive)
{
	bool		has_progress = false;
	int			position;

	*nlive = 0;
	for (position = 0; position < nconns; position++)
	{
		RemoteConn *conn = conns[position];
		RemoteConnState state = conn->state;
		uint64		nfinal = conn->nfinal;
		uint64		nrows = conn->stats.rows;

		remote_wait_advance(conn, NULL);
		has_progress |= conn->state != state || conn->nfinal != nfinal ||
			conn->stats.rows != nrows;
		if (conn->pg)
			live[(*nlive)++] = conn;
	}
	return has_progress;
}

void
remote_wait_any(RemoteConn **conns, int nconns, TimestampTz deadline)
{
	RemoteConn **live = palloc(sizeof(RemoteConn *) * Max(nconns, 1));
	WaitMode	mode = {0};
	int			nlive;

	mode.deadline = deadline;
	mode.is_interruptible = true;
	CHECK_FOR_INTERRUPTS();
	if (!advance_any(conns, nconns, live, &nlive) && nlive > 0 &&
		!is_deadline_past(&mode))
	{
		sleep_on(live, nlive, &mode);
		CHECK_FOR_INTERRUPTS();
		advance_any(conns, nconns, live, &nlive);
	}
	pfree(live);
}

/* ---- cancelling ---- */

/*
 * Queues, on a second connection, the request to stop what ours runs.
 */
static RemoteRequest *
start_cancel(RemoteConn *conn, bool spares_writer)
{
	RemoteConn *side = remote_conn_create_side(conn);
	RemoteRequest *request;

	request = remote_request_queue_sql(side,
									   psprintf("SELECT pg_catalog.pg_cancel_backend(pid)"
												" FROM pg_catalog.pg_stat_activity"
												" WHERE pid = %d%s",
												remote_conn_backend_pid(conn),
												spares_writer ?
												" AND backend_xid IS NULL" : ""),
									   0);
	remote_request_queue_sync(side);
	return request;
}

static bool
is_cancel_done(RemoteConn *conn, RemoteRequest *cancel)
{
	return conn->nsent == 0 && (cancel == NULL || remote_request_is_final(cancel));
}

/*
 * One round: advance all, and collect who is to be slept on.
 */
static int
advance_cancels(RemoteConn **conns, RemoteRequest **cancels, int nconns,
				RemoteConn **live)
{
	int			nlive = 0;
	int			position;

	for (position = 0; position < nconns; position++)
	{
		RemoteConn *conn = conns[position];
		RemoteRequest *cancel = cancels[position];

		remote_wait_advance(conn, NULL);
		if (cancel && !remote_request_is_final(cancel))
			remote_wait_advance(cancel->conn, cancel);
		if (is_cancel_done(conn, cancel))
			continue;
		if (conn->pg)
			live[nlive++] = conn;
		if (cancel && !remote_request_is_final(cancel) && cancel->conn->pg)
			live[nlive++] = cancel->conn;
	}
	return nlive;
}

static void
run_cancels(RemoteConn **conns, RemoteRequest **cancels, int nconns,
			TimestampTz deadline)
{
	RemoteConn **live = palloc(sizeof(RemoteConn *) * nconns * 2);
	WaitMode	mode = {0};
	int			nlive;
	int			position;

	mode.deadline = deadline;
	mode.is_interruptible = false;
	for (position = 0; position < nconns; position++)
	{
		remote_request_drop_unsent_noerror(conns[position]);
		remote_wait_advance(conns[position], NULL);
		if (conns[position]->nsent > 0 &&
			remote_conn_backend_pid(conns[position]) != 0)
			cancels[position] = start_cancel(conns[position], false);
	}
	while ((nlive = advance_cancels(conns, cancels, nconns, live)) > 0 &&
		   !is_deadline_past(&mode))
		sleep_on(live, nlive, &mode);
	pfree(live);
}

/*
 * Sent, and not known to be over: it may hit whatever our session on the
 * shard does next.
 */
static bool
may_still_cancel(const RemoteRequest *cancel)
{
	return cancel->state == REMOTE_REQUEST_SENT ||
		cancel->state == REMOTE_REQUEST_LOST;
}

bool
remote_cancel_all_noerror(RemoteConn **conns, int nconns,
						  TimestampTz deadline)
{
	CatchPoint	before = catch_point_here();
	RemoteRequest **volatile cancels = NULL;
	volatile bool all_quiet = true;
	int			position;

	PG_TRY();
	{
		cancels = palloc0(sizeof(RemoteRequest *) * Max(nconns, 1));
		run_cancels(conns, cancels, nconns, deadline);
	}
	PG_CATCH();
	{
		catch_point_return(&before);
	}
	PG_END_TRY();
	for (position = 0; position < nconns; position++)
	{
		RemoteRequest *cancel = cancels ? cancels[position] : NULL;
		bool		is_doubtful = cancel && may_still_cancel(cancel);

		if (cancel)
			remote_conn_free_noerror(cancel->conn);
		if (conns[position]->nsent == 0 && !is_doubtful)
			continue;
		remote_conn_close_noerror(conns[position]);
		all_quiet = false;
	}
	return all_quiet;
}

bool
remote_conn_drain_orphans(RemoteConn *conn, TimestampTz deadline)
{
	remote_flush_noerror(conn);
	while (remote_conn_runs_only_orphans(conn))
	{
		if (GetCurrentTimestamp() >= deadline)
			return true;
		remote_wait_any(&conn, 1, deadline);
	}
	return false;
}

/*
 * Did the side connection bring about the cancellation?
 */
static bool
has_cancelled(const RemoteRequest *cancel)
{
	return cancel->state == REMOTE_REQUEST_DONE &&
		remote_result_nrows(cancel->result) == 1;
}

bool
remote_cancel_reader_noerror(RemoteConn *conn, TimestampTz deadline)
{
	CatchPoint	before = catch_point_here();
	RemoteRequest *volatile cancel = NULL;
	volatile bool was_stopped = false;

	if (remote_conn_backend_pid(conn) == 0)
		return false;
	PG_TRY();
	{
		RemoteRequest *request;
		RemoteConn *live[2];
		WaitMode	mode = {0};

		mode.deadline = deadline;
		cancel = request = start_cancel(conn, true);
		if (wait_for_requests(&request, 1, &mode) && has_cancelled(request))
		{
			was_stopped = true;
			while (advance_cancels(&conn, &request, 1, live) > 0 &&
				   !is_deadline_past(&mode))
				sleep_on(&conn, 1, &mode);
		}
	}
	PG_CATCH();
	{
		catch_point_return(&before);
	}
	PG_END_TRY();
	if (cancel)
		remote_conn_free_noerror(cancel->conn);
	if (was_stopped && conn->nsent > 0)
		remote_conn_close_noerror(conn);
	return was_stopped;
}
