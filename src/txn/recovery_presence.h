/*-------------------------------------------------------------------------
 *
 * recovery_presence.h
 *	  Sessions that show other incarnations of this coordinator that we live.
 *
 * What is prepared on a shard may outlive the session that prepared it: the
 * user's own prepared transactions do, and what is left to the worker.  While
 * there is such a thing the worker keeps a session there, with the locks of
 * incarnation.h (F).
 *
 * The sessions belong to this module, one per server, until they are replaced
 * or dropped, or the process ends.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_PRESENCE_H
#define SHARD_FDW_TXN_RECOVERY_PRESENCE_H

#include "remote/remote_conn.h"

/* To be called by a process that stays; others keep no sessions. */
extern void recovery_presence_enable(void);

extern bool recovery_presence_is_enabled(void);

/*
 * Takes over an idle session with the server in place of the one kept so far;
 * NULL: none is needed any more.
 */
extern void recovery_presence_set_noerror(Oid serverid, RemoteConn *conn);

/* Drops those with servers that are no more. */
extern void recovery_presence_prune(void);

/* Is there any? */
extern bool recovery_presence_is_held(void);

#endif							/* SHARD_FDW_TXN_RECOVERY_PRESENCE_H */
