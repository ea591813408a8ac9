/*-------------------------------------------------------------------------
 *
 * plan_order.h
 *	  Paths whose rows come sorted from the shard, and no more of them than
 *	  the query's LIMIT lets through.
 *
 * The order is that of the path's pathkeys.  Whether the remote query has a
 * LIMIT is written into ForeignPath.fdw_private, its expressions are those of
 * the Query.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_ORDER_H
#define SHARD_FDW_FDW_PLAN_ORDER_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"
#include "fdw/remote_select.h"

/* What the remote query of a path does with the query's LIMIT. */
typedef enum PlanLimit
{
	PLAN_LIMIT_NONE,
	PLAN_LIMIT_BOUND,			/* returns no more than offset + count rows;
								 * the LIMIT is applied to them here */
	PLAN_LIMIT_WHOLE			/* returns what the LIMIT lets through */
} PlanLimit;

/*
 * Can the shard sort the relation's rows by the pathkeys?  If so *keys gets
 * RemoteSortKeys.  May be called with keys NULL.
 */
extern bool plan_order_find_keys(PlannerInfo *root, RelOptInfo *rel,
								 List *pathkeys, List **keys);

/* The same for one item of an ORDER BY whose values are in tlist. */
extern bool plan_order_clause_key(const ShipScope *scope,
								  const SortGroupClause *clause, List *tlist,
								  RemoteSortKey *key);

/*
 * May each of several remote queries, whose rows are merged here into those
 * of rel's topmost parent, stop at the query's LIMIT?  info is that of rel, a
 * scan or join, or describes complete groups made of it.
 */
extern bool plan_order_is_bounded(PlannerInfo *root, RelOptInfo *rel,
								  const FdwRelInfo *info);

/* What keeps it from that, for EXPLAIN; NULL if it may. */
extern const char *plan_order_refusal(PlannerInfo *root, RelOptInfo *rel,
									  const FdwRelInfo *info);

/* How many rows that would be, as estimated. */
extern double plan_order_bound(PlannerInfo *root, const FdwRelInfo *info);

/* Are LIMIT and OFFSET expressions that a shard can be sent? */
extern bool plan_order_is_limit_shippable(PlannerInfo *root,
										  const FdwRelInfo *info);

/*
 * Adds to a scan or join the sorted and the bounded paths that may be of
 * use.  epq_path as for create_foreign_join_path().
 */
extern void plan_order_add_paths(PlannerInfo *root, RelOptInfo *rel,
								 Path *epq_path);

/* Gives the remote query the query's LIMIT; not for PLAN_LIMIT_NONE. */
extern void plan_order_set_limit(PlannerInfo *root, PlanLimit limit,
								 RemoteTail *tail);

/* ForeignPath.fdw_private, and what is in it */
extern List *plan_order_make_private(PlanLimit limit);
extern PlanLimit plan_order_limit(const ForeignPath *path);

#endif							/* SHARD_FDW_FDW_PLAN_ORDER_H */
