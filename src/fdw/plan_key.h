/*-------------------------------------------------------------------------
 *
 * plan_key.h
 *	  Conditions that look a row up by its key.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PLAN_KEY_H
#define SHARD_FDW_FDW_PLAN_KEY_H

#include "nodes/pathnodes.h"

/* An equality of a column with a constant; both point into the clause. */
typedef struct KeyClause
{
	Node	   *column;			/* perhaps with a cast that is not printed */
	Const	   *value;
	bool		is_column_first;
} KeyClause;

/*
 * Is it such an equality, and does the column have a value only once, as far
 * as its statistics tell?  Reads catalogs.
 */
extern bool plan_key_match(PlannerInfo *root, Node *clause, KeyClause *key);

#endif							/* SHARD_FDW_FDW_PLAN_KEY_H */
