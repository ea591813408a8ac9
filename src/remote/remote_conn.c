/*-------------------------------------------------------------------------
 *
 * remote_conn.c
 *	  One connection to a shard: opening, failing, closing.
 *
 * Everything is done without blocking; remote_wait.c calls
 * remote_conn_poll() when libpq's socket is ready.  Pipeline mode is entered
 * as soon as the connection is up (libpq breaks when it is entered before) and
 * left only for the time of a COPY.
 *
 * Replay.  A connection that was idle may be dead without anybody knowing.
 * When it fails before the first answer to what was queued since
 * remote_conn_allow_replay(), nothing of that has taken effect for good (the
 * transaction it belongs to was never committed), so it is opened anew and
 * the same requests are sent again, once.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <poll.h>

#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "remote/remote_internal.h"

/*
 * A shard from version 14 on notices by itself, within this time, that we
 * are gone while it runs something for us.
 */
#define CLIENT_CHECK_VERSION 140000
#define CLIENT_CHECK_SQL "SET client_connection_check_interval = '2s'"

/* time for which a connection is taken to be as it was when last used */
#define JUST_USED_MS 100

/* those that somebody has to look after while anybody waits */
static dlist_head connecting = DLIST_STATIC_INIT(connecting);

dlist_head *
remote_conn_connecting(void)
{
	return &connecting;
}

static void
change_state(RemoteConn *conn, RemoteConnState state)
{
	if (conn->state == REMOTE_CONN_CONNECTING)
		dlist_delete(&conn->connecting_node);
	if (state == REMOTE_CONN_CONNECTING)
		dlist_push_tail(&connecting, &conn->connecting_node);
	conn->state = state;
}

static void
count_notice(void *arg, const PGresult *res)
{
	((RemoteConn *) arg)->nnotices++;
}

static RemoteConn *
alloc_conn(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "shard_fdw connection",
												  ALLOCSET_DEFAULT_SIZES);
	RemoteConn *conn = MemoryContextAllocZero(context, sizeof(RemoteConn));

	conn->context = context;
	conn->state = REMOTE_CONN_IDLE;
	dlist_init(&conn->fifo);
	dlist_init(&conn->finished);
	return conn;
}

RemoteConn *
remote_conn_create(Oid userid, Oid serverid)
{
	ForeignServer *server = GetForeignServer(serverid);
	UserMapping *user = GetUserMapping(userid, serverid);
	RemoteConn *conn = alloc_conn();
	MemoryContext old_context = MemoryContextSwitchTo(conn->context);

	PG_TRY();
	{
		conn->userid = userid;
		conn->serverid = serverid;
		conn->server_name = pstrdup(server->servername);
		conn->options = remote_options_build(server, user);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old_context);
		MemoryContextDelete(conn->context);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old_context);
	return conn;
}

/*
 * PQhostaddr() is empty, or the folder, where the connection is by a local
 * socket; then the host alone says it all.
 */
static const char *
pinned_address(const PGconn *pg)
{
	const char *address = PQhostaddr(pg);

	return address && address[0] != '/' ? address : "";
}

/*
 * The same parameters, which stay with the main connection that lives longer,
 * but for the host: of several the one that the main connection has reached.
 */
static RemoteOptions *
pin_host(RemoteConn *side, const RemoteConn *conn)
{
	MemoryContext old_context = MemoryContextSwitchTo(side->context);
	RemoteOptions *options = palloc(sizeof(RemoteOptions));
	int			count = 0;

	*options = *conn->options;
	while (conn->options->keywords[count])
		count++;
	options->keywords = palloc0(sizeof(char *) * (count + 4));
	options->values = palloc0(sizeof(char *) * (count + 4));
	memcpy(options->keywords, conn->options->keywords, sizeof(char *) * count);
	memcpy(options->values, conn->options->values, sizeof(char *) * count);
	options->keywords[count] = "host";
	options->values[count++] = pstrdup(PQhost(conn->pg));
	options->keywords[count] = "hostaddr";
	options->values[count++] = pstrdup(pinned_address(conn->pg));
	options->keywords[count] = "port";
	options->values[count++] = pstrdup(PQport(conn->pg));
	MemoryContextSwitchTo(old_context);
	return options;
}

RemoteConn *
remote_conn_create_side(const RemoteConn *conn)
{
	RemoteConn *side = alloc_conn();

	side->userid = conn->userid;
	side->serverid = conn->serverid;
	side->server_name = conn->server_name;
	side->options = pin_host(side, conn);
	return side;
}

void
remote_conn_set_setup(RemoteConn *conn, const char *sql)
{
	if (conn->setup_sql && strcmp(conn->setup_sql, sql) == 0)
		return;
	remote_conn_close_noerror(conn);
	remote_conn_reset_noerror(conn);
	if (conn->setup_sql)
		pfree(conn->setup_sql);
	conn->setup_sql = MemoryContextStrdup(conn->context, sql);
}

const char *
remote_conn_setup_answer(const RemoteConn *conn)
{
	return conn->setup_answer ? conn->setup_answer : "";
}

void
remote_conn_open(RemoteConn *conn)
{
	if (conn->state != REMOTE_CONN_IDLE)
		return;
	if (!AcquireExternalFD())
	{
		remote_conn_fail(conn, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
						 NULL, "There are too many open files on the local server.",
						 NULL);
		return;
	}
	conn->pg = PQconnectStartParams(conn->options->keywords,
									conn->options->values, false);
	if (conn->pg == NULL)
		ReleaseExternalFD();
	change_state(conn, REMOTE_CONN_CONNECTING);
	conn->generation++;
	conn->poll_status = PGRES_POLLING_WRITING;
	conn->connect_deadline = conn->options->connect_timeout_ms <= 0 ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									conn->options->connect_timeout_ms);
	if (conn->pg == NULL || PQstatus(conn->pg) == CONNECTION_BAD)
		remote_conn_fail(conn, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
						 NULL, conn->pg ? PQerrorMessage(conn->pg) : "out of memory",
						 NULL);
}

/*
 * Has the connection come up on credentials of the user's own?
 */
static bool
used_own_credentials(const RemoteConn *conn)
{
	return PQconnectionUsedPassword(conn->pg) ||
		(conn->options->may_use_delegated &&
		 compat_connection_used_gssapi(conn->pg));
}

/*
 * Those that go ahead of the first statement of the session.
 */
static void
insert_settings(RemoteConn *conn)
{
	const char *sql;
	int			position;

	if (conn->options->pooling != REMOTE_POOLING_TRANSACTION &&
		PQserverVersion(conn->pg) >= CLIENT_CHECK_VERSION)
		remote_request_insert_setup(conn, CLIENT_CHECK_SQL, false);
	if (conn->options->pooling != REMOTE_POOLING_SESSION)
		return;
	for (position = 0; (sql = remote_options_setting_sql(position)); position++)
		remote_request_insert_setup(conn, sql, true);
}

static void
connection_is_up(RemoteConn *conn)
{
	if (conn->options->needs_own_password && !used_own_credentials(conn))
	{
		remote_conn_fail(conn, ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED,
						 COMPAT_PASSWORD_REQUIRED,
						 COMPAT_PASSWORD_UNUSED,
						 "Target server's authentication method must be changed or password_required=false set in the user mapping attributes.");
		return;
	}
	PQsetNoticeReceiver(conn->pg, count_notice, conn);
	if (PQsetnonblocking(conn->pg, 1) != 0 || PQenterPipelineMode(conn->pg) != 1)
	{
		remote_conn_fail(conn, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
						 NULL, PQerrorMessage(conn->pg), NULL);
		return;
	}
	conn->backend_pid = PQbackendPID(conn->pg);
	change_state(conn, REMOTE_CONN_READY);
	remote_watch_opened_noerror(conn);
	conn->generation++;
	conn->stats.connects++;
	conn->last_activity = GetCurrentTimestamp();
	insert_settings(conn);
	if (conn->setup_sql)
		remote_request_insert_setup(conn, conn->setup_sql, true);
}

/*
 * Is the event that the connection attempt waits for there?  Polling libpq
 * without it would make it take an unfinished connect for a finished one.
 */
static bool
is_poll_event_there(RemoteConn *conn)
{
	struct pollfd pfd;

	pfd.fd = PQsocket(conn->pg);
	pfd.events = conn->poll_status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
	pfd.revents = 0;
	return pfd.fd < 0 || poll(&pfd, 1, 0) > 0;
}

static const char *
connect_hint(const char *message)
{
	return strstr(message, "unsupported startup parameter") ?
		"Behind a pooler the foreign server needs the option \"pool_mode\"." : NULL;
}

void
remote_conn_poll(RemoteConn *conn)
{
	while (conn->state == REMOTE_CONN_CONNECTING && is_poll_event_there(conn))
	{
		conn->poll_status = PQconnectPoll(conn->pg);
		conn->generation++;
		if (conn->poll_status == PGRES_POLLING_OK)
			connection_is_up(conn);
		else if (conn->poll_status == PGRES_POLLING_FAILED)
			remote_conn_fail(conn,
							 ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
							 NULL, PQerrorMessage(conn->pg),
							 connect_hint(PQerrorMessage(conn->pg)));
	}
	if (conn->state == REMOTE_CONN_CONNECTING && conn->connect_deadline != 0 &&
		GetCurrentTimestamp() >= conn->connect_deadline)
		remote_conn_fail(conn, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
						 NULL, "timeout expired", NULL);
}

static void
set_text(char **target, RemoteConn *conn, const char *value)
{
	if (*target)
		pfree(*target);
	*target = value ? MemoryContextStrdup(conn->context, value) : NULL;
	if (*target)
	{
		int			length = strlen(*target);

		while (length > 0 && (*target)[length - 1] == '\n')
			(*target)[--length] = '\0';
	}
}

/*
 * Closes the socket and forgets all that depended on the session; the caller
 * goes on to remote_request_lose_all().
 */
static void
drop_session(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONN_READY)
		remote_watch_closes_noerror(conn);
	remote_wait_forget(conn);
	if (conn->pg)
	{
		PQfinish(conn->pg);
		ReleaseExternalFD();
		conn->pg = NULL;
	}
	conn->generation++;
	conn->is_segment_open = false;
	conn->has_unsent_output = false;
	conn->has_unwaited_flush = false;
	conn->is_unanswered = false;
	remote_result_unref(conn->segment_error);
	conn->segment_error = NULL;
	remote_statement_forget_all(conn);
}

void
remote_conn_fail(RemoteConn *conn, int sqlstate, const char *message,
				 const char *detail, const char *hint)
{
	bool		was_ready = conn->state == REMOTE_CONN_READY;

	conn->lost_sqlstate = sqlstate;
	set_text(&conn->lost_message, conn, message);
	set_text(&conn->lost_detail, conn, detail);
	set_text(&conn->lost_hint, conn, hint);
	drop_session(conn);
	if (was_ready && conn->is_replay_armed)
	{
		conn->is_replay_armed = false;
		change_state(conn, REMOTE_CONN_IDLE);
		remote_request_lose_all(conn, true);
		if (!dlist_is_empty(&conn->fifo))
			remote_conn_open(conn);
		return;
	}
	conn->stats.errors++;
	change_state(conn, REMOTE_CONN_LOST);
	remote_request_lose_all(conn, false);
}

void
remote_conn_close_noerror(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONN_IDLE && dlist_is_empty(&conn->fifo))
		return;
	conn->lost_sqlstate = ERRCODE_CONNECTION_FAILURE;
	set_text(&conn->lost_message, conn, NULL);
	set_text(&conn->lost_detail, conn, "The connection was closed.");
	set_text(&conn->lost_hint, conn, NULL);
	drop_session(conn);
	conn->is_replay_armed = false;
	change_state(conn, REMOTE_CONN_LOST);
	remote_request_lose_all(conn, false);
}

void
remote_conn_free_noerror(RemoteConn *conn)
{
	remote_conn_close_noerror(conn);
	remote_request_orphan_level_noerror(conn, 0);
	MemoryContextDelete(conn->context);
}

void
remote_conn_reset_noerror(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONN_LOST)
		change_state(conn, REMOTE_CONN_IDLE);
}

RemoteConnState
remote_conn_state(const RemoteConn *conn)
{
	return conn->state;
}

const char *
remote_conn_server_name(const RemoteConn *conn)
{
	return conn->server_name;
}

Oid
remote_conn_serverid(const RemoteConn *conn)
{
	return conn->serverid;
}

Oid
remote_conn_userid(const RemoteConn *conn)
{
	return conn->userid;
}

RemotePooling
remote_conn_pooling(const RemoteConn *conn)
{
	return conn->options->pooling;
}

/*
 * libpq forgets it with the first error on the socket, before we have seen that
 * error.
 */
int
remote_conn_backend_pid(const RemoteConn *conn)
{
	return conn->state == REMOTE_CONN_READY &&
		conn->options->pooling == REMOTE_POOLING_NONE ?
		conn->backend_pid : 0;
}

bool
remote_conn_is_in_block(const RemoteConn *conn)
{
	PGTransactionStatusType status;

	if (conn->state != REMOTE_CONN_READY)
		return false;
	status = PQtransactionStatus(conn->pg);
	return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

bool
remote_conn_is_among(const RemoteConn *conn, RemoteConn **conns, int nconns)
{
	int			position;

	for (position = 0; position < nconns; position++)
	{
		if (conns[position] == conn)
			return true;
	}
	return false;
}

const RemoteConnStats *
remote_conn_stats(const RemoteConn *conn)
{
	return &conn->stats;
}

void
remote_conn_allow_replay(RemoteConn *conn)
{
	/* a connection just opened, or still to be opened, needs none */
	conn->is_replay_armed = conn->state == REMOTE_CONN_READY;
}

bool
remote_conn_was_just_used(const RemoteConn *conn)
{
	return conn->state == REMOTE_CONN_READY &&
		GetCurrentTimestamp() < TimestampTzPlusMilliseconds(conn->last_activity,
															JUST_USED_MS);
}

bool
remote_conn_is_closed_by_peer(RemoteConn *conn)
{
	struct pollfd pfd;

	if (conn->state != REMOTE_CONN_READY)
		return conn->state == REMOTE_CONN_LOST;
	pfd.fd = PQsocket(conn->pg);
	pfd.events = POLLRDHUP;
	pfd.revents = 0;
	return poll(&pfd, 1, 0) > 0 &&
		(pfd.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}
