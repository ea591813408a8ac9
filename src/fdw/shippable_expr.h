/*-------------------------------------------------------------------------
 *
 * shippable_expr.h
 *	  Does an expression give the same result on a shard?
 *
 * It does when every operator, function and type in it is known there
 * (shippable.h), no function's result depends on the session, and every
 * collation that matters is the one the shard derives for itself.  The text
 * is made by remote_expr.h, which relies on the answers given here.
 *
 * Nothing here writes into the expressions or waits; catalogs are read.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_SHIPPABLE_EXPR_H
#define SHARD_FDW_FDW_SHIPPABLE_EXPR_H

#include "nodes/pathnodes.h"

/* For which remote query an expression is meant. */
typedef struct ShipScope
{
	Relids		relids;			/* the foreign tables in it; columns of others
								 * are parameters */
	List	   *extensions;		/* from FdwTableOptions */
	bool		has_aggregates; /* in a place where they may stand */
	bool		has_windows;	/* the same for a window function alone */
} ShipScope;

/*
 * May the expression, which the planner has simplified, become part of the
 * remote query?
 */
extern bool shippable_expr(Node *expr, const ShipScope *scope);

/*
 * Is the node, met within a shippable expression, evaluated here once and
 * sent as a parameter?  True of the calls that need no column of the remote
 * query: that way a stable function such as now() is the coordinator's.
 * is_conditional tells that the node stands where CASE or COALESCE may leave
 * it unevaluated; there only what cannot fail is taken out.
 */
extern bool shippable_expr_is_computed_here(Node *node,
											const ShipScope *scope,
											bool is_conditional);

/*
 * May it, and does the shard sort its values as is done here under the
 * collation?
 */
extern bool shippable_expr_sorts_alike(Node *expr, Oid collation,
									   const ShipScope *scope);

/*
 * Why it may not, for EXPLAIN, palloc'd; NULL if it may.
 */
extern char *shippable_expr_refusal(Node *expr, const ShipScope *scope);

/* A collation that every server has and that sorts the same everywhere. */
extern bool shippable_collation_is_portable(Oid collation);

#endif							/* SHARD_FDW_FDW_SHIPPABLE_EXPR_H */
