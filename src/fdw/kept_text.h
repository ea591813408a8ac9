/*-------------------------------------------------------------------------
 *
 * kept_text.h
 *	  Texts of expressions, kept for the session.
 *
 * Printing an expression takes longer than all else that planning does with
 * it.  Those of partitions of one table become the same when they are
 * rewritten to remote names, and so do those of a query that comes again with
 * another key.
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

/*
 * Sets the text if there is one for the same expression and columns.  It is
 * not the caller's, and may be gone at the next call of either function.
 */
extern bool kept_text_find(KeptText *wanted);

/* Keeps a copy, after kept_text_find() has not found one. */
extern void kept_text_add(const KeptText *text);

#endif							/* SHARD_FDW_FDW_KEPT_TEXT_H */
