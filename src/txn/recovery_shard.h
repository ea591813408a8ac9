/*-------------------------------------------------------------------------
 *
 * recovery_shard.h
 *	  Recovery of one shard, as a state machine that never waits.
 *
 * recovery.c makes one of these for each server of a pass and advances them
 * all whenever something has arrived.  The steps and their order are told in
 * recovery_shard.c.
 *
 * Memory: the context current in recovery_shard_create(); connections are
 * closed by recovery_shard_free_noerror().  May raise for local failures.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_SHARD_H
#define SHARD_FDW_TXN_RECOVERY_SHARD_H

#include "remote/remote_conn.h"
#include "txn/recovery.h"
#include "txn/recovery_rows.h"

typedef struct RecoveryShard RecoveryShard;

/* looks_only: see what there is, and touch nothing. */
extern RecoveryShard *recovery_shard_create(Oid serverid, uint64 identity,
											RecoveryRows *rows,
											bool looks_only);

/* Does what can be done without waiting; true when nothing is left to do. */
extern bool recovery_shard_advance(RecoveryShard *shard);

/* Ends it where it stands, for the given reason. */
extern void recovery_shard_give_up(RecoveryShard *shard, const char *reason);

/* Its connections, as a List, to be waited for. */
extern List *recovery_shard_conns(const RecoveryShard *shard);

/* When to advance it although nothing has arrived; 0: never. */
extern TimestampTz recovery_shard_next_try(const RecoveryShard *shard);

extern RecoveryReport *recovery_shard_report(RecoveryShard *shard);

/* What was in doubt there, a List of RecoveryBranch pointers. */
extern List *recovery_shard_branches(const RecoveryShard *shard);

extern void recovery_shard_free_noerror(RecoveryShard *shard);

#endif							/* SHARD_FDW_TXN_RECOVERY_SHARD_H */
