/*-------------------------------------------------------------------------
 *
 * remote_watch.c
 *	  Tells somebody which sessions we have on shards, and which waits for them
 *	  have become long.
 *
 * remote_wait.c looks at the time whenever it goes to sleep, so its waits need
 * nothing else.  Where core waits for our sockets, in an asynchronous Append,
 * we are asked only before it sleeps, and it sleeps until something happens;
 * a timer makes it come back.  The timer is left running when a wait is over,
 * since to set it for each would cost a system call.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "remote/remote_internal.h"
#include "remote/remote_watch.h"

/* how often a long wait in core is looked at */
#define OUTSIDE_INTERVAL_MS 1000

static struct
{
	const RemoteWatch *watch;	/* NULL: nobody wants to know */
	bool		is_told;
	TimestampTz outside_since;	/* of a wait in core; 0: there is none */
	RemoteConn **outside;		/* it is for these */
	int			noutside;
	int			max_outside;
	bool		has_timer;
	TimeoutId	timer;
}			state;

void
remote_watch_set(const RemoteWatch *watch)
{
	state.watch = watch;
}

void
remote_watch_opened_noerror(const RemoteConn *conn)
{
	if (state.watch)
		state.watch->opened_noerror(conn);
}

void
remote_watch_closes_noerror(const RemoteConn *conn)
{
	if (state.watch)
		state.watch->closes_noerror(conn);
}

bool
remote_watch_is_wanted(void)
{
	return state.watch != NULL;
}

TimestampTz
remote_watch_due(TimestampTz since)
{
	return TimestampTzPlusMilliseconds(since, DeadlockTimeout);
}

void
remote_watch_tell(RemoteConn **conns, int nconns, bool needs_any)
{
	state.is_told = true;
	state.watch->waits(conns, nconns, needs_any);
}

void
remote_watch_end_noerror(void)
{
	if (state.is_told)
		state.watch->waits_no_more_noerror();
	state.is_told = false;
	state.outside_since = 0;
	state.noutside = 0;
}

/* ---- waits in core ---- */

static void
add_outside(RemoteConn *conn)
{
	int			position;

	for (position = 0; position < state.noutside; position++)
	{
		if (state.outside[position] == conn)
			return;
	}
	if (state.noutside == state.max_outside)
	{
		int			max_outside = Max(16, 2 * state.max_outside);
		Size		size = max_outside * sizeof(RemoteConn *);

		if (state.outside)
			state.outside = repalloc(state.outside, size);
		else
			state.outside = MemoryContextAlloc(TopMemoryContext, size);
		state.max_outside = max_outside;
	}
	state.outside[state.noutside++] = conn;
}

/*
 * The signal sets the latch, which is all that is needed.
 */
static void
wake_up(void)
{
}

static void
start_timer(TimestampTz at)
{
	if (!state.has_timer)
		state.timer = RegisterTimeout(USER_TIMEOUT, wake_up);
	state.has_timer = true;
	if (!get_timeout_active(state.timer))
		enable_timeout_at(state.timer, at);
}

/*
 * An Append goes on with a row of any child, which may be all that a LIMIT
 * above it needs.
 */
void
remote_request_note_outside_wait(RemoteRequest *request)
{
	TimestampTz now;
	TimestampTz due;

	if (state.watch == NULL)
		return;
	now = GetCurrentTimestamp();
	if (state.outside_since == 0)
		state.outside_since = now;
	add_outside(request->conn);
	due = remote_watch_due(state.outside_since);
	if (now < due)
		start_timer(due);
	else
	{
		start_timer(TimestampTzPlusMilliseconds(now, OUTSIDE_INTERVAL_MS));
		remote_watch_tell(state.outside, state.noutside, true);
	}
}

void
remote_request_end_outside_wait_noerror(void)
{
	if (state.outside_since != 0)
		remote_watch_end_noerror();
}
