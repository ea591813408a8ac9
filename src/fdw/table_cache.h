/*-------------------------------------------------------------------------
 *
 * table_cache.h
 *	  What the catalogs say of foreign tables, remembered for the session.
 *
 * Options and remote names of a table are scattered over rows of several
 * catalogs, and queries over many partitions ask for all of them each time.
 * What is remembered goes when one of these rows changes.
 *
 * The caller must hold a lock on the table.  All functions raise for what is
 * missing from the catalogs.  Names are not the caller's: they may be gone
 * when the catalogs are looked at again.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_TABLE_CACHE_H
#define SHARD_FDW_FDW_TABLE_CACHE_H

#include "access/attnum.h"

#include "fdw/fdw_options.h"

/*
 * Is something remembered of the table, so that it is a foreign table of ours
 * for certain?  The second remembers something.
 */
extern bool table_cache_contains(Oid relid);
extern void table_cache_add(Oid relid);

/* Palloc'd in the current context. */
extern FdwTableOptions *table_cache_options(Oid relid);

/* The name of the table on the shard, qualified and quoted. */
extern const char *table_cache_relation_name(Oid relid);

/* The name of a column there, not quoted.  Dropped columns have none. */
extern const char *table_cache_column_name(Oid relid, AttrNumber attnum);

#endif							/* SHARD_FDW_FDW_TABLE_CACHE_H */
