/*-------------------------------------------------------------------------
 *
 * kept_text.c
 *	  Texts of expressions, kept while one query is planned.
 *
 * The texts belong to one run of the planner, which is told by its
 * PlannerGlobal, and live in its memory.  A run within another one takes the
 * place of its texts.
 *
 * equal() does not compare how a coercion is to be printed, so that is
 * collected and compared beside it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "fdw/kept_text.h"

/* what the remote query of one partition has; not many to look through */
#define MAX_KEPT_TEXTS 16

static struct
{
	const PlannerGlobal *run;
	int			count;
	int			next;			/* to be overwritten when all are in use */
	KeptText	texts[MAX_KEPT_TEXTS];
}			kept;

/* Callback: the memory of a run is going. */
static void
forget_run(void *run)
{
	if (kept.run == run)
		kept.run = NULL;
}

static void
keep_texts_of_run(PlannerInfo *root)
{
	MemoryContextCallback *callback;

	if (kept.run == root->glob)
		return;
	callback = MemoryContextAlloc(root->planner_cxt,
								  sizeof(MemoryContextCallback));
	callback->func = forget_run;
	callback->arg = root->glob;
	MemoryContextRegisterResetCallback(root->planner_cxt, callback);
	kept.run = root->glob;
	kept.count = kept.next = 0;
}

/* Walker: collects how coercions are to be printed. */
static bool
add_coercion_form(Node *node, void *arg)
{
	List	  **forms = arg;
	int			form = -1;

	if (node == NULL)
		return false;
	if (IsA(node, ArrayCoerceExpr))
		form = ((ArrayCoerceExpr *) node)->coerceformat;
	else if (IsA(node, CoerceToDomain))
		form = ((CoerceToDomain *) node)->coercionformat;
	else if (IsA(node, CoerceViaIO))
		form = ((CoerceViaIO *) node)->coerceformat;
	else if (IsA(node, ConvertRowtypeExpr))
		form = ((ConvertRowtypeExpr *) node)->convertformat;
	else if (IsA(node, FuncExpr))
		form = ((FuncExpr *) node)->funcformat;
	else if (IsA(node, RelabelType))
		form = ((RelabelType *) node)->relabelformat;
	else if (IsA(node, RowExpr))
		form = ((RowExpr *) node)->row_format;
	if (form >= 0)
		*forms = lappend_int(*forms, form);
	return expression_tree_walker(node, add_coercion_form, arg);
}

bool
kept_text_find(PlannerInfo *root, KeptText *wanted)
{
	int			position;

	wanted->forms = NIL;
	(void) add_coercion_form(wanted->expr, &wanted->forms);
	if (kept.run != root->glob)
		return false;
	for (position = 0; position < kept.count; position++)
	{
		const KeptText *found = &kept.texts[position];

		if (equal(found->expr, wanted->expr) &&
			equal(found->columns, wanted->columns) &&
			equal(found->forms, wanted->forms))
		{
			wanted->text = found->text;
			return true;
		}
	}
	return false;
}

void
kept_text_add(PlannerInfo *root, const KeptText *text)
{
	keep_texts_of_run(root);
	kept.texts[kept.next] = *text;
	kept.next = (kept.next + 1) % MAX_KEPT_TEXTS;
	kept.count = Min(kept.count + 1, MAX_KEPT_TEXTS);
}
