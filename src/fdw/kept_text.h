/*-------------------------------------------------------------------------
 *
 * kept_text.h
 *	  Texts of expressions, kept while one query is planned.
 *
 * Printing an expression takes longer than all else that planning does with
 * it.  Those of partitions of one table become the same when they are
 * rewritten to remote names, so the last few texts are kept.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_KEPT_TEXT_H
#define SHARD_FDW_FDW_KEPT_TEXT_H

#include "nodes/pathnodes.h"

typedef struct KeptText
{
	Node	   *expr;			/* rewritten */
	List	   *columns;		/* that its Vars stand for, as Lists of names */
	List	   *forms;			/* set by kept_text_find() */
	char	   *text;
} KeptText;

/* Sets the text if there is one for the same expression and columns. */
extern bool kept_text_find(PlannerInfo *root, KeptText *wanted);

/*
 * Keeps it, after kept_text_find() has not found one.  What it points to must
 * be in the planner's memory, and must not be changed.
 */
extern void kept_text_add(PlannerInfo *root, const KeptText *text);

#endif							/* SHARD_FDW_FDW_KEPT_TEXT_H */
