/*-------------------------------------------------------------------------
 *
 * remote_conn.h
 *	  One connection to a shard.
 *
 * A RemoteConn is the place where requests for one user mapping line up.  It
 * is opened without blocking, together with any number of others; nobody
 * waits for it but the request engine.  It knows nothing of transactions and
 * nothing of who keeps it.
 *
 * Ownership: allocated in a context of its own below TopMemoryContext, freed
 * by remote_conn_free(), which closes the connection.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_CONN_H
#define SHARD_FDW_REMOTE_REMOTE_CONN_H

#include "remote/remote_options.h"
#include "remote/remote_request.h"

typedef enum RemoteConnState
{
	REMOTE_CONN_IDLE,			/* not opened yet, or closed; opened by the
								 * first flush */
	REMOTE_CONN_CONNECTING,		/* until libpq says it is up or failed */
	REMOTE_CONN_READY,			/* until it is lost or closed */
	REMOTE_CONN_LOST			/* until remote_conn_reset(): all requests
								 * have become LOST */
} RemoteConnState;

/* Counters since the connection object was made; see stat_shards. */
typedef struct RemoteConnStats
{
	uint64		connects;
	uint64		statements;
	uint64		trips;			/* flushes followed by a wait */
	uint64		rows;
	uint64		bytes;
	uint64		errors;
	uint64		wait_us;
} RemoteConnStats;

/*
 * Makes an unopened connection for the mapping of userid on the server.
 * Raises for a missing mapping and where the password rules for
 * non-superusers (remote_options.h) forbid it.
 */
extern RemoteConn *remote_conn_create(Oid userid, Oid serverid);

/*
 * Has the session said with its last Sync that it is in a transaction block,
 * also a failed one?  Only where nothing is outstanding.
 */
extern bool remote_conn_is_in_block(const RemoteConn *conn);

/*
 * Gives the statement with which every session of the connection begins; it
 * goes out together with what is queued, and where it fails the session is
 * given up as one that never came up.  The caller has nothing queued or open
 * on the connection: a session that began with another statement is closed.
 */
extern void remote_conn_set_setup(RemoteConn *conn, const char *sql);

/*
 * The first value that the session answered to it with; empty before it has
 * answered.
 */
extern const char *remote_conn_setup_answer(const RemoteConn *conn);

/* Begins to open it, if it is not open already.  Never waits, may raise. */
extern void remote_conn_open(RemoteConn *conn);

/* Closes it; outstanding requests become LOST. */
extern void remote_conn_close_noerror(RemoteConn *conn);

/* Closes and frees it. */
extern void remote_conn_free_noerror(RemoteConn *conn);

/* Makes a LOST connection usable again: the next request opens it anew. */
extern void remote_conn_reset_noerror(RemoteConn *conn);

extern RemoteConnState remote_conn_state(const RemoteConn *conn);
extern const char *remote_conn_server_name(const RemoteConn *conn);
extern Oid	remote_conn_serverid(const RemoteConn *conn);
extern Oid	remote_conn_userid(const RemoteConn *conn);
extern RemotePooling remote_conn_pooling(const RemoteConn *conn);

/* The session's process on the shard; 0 if there is none or it is not known. */
extern int	remote_conn_backend_pid(const RemoteConn *conn);

extern bool remote_conn_is_among(const RemoteConn *conn, RemoteConn **conns,
								 int nconns);
extern const RemoteConnStats *remote_conn_stats(const RemoteConn *conn);

/*
 * Says that the session is in no transaction and that whatever is queued
 * next may be sent a second time if the connection, unused for a while,
 * turns out to be dead before the first answer arrives.
 */
extern void remote_conn_allow_replay(RemoteConn *conn);

/* Looks, without waiting, whether the other side has closed it. */
extern bool remote_conn_is_closed_by_peer(RemoteConn *conn);

#endif							/* SHARD_FDW_REMOTE_REMOTE_CONN_H */
