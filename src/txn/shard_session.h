/*-------------------------------------------------------------------------
 *
 * shard_session.h
 *	  What a shard says of itself when a session with it begins.
 *
 * It holds for as long as the session does, but not behind a pooler that gives
 * each transaction another one.
 *
 * Pure: includes c.h at most, allocates nothing, raises nothing.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_SHARD_SESSION_H
#define SHARD_FDW_TXN_SHARD_SESSION_H

#include "txn/gid.h"
#include "txn/shard_history.h"

/* What a shard is asked for, one text value. */
#define SHARD_SESSION_SQL \
	SHARD_HISTORY_SQL " OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) " \
	ONE_PHASE_START_TIME_SQL "::pg_catalog.text " \
	"OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) " \
	"pg_catalog.current_setting('max_prepared_transactions')"

typedef struct ShardSession
{
	ShardHistory history;
	uint64		start_time;		/* see ONE_PHASE_START_TIME_SQL; 0: unknown */
	int			max_prepared;	/* its max_prepared_transactions; -1: unknown */
} ShardSession;

/* All unknown when the text is not an answer to SHARD_SESSION_SQL. */
extern ShardSession shard_session_parse(const char *text);

#endif							/* SHARD_FDW_TXN_SHARD_SESSION_H */
