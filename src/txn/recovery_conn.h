/*-------------------------------------------------------------------------
 *
 * recovery_conn.h
 *	  Connections of a recovery pass, and what fails on them as text.
 *
 * A pass over many shards does not end because of one, so nothing here raises
 * for a missing mapping or for what a shard answers.  Texts are palloc'd.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_CONN_H
#define SHARD_FDW_TXN_RECOVERY_CONN_H

#include "remote/remote_conn.h"

/*
 * Makes a connection with a user's mapping; NULL, with the reason, when there
 * is none or it must not be used.
 */
extern RemoteConn *recovery_conn_open(Oid userid, Oid serverid, char **error);

/* Queues a statement as a segment of its own. */
extern RemoteRequest *recovery_conn_queue(RemoteConn *conn, const char *sql);

/* What made a request fail, as one line. */
extern char *recovery_conn_error(RemoteRequest *request);

/* The SQLSTATE the shard answered with; 0 when it did not fail there. */
extern int	recovery_conn_sqlstate(const RemoteRequest *request);

#endif							/* SHARD_FDW_TXN_RECOVERY_CONN_H */
