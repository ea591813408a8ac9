/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The configuration parameters of shard_fdw.
 *
 * All of them are rows of one table in settings.c; doc/settings.md has an
 * entry for each.  Nothing here knows who reads them.  Times are kept in
 * milliseconds.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_SETTINGS_H
#define SHARD_FDW_BASE_SETTINGS_H

typedef enum ShardIsolation
{
	SHARD_ISOLATION_MATCH,		/* the shard gets the local level */
	SHARD_ISOLATION_SNAPSHOT	/* at least REPEATABLE READ, for the whole
								 * transaction */
} ShardIsolation;

/* shard_fdw.two_phase_commit: prepare before committing on several shards */
extern bool setting_two_phase_commit;

/* shard_fdw.allow_drop_in_doubt: the forced way to drop a server */
extern bool setting_allow_drop_in_doubt;

/* shard_fdw.binary_results: rows need not come as text */
extern bool setting_binary_results;

/* shard_fdw.explain_pushdown: EXPLAIN tells what is not pushed down and why */
extern bool setting_explain_pushdown;

/* shard_fdw.partitionwise: joins and aggregates are planned by partition */
extern bool setting_partitionwise;

/* shard_fdw.isolation: one of ShardIsolation */
extern int	setting_isolation;

/* shard_fdw.commit_timeout: longest wait for one step of a commit */
extern int	setting_commit_timeout;

/* shard_fdw.connect_timeout: where server and mapping do not set their own */
extern int	setting_connect_timeout;

/* shard_fdw.cancel_timeout: longest wait for a shard to stop what it runs */
extern int	setting_cancel_timeout;

/* shard_fdw.response_timeout: silence after which a shard is looked after */
extern int	setting_response_timeout;

/* shard_fdw.recovery_interval: between two passes with nothing known to do */
extern int	setting_recovery_interval;

/* shard_fdw.application_name, with its escapes not yet replaced */
extern char *setting_application_name;

/* Defines the parameters and reserves their prefix; called by _PG_init(). */
extern void settings_define(void);

#endif							/* SHARD_FDW_BASE_SETTINGS_H */
