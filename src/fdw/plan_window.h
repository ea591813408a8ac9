/*-------------------------------------------------------------------------
 *
 * plan_window.h
 *	  Window functions and DISTINCT as parts of a remote query.
 *
 * They are for a query that lives on one shard altogether.  What is made here
 * describes the query of the input and the one more step; paths are the
 * caller's to make.  May raise as catalog lookups do.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_WINDOW_H
#define SHARD_FDW_FDW_PLAN_WINDOW_H

#include "nodes/pathnodes.h"

#include "fdw/fdw_relinfo.h"

/* The step as a remote query, or NULL if it cannot be one. */
extern FdwRelInfo *plan_window_make_info(PlannerInfo *root,
										 const FdwRelInfo *input,
										 const PathTarget *target);
extern FdwRelInfo *plan_window_make_distinct_info(PlannerInfo *root,
												  const FdwRelInfo *input,
												  const PathTarget *target);

/*
 * The order that the rows of the query must have: what the user wants, or,
 * where it is longer, what DISTINCT ON needs.
 */
extern List *plan_window_pathkeys(PlannerInfo *root, const FdwRelInfo *info);

#endif							/* SHARD_FDW_FDW_PLAN_WINDOW_H */
