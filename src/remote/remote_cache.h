/*-------------------------------------------------------------------------
 *
 * remote_cache.h
 *	  The connections of this backend, one per user mapping.
 *
 * An entry is looked up by (server, user) and keyed by the mapping that
 * applies, so users who share the PUBLIC mapping share a connection only if
 * neither of them is held to rules the other is not: the key has the user
 * where it is not a superuser.  ALTER SERVER and ALTER USER MAPPING mark
 * entries; a marked entry is replaced the next time it is asked for outside
 * a remote transaction.
 *
 * The cache never sends a statement and never waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_CACHE_H
#define SHARD_FDW_REMOTE_REMOTE_CACHE_H

#include "remote/remote_conn.h"

/* Registers the invalidation callbacks; called by _PG_init(). */
extern void remote_cache_init(void);

/*
 * The connection for the user's mapping on the server, made if there is
 * none.  is_new_transaction tells that the caller holds nothing in it, so
 * that an invalidated or lost one is replaced.  Raises as
 * remote_conn_create() does.
 */
extern RemoteConn *remote_cache_get(Oid userid, Oid serverid,
									bool is_new_transaction);

/* Takes the connection out of the cache and frees it. */
extern void remote_cache_discard_noerror(RemoteConn *conn);

/*
 * To be called at the end of a transaction that used the connection: drops
 * it if it was invalidated or the server says keep_connections = off.
 */
extern void remote_cache_end_use_noerror(RemoteConn *conn);

/*
 * Closes the connections whose server or mapping was changed or dropped, at a
 * time at which no transaction uses any.
 */
extern void remote_cache_drop_invalid_noerror(void);

/* One cached connection, for get_connections() and disconnect(). */
typedef struct RemoteCacheItem
{
	RemoteConn *conn;
	Oid			serverid;
	Oid			umid;
	Oid			userid;
	bool		is_valid;		/* not marked by an ALTER or DROP */
} RemoteCacheItem;

/* All of them as a palloc'd List of RemoteCacheItem pointers. */
extern struct List *remote_cache_list(void);

#endif							/* SHARD_FDW_REMOTE_REMOTE_CACHE_H */
