/*-------------------------------------------------------------------------
 *
 * shard_history.h
 *	  Which server a shard is, and which of its possible pasts it has had.
 *
 * What a shard says of a transaction id is worth something only on the server
 * that handed the id out (its system identifier), and "committed" is proof
 * only on the timeline on which it did: a standby promoted without the last
 * WAL, or a restored server, hands the same ids out again.
 *
 * Pure: includes c.h at most, allocates nothing, raises nothing.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_SHARD_HISTORY_H
#define SHARD_FDW_TXN_SHARD_HISTORY_H

/*
 * What a shard is asked for, one text value.  The timeline is the one that is
 * written to now; pg_control still has the old one for a while after a
 * promotion.  A standby writes to none: 0.
 */
#define SHARD_HISTORY_SQL \
	"(SELECT system_identifier FROM pg_catalog.pg_control_system())::pg_catalog.text " \
	"OPERATOR(pg_catalog.||) '/' OPERATOR(pg_catalog.||) " \
	"CASE WHEN pg_catalog.pg_is_in_recovery() THEN '0' ELSE " \
	"pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) END"

typedef struct ShardHistory
{
	uint64		system;			/* 0: not known */
	uint32		timeline;		/* 0: not known */
} ShardHistory;

/* All zero when the text is not an answer to SHARD_HISTORY_SQL. */
extern ShardHistory shard_history_parse(const char *text);

/* Both false where one side is not known. */
extern bool shard_history_is_other_server(const ShardHistory *then,
										  const ShardHistory *now);
extern bool shard_history_has_branched(const ShardHistory *then,
									   const ShardHistory *now);

#endif							/* SHARD_FDW_TXN_SHARD_HISTORY_H */
