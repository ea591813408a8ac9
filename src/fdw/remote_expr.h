/*-------------------------------------------------------------------------
 *
 * remote_expr.h
 *	  The text of an expression for a shard.
 *
 * Only what shippable_expr() accepts for the same scope may be given.  The
 * n-th foreign table of the remote query, in the order of range table
 * indexes, has the alias rn there: the text is the same for every shard.
 * Columns have their remote names.  What the shard cannot know itself
 * (parameters, columns of other tables, what is computed here) becomes $1,
 * $2, ..., each with a cast to its type.
 *
 * Texts and lists are palloc'd in the current context.  Raises only for what
 * cannot happen.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_REMOTE_EXPR_H
#define SHARD_FDW_FDW_REMOTE_EXPR_H

#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"

#include "fdw/shippable_expr.h"

/* One remote statement while its text is made. */
typedef struct RemoteExprContext
{
	PlannerInfo *root;
	const ShipScope *scope;
	List	   *params;			/* what is sent as $1, $2, ...: the fdw_exprs
								 * of the plan */
	int			nest_level;		/* of settings, once begun; else 0 */
	bool		is_estimate;	/* the text is to be planned only: there are
								 * no parameters, but expressions instead */
	const Oid  *stand_ins;		/* NULL, or for each range table index the
								 * table to name in its place */

	/*
	 * For ON CONFLICT, which is printed when there is no planner: root is
	 * NULL, and the scope has this table, r1, and EXCLUDED, which has the
	 * same columns.
	 */
	Oid			relid;
	bool		omits_aliases;	/* names are not to be qualified */
} RemoteExprContext;

/*
 * Between these two the settings are in force that the text of expressions
 * depends on.  remote_expr_append() begins it when it has to print something;
 * who prints anything else begins it himself.
 */
extern void remote_expr_begin(RemoteExprContext *context);
extern void remote_expr_end(RemoteExprContext *context);

/* The number n of the alias rn of a table of the scope. */
extern int	remote_expr_alias(const ShipScope *scope, Index rtindex);

/*
 * The column, and the foreign table it is in, to be named for a column of the
 * query; with InvalidAttrNumber the table alone.
 */
extern AttrNumber remote_expr_attno(const RemoteExprContext *context,
									Index rtindex, AttrNumber attnum,
									Oid *relid);

/*
 * Appends the text of one expression, and to params what it needs.
 * remote_expr_end() must follow before anything but text is made.
 */
extern void remote_expr_append(StringInfo buf, RemoteExprContext *context,
							   Node *expr);

/*
 * The same for a value to be assigned.  Its constants become parameters: no
 * plan depends on them, and the text is the same whatever they are.
 */
extern void remote_expr_append_value(StringInfo buf,
									 RemoteExprContext *context, Node *expr);

/*
 * The same for the conditions of a WHERE, of which there is at least one.
 * Keys that they look for become parameters, see plan_key.h.
 */
extern void remote_expr_append_conds(StringInfo buf,
									 RemoteExprContext *context, List *conds);

#endif							/* SHARD_FDW_FDW_REMOTE_EXPR_H */
