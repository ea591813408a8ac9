/*-------------------------------------------------------------------------
 *
 * kept_text.c
 *	  Texts of expressions, kept while one query is planned.
 *
 * The texts are kept for the session: a query that comes again has the same
 * expressions.  Names in them go when an object is renamed, so any change of
 * the catalogs that they come from empties the table.  It is small, and starts
 * anew when it is full.
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
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "fdw/kept_text.h"

/* not many to look through */
#define MAX_KEPT_TEXTS 32

/* beyond it the texts of one statement are kept at most */
#define MAX_KEPT_BYTES (256 * 1024)

/* the catalogs that names in a text come from */
static const int watched[] = {
	COLLOID, ENUMOID, NAMESPACEOID, OPEROID, PROCOID, TYPEOID
};

static struct
{
	MemoryContext context;		/* of the texts */
	bool		is_stale;
	int			count;
	KeptText	texts[MAX_KEPT_TEXTS];
}			kept;

/* Callback of the watched syscaches. */
static void
forget_texts(Datum arg, CompatSysCacheId syscache, uint32 row_hash)
{
	kept.is_stale = true;
}

static void
create_context(void)
{
	int			position;

	kept.context = AllocSetContextCreate(CacheMemoryContext,
										 "shard_fdw texts of expressions",
										 ALLOCSET_SMALL_SIZES);
	for (position = 0; position < lengthof(watched); position++)
		CacheRegisterSyscacheCallback(watched[position], forget_texts,
									  (Datum) 0);
}

static void
start_anew(void)
{
	kept.count = 0;
	kept.is_stale = false;
	MemoryContextReset(kept.context);
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
kept_text_find(KeptText *wanted)
{
	int			position;

	wanted->forms = NIL;
	(void) add_coercion_form(wanted->expr, &wanted->forms);
	if (kept.context == NULL)
		create_context();
	if (kept.is_stale)
		start_anew();
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

/*
 * A change of the catalogs that was noticed while the text was printed makes
 * the table stale, this text included.
 */
void
kept_text_add(const KeptText *text)
{
	MemoryContext old_context;
	KeptText	copy;

	if (kept.count == MAX_KEPT_TEXTS ||
		MemoryContextMemAllocated(kept.context, true) > MAX_KEPT_BYTES)
	{
		kept.count = 0;
		MemoryContextReset(kept.context);
	}
	old_context = MemoryContextSwitchTo(kept.context);
	copy.expr = copyObject(text->expr);
	copy.columns = copyObject(text->columns);
	copy.forms = list_copy(text->forms);
	copy.text = pstrdup(text->text);
	MemoryContextSwitchTo(old_context);
	kept.texts[kept.count++] = copy;
}
