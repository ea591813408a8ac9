/*-------------------------------------------------------------------------
 *
 * remote_sql.h
 *	  The text of the statements sent to shards.
 *
 * Names are the remote ones (options schema_name, table_name, column_name),
 * always qualified and quoted.  Expressions come from remote_expr.h.
 * Functions append to the buffer, never wait, and raise only for what cannot
 * happen.
 *
 * Columns to be retrieved are given as an integer List of attnos, in the
 * order of the result's columns; the two row identity attnos of fdw_plan.h
 * may be among them.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_REMOTE_SQL_H
#define SHARD_FDW_FDW_REMOTE_SQL_H

#include "lib/stringinfo.h"
#include "nodes/lockoptions.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

#include "fdw/remote_conflict.h"
#include "fdw/remote_expr.h"

/* schema.table of the foreign table's remote side, quoted */
extern void remote_sql_relation(StringInfo buf, Relation rel);

/* The remote name of a column, quoted. */
extern void remote_sql_column(StringInfo buf, Oid relid, AttrNumber attnum);

/*
 * The columns to retrieve for a set of attnos as pull_varattnos() makes it,
 * where a whole-row reference stands for all columns.
 */
extern List *remote_sql_retrieved_attrs(Relation rel, Bitmapset *attrs_used);

/* ---- with expressions; the table is the one of the context's scope ---- */

/*
 * SELECT from one table; conds are bare expressions, all of which must hold.
 */
extern void remote_sql_select(StringInfo buf, RemoteExprContext *context,
							  Relation rel, List *retrieved_attrs,
							  List *conds);

/*
 * FOR UPDATE and the like, at the end of a SELECT; nothing for LCS_NONE.  If
 * alias is not 0, only for the table with that alias.
 */
extern void remote_sql_lock(StringInfo buf, LockClauseStrength strength,
							LockWaitPolicy policy, int alias);

/* An UPDATE or DELETE of all rows that meet some conditions. */
typedef struct RemoteDirect
{
	CmdType		operation;
	Relation	rel;
	List	   *targets;		/* UPDATE: expressions for target_attrs */
	List	   *target_attrs;
	List	   *conds;			/* bare expressions */
	bool		has_returning;	/* the rows are wanted, even if none of their
								 * columns is */
	List	   *returning_attrs;
} RemoteDirect;

extern void remote_sql_direct(StringInfo buf, RemoteExprContext *context,
							  const RemoteDirect *direct);

/* ---- row by row ---- */

/* An INSERT of a number of rows. */
typedef struct RemoteInsert
{
	Relation	rel;
	List	   *target_attrs;	/* attnos to send, row after row, as
								 * parameters that follow those of conflict;
								 * the other columns (generated ones) are left
								 * to the shard */
	int			nrows;
	const RemoteConflict *conflict; /* or NULL */
	List	   *returning_attrs;
	bool		returns_key;	/* behind them, conflict's key */
} RemoteInsert;

extern void remote_sql_insert(StringInfo buf, const RemoteInsert *insert);

/* COPY FROM STDIN of the columns. */
extern void remote_sql_copy(StringInfo buf, Relation rel, List *target_attrs,
							bool is_binary);

/*
 * A query for whether that COPY would do what INSERT does: one row with a
 * boolean, or none.  A binary one needs columns of the very same types.
 */
extern void remote_sql_copy_check(StringInfo buf, Relation rel,
								  List *target_attrs, bool is_binary);

/* UPDATE and DELETE of one row by ctid and tableoid, see fdw_plan.h. */
extern void remote_sql_update(StringInfo buf, Relation rel,
							  List *target_attrs, List *returning_attrs);
extern void remote_sql_delete(StringInfo buf, Relation rel,
							  List *returning_attrs);

/*
 * The same for nrows rows, at least two, at once; the parameters are those of
 * each row one after the other.  Possible where all columns have types that
 * every server knows; an UPDATE needs the very same ones there.
 */
extern bool remote_sql_can_change_many(Relation rel, List *target_attrs);
extern void remote_sql_update_many(StringInfo buf, Relation rel,
								   List *target_attrs, int nrows);
extern void remote_sql_delete_many(StringInfo buf, Relation rel, int nrows);

/* ---- whole tables ---- */

/* TRUNCATE of several tables of one server. */
extern void remote_sql_truncate(StringInfo buf, List *rels,
								bool is_cascade, bool restarts_sequences);

/*
 * For ANALYZE: the size of the table (one row: pages, tuples, relkind; -1
 * tuples where the shard has no estimate) and its rows, sampled where a
 * fraction below 1 is given, by the method of option analyze_sampling.
 * *retrieved_attrs gets the attnos selected.
 */
extern void remote_sql_analyze_size(StringInfo buf, Relation rel);
extern void remote_sql_analyze_rows(StringInfo buf, Relation rel,
									double fraction, List **retrieved_attrs);

#endif							/* SHARD_FDW_FDW_REMOTE_SQL_H */
