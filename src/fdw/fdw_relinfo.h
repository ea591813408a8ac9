/*-------------------------------------------------------------------------
 *
 * fdw_relinfo.h
 *	  What the planner modules know about a relation that a shard can compute:
 *	  RelOptInfo.fdw_private.
 *
 * plan_scan.c makes it for a foreign table, plan_join.c for a join of such
 * relations, plan_upper.c for what is made of one of them.  It describes one
 * SELECT: FROM, WHERE, GROUP BY, HAVING, windows, DISTINCT.  ORDER BY and
 * LIMIT belong to a path, see plan_order.h.  A relation without it is computed here.
 *
 * Lives as long as the planner's memory and goes into no plan: what a plan
 * needs is in fdw_plan.h.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_FDW_RELINFO_H
#define SHARD_FDW_FDW_FDW_RELINFO_H

#include "nodes/pathnodes.h"
#include "optimizer/restrictinfo.h"

#include "fdw/fdw_options.h"
#include "fdw/shippable_expr.h"

typedef struct FdwRelInfo FdwRelInfo;

/* A semijoin or antijoin: a condition on the rest of the query. */
typedef struct FdwExists
{
	FdwRelInfo *inner;
	bool		is_anti;
	List	   *conds;			/* RestrictInfos that join it to the rest */
} FdwExists;

/* What a window function looks at. */
typedef struct FdwWindow
{
	const WindowClause *clause;
	List	   *partition;		/* expressions */
	List	   *sort_keys;		/* RemoteSortKeys */
} FdwWindow;

struct FdwRelInfo
{
	/* where and how */
	FdwTableOptions *options;
	Oid			serverid;
	Relids		relids;			/* foreign tables of the remote query */
	Relids		values_relids;	/* of those, what is a VALUES list instead */
	Relids		hidden_relids;	/* of those, the ones that only EXISTS sees */

	/*
	 * FROM: a table if outer is NULL, else a join.  SEMI and ANTI are printed
	 * as the outer side alone, the inner one is in exists.
	 */
	JoinType	jointype;
	FdwRelInfo *outer;
	FdwRelInfo *inner;
	List	   *join_conds;		/* ON: RestrictInfos */
	List	   *join_exists;	/* FdwExists, part of ON */

	/*
	 * WHERE, as Lists of RestrictInfo by who checks it, and of FdwExists.
	 * What a join's sides check is in the lists of the join, unless it must
	 * be checked before.
	 */
	List	   *remote_conds;
	List	   *local_conds;
	List	   *exists;

	/*
	 * Columns to retrieve from a table, as pull_varattnos() gives them; what
	 * conditions of parameterized paths need is always among them.
	 */
	Bitmapset  *attrs_used;

	/*
	 * What is selected of a relation that is made of scans and joins:
	 * has_tlist and the TargetEntries.  Of the latter those with a
	 * ressortgroupref are grouped by.  HAVING are bare expressions; what of
	 * it is checked here is in local_having.
	 */
	bool		has_tlist;
	List	   *tlist;
	bool		is_grouped;
	bool		is_partial;		/* gives transition values */
	List	   *grouping_sets;	/* integer Lists of ressortgrouprefs; NIL for
								 * one set of all */
	List	   *having;
	List	   *local_having;
	List	   *windows;		/* FdwWindows */
	bool		is_distinct;
	int			ndistinct_keys; /* DISTINCT ON so many keys of ORDER BY */

	/* estimates that all paths share; see plan_cost.h */
	bool		has_key_cond;	/* a remote condition looks like a key lookup */
	double		retrieved_rows; /* rows left by remote_conds */
	Cost		shard_startup;	/* part of it before the first row */
	Cost		shard_cost;		/* that the shard has to find them */
	double		skipped_share;	/* of executions, see plan_generic.h */
	int			width;			/* of a row, as estimated */
	Selectivity local_conds_sel;
	QualCost	local_conds_cost;

	/* what was not left to the shard and why; see plan_refusal.h */
	List	   *refused;
	bool		was_grouping_tried;

	/*
	 * Of a table: what it has of the equivalence class that was asked for
	 * last.  Not valid in a copy, which is no sort_owner.
	 */
	const FdwRelInfo *sort_owner;
	const EquivalenceClass *sort_class;
	int			sort_class_size;
	List	   *sort_members;

	/*
	 * Set by GetForeignPlan for PlanDirectModify: the conditions, bare
	 * expressions, that the remote query of the chosen plan checks.
	 */
	List	   *planned_conds;
};

/* The scope in which expressions of the relation's query are judged. */
static inline ShipScope
fdw_relinfo_scope(const FdwRelInfo *info)
{
	ShipScope	scope = {info->relids, info->options->extensions};

	return scope;
}

/*
 * Is the condition on the relation one for its query?  The shard knows nothing
 * of row-level security and barriers of views: what might tell of rows that
 * these hide waits for them, here.
 */
static inline bool
fdw_relinfo_ships_cond(const FdwRelInfo *info, RelOptInfo *rel,
					   RestrictInfo *cond)
{
	ShipScope	scope = fdw_relinfo_scope(info);

	return restriction_is_securely_promotable(cond, rel) &&
		shippable_expr((Node *) cond->clause, &scope);
}

#endif							/* SHARD_FDW_FDW_FDW_RELINFO_H */
