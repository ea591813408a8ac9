/*-------------------------------------------------------------------------
 *
 * text_only.h
 *	  Queries whose rows this session has found to have to come as text.
 *
 * The types of a remote result are known only when it is there.  Where they
 * turn out to be others than those of the foreign table, in a way that
 * binary_value.h cannot deal with, the query is asked again as text, and
 * noted here so that it is asked so the next time.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_TEXT_ONLY_H
#define SHARD_FDW_FDW_TEXT_ONLY_H

extern void text_only_add(Oid serverid, const char *sql);

/* May also be true for a query that was not added, which does no harm. */
extern bool text_only_contains(Oid serverid, const char *sql);

#endif							/* SHARD_FDW_FDW_TEXT_ONLY_H */
