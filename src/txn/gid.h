/*-------------------------------------------------------------------------
 *
 * gid.h
 *	  The name of a transaction prepared on a shard, and the token by which
 *	  the outcome of a one-phase commit can be asked for.
 *
 *	  sfdw1_<identity>_<database>_<incarnation>_<xid>_<token>_<branch>_<server>_<user>
 *	  sfdw1p_<identity>_<database>_<server>_<user>_<remote xid>_<start time>_<system>
 *
 * identity is the 64 random bits CREATE EXTENSION made for this coordinator
 * (16 hex digits), database the oid of the coordinator's database, incarnation
 * tells its runs and its copies apart (incarnation.h), xid is its full
 * transaction id (decimal), token 64 random bits of this transaction (16 hex
 * digits): an xid that never reached the WAL is handed out again after a
 * crash, so the xid alone names nothing (invariant K).  branch numbers the
 * participants; server and user are the oids that tell recovery with which
 * user mapping the transaction was prepared.
 *
 * A one-phase token names a transaction of the shard by its full xid there
 * and by the time since when the shard has run without a crash (microseconds
 * since 1970), which tells whether the xid can have been handed out again, and
 * by the system identifier of the server that has the xid.
 *
 * Both are recognised by parsing them completely, never by pattern (F).
 * Pure: includes c.h at most, allocates nothing, raises nothing.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_GID_H
#define SHARD_FDW_TXN_GID_H

#define GID_MAX_LENGTH 199

/*
 * What a shard is asked for the start time in a one-phase token.  A crash of
 * a backend restarts the server without changing the postmaster's start time,
 * but resets the statistics.
 */
#define ONE_PHASE_START_TIME_SQL \
	"(extract(epoch FROM greatest(pg_catalog.pg_postmaster_start_time(), " \
	"pg_catalog.pg_stat_get_bgwriter_stat_reset_time())) " \
	"OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8"

typedef struct Gid
{
	uint64		identity;
	uint32		database;
	uint64		incarnation;
	uint64		xid;
	uint64		token;
	uint32		branch;
	uint32		server;
	uint32		user;
} Gid;

typedef struct OnePhaseToken
{
	uint64		identity;
	uint32		database;
	uint32		server;
	uint32		user;
	uint64		remote_xid;
	uint64		start_time;
	uint64		system;			/* 0: not known */
} OnePhaseToken;

/* Writes the name, at most GID_MAX_LENGTH bytes and a terminator. */
extern void gid_format(const Gid *gid, char *buffer);

/*
 * Takes a name apart; false when it is not one that gid_format() would have
 * written, to the byte.
 */
extern bool gid_parse(const char *text, Gid *gid);

/*
 * Writes the part of the name up to the incarnation, of which nothing else is
 * looked at.
 */
extern void gid_format_incarnation(const Gid *gid, char *buffer);

/* Does the name belong to this coordinator and database? */
extern bool gid_is_ours(const Gid *gid, uint64 identity, uint32 database);

/* The same for one-phase tokens. */
extern void one_phase_token_format(const OnePhaseToken *token, char *buffer);
extern bool one_phase_token_parse(const char *text, OnePhaseToken *token);

#endif							/* SHARD_FDW_TXN_GID_H */
