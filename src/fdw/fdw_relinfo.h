/*-------------------------------------------------------------------------
 *
 * fdw_relinfo.h
 *	  What the planner modules know about a relation that a shard can compute:
 *	  RelOptInfo.fdw_private.
 *
 * plan_scan.c makes it for a foreign table; a join or an upper relation would
 * get one of its own, with relids naming all its foreign tables.  Lives as
 * long as the planner's memory and goes into no plan: what a plan needs is
 * in fdw_plan.h.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_FDW_RELINFO_H
#define SHARD_FDW_FDW_FDW_RELINFO_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_options.h"

typedef struct FdwRelInfo
{
	/* where and how */
	FdwTableOptions *options;
	Oid			serverid;
	Relids		relids;			/* foreign tables of the remote query */

	/* baserestrictinfo by who checks it: Lists of RestrictInfo */
	List	   *remote_conds;
	List	   *local_conds;

	/*
	 * Columns to retrieve, as pull_varattnos() gives them; what conditions of
	 * parameterized paths need is always among them.
	 */
	Bitmapset  *attrs_used;

	/* estimates that all paths share; see plan_cost.h */
	bool		has_key_cond;	/* a remote condition looks like a key lookup */
	double		retrieved_rows; /* rows left by remote_conds */
	Selectivity local_conds_sel;
	QualCost	local_conds_cost;

	/*
	 * Set by GetForeignPlan for PlanDirectModify: the conditions, bare
	 * expressions, that the remote query of the chosen plan checks.
	 */
	List	   *planned_conds;
} FdwRelInfo;

#endif							/* SHARD_FDW_FDW_FDW_RELINFO_H */
