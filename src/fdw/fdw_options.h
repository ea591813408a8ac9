/*-------------------------------------------------------------------------
 *
 * fdw_options.h
 *	  The options of servers, user mappings, tables and columns.
 *
 * fdw_options.c has the table of our own options and the validator; libpq's
 * keywords come from remote_options.h.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_FDW_OPTIONS_H
#define SHARD_FDW_FDW_FDW_OPTIONS_H

#include "foreign/foreign.h"

/* Option analyze_sampling: how the shard samples rows for ANALYZE. */
typedef enum FdwSampling
{
	FDW_SAMPLING_OFF,			/* all rows travel */
	FDW_SAMPLING_AUTO,			/* the best the shard has */
	FDW_SAMPLING_RANDOM,		/* WHERE random() < fraction */
	FDW_SAMPLING_SYSTEM,		/* TABLESAMPLE SYSTEM */
	FDW_SAMPLING_BERNOULLI		/* TABLESAMPLE BERNOULLI */
} FdwSampling;

/* The options of one foreign table, server values overridden by its own. */
typedef struct FdwTableOptions
{
	bool		use_remote_estimate;
	double		startup_cost;
	double		tuple_cost;
	int			fetch_size;		/* rows */
	bool		has_fetch_size; /* the user has set it, so it is kept whatever
								 * the width of a row */
	int			batch_size;		/* rows */
	bool		is_updatable;
	bool		is_truncatable;
	bool		is_async_capable;
	FdwSampling sampling;
	bool		imports_stats;	/* ANALYZE copies the shard's statistics */
	List	   *extensions;		/* oids of extensions whose immutable objects
								 * may be used remotely */
} FdwTableOptions;

/*
 * Palloc'd in the current context.  Others ask table_cache.h, which remembers
 * the answer.
 */
extern FdwTableOptions *fdw_options_read(const ForeignServer *server,
										 const ForeignTable *table);

#endif							/* SHARD_FDW_FDW_FDW_OPTIONS_H */
