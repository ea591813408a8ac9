/*-------------------------------------------------------------------------
 *
 * remote_select.h
 *	  The text of a SELECT that reads what a FdwRelInfo describes.
 *
 * Appends to the buffer, adds parameters to the context, never waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_REMOTE_SELECT_H
#define SHARD_FDW_FDW_REMOTE_SELECT_H

#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"
#include "fdw/remote_expr.h"

/* One key of ORDER BY. */
typedef struct RemoteSortKey
{
	Node	   *expr;
	bool		is_descending;
	bool		is_nulls_first;
	int			position;		/* of a window function in the target list */
} RemoteSortKey;

/* What follows WHERE and HAVING. */
typedef struct RemoteTail
{
	List	   *sort_keys;		/* RemoteSortKeys */
	Node	   *limit_count;	/* may be NULL */
	Node	   *limit_offset;	/* may be NULL */
	bool		is_bound;		/* offset rows are to be sent too */
	bool		is_with_ties;
	List	   *locks;			/* RemoteLocks */
} RemoteTail;

/* A locking clause for one table. */
typedef struct RemoteLock
{
	Index		rtindex;
	LockClauseStrength strength;
	LockWaitPolicy policy;
} RemoteLock;

/*
 * What the statement has to return for a relation: groups, or the columns
 * needed of the tables, also those in the expressions that are left to us.
 */
extern List *remote_select_tlist(const FdwRelInfo *info,
								 const PathTarget *target, List *local_exprs);

/*
 * The whole statement.  tlist are the TargetEntries to select: what a grouped
 * relation has, else Vars.
 */
extern void remote_select_append(StringInfo buf, RemoteExprContext *context,
								 const FdwRelInfo *info, List *tlist,
								 const RemoteTail *tail);

/* ORDER BY alone; nothing if there are no keys. */
extern void remote_select_append_order_by(StringInfo buf,
										  RemoteExprContext *context,
										  List *keys);

/* ORDER BY, LIMIT and locking for a SELECT from one table. */
extern void remote_select_append_tail(StringInfo buf,
									  RemoteExprContext *context,
									  const RemoteTail *tail);

/* The tables of the query and how they are joined, for EXPLAIN. */
extern char *remote_select_describe(PlannerInfo *root, const FdwRelInfo *info);

#endif							/* SHARD_FDW_FDW_REMOTE_SELECT_H */
