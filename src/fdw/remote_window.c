/*-------------------------------------------------------------------------
 *
 * remote_window.c
 *	  The text of a window function call.
 *
 * deparse_expression() knows the windows of no query but the one it is given
 * a plan of.  So the call is printed as the aggregate of the same function,
 * which looks alike, and what follows OVER is written here.  Each call has its
 * window in full: how the user has named and shared them makes no difference.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "fdw/remote_select.h"
#include "fdw/remote_window.h"

/* ---- the call ---- */

Aggref *
remote_window_call(const WindowFunc *function)
{
	Aggref	   *call = makeNode(Aggref);
	ListCell   *cell;

	call->aggfnoid = function->winfnoid;
	call->aggtype = function->wintype;
	call->aggcollid = function->wincollid;
	call->inputcollid = function->inputcollid;
	call->aggfilter = function->aggfilter;
	call->aggstar = function->winstar;
	call->aggkind = AGGKIND_NORMAL;
	call->aggsplit = AGGSPLIT_SIMPLE;
	call->location = -1;
	foreach(cell, function->args)
	{
		call->args = lappend(call->args,
							 makeTargetEntry(lfirst(cell),
											 foreach_current_index(cell) + 1,
											 NULL, false));
		call->aggargtypes = lappend_oid(call->aggargtypes,
										exprType(lfirst(cell)));
	}
	return call;
}

/* ---- the frame ---- */

/* One end of a frame; the bits tell which of its forms it has. */
static void
append_bound(StringInfo buf, RemoteExprContext *context, int options,
			 Node *offset)
{
	if (options & FRAMEOPTION_START_UNBOUNDED_PRECEDING)
		appendStringInfoString(buf, "UNBOUNDED PRECEDING");
	else if (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING)
		appendStringInfoString(buf, "UNBOUNDED FOLLOWING");
	else if (offset == NULL)
		appendStringInfoString(buf, "CURRENT ROW");
	else
	{
		appendStringInfoChar(buf, '(');
		remote_expr_append(buf, context, offset);
		appendStringInfoString(buf, options & (FRAMEOPTION_START_OFFSET_PRECEDING |
											   FRAMEOPTION_END_OFFSET_PRECEDING) ?
							   ") PRECEDING" : ") FOLLOWING");
	}
}

static void
append_frame(StringInfo buf, RemoteExprContext *context,
			 const WindowClause *clause)
{
	int			options = clause->frameOptions;

	if ((options & FRAMEOPTION_NONDEFAULT) == 0)
		return;
	if (options & FRAMEOPTION_ROWS)
		appendStringInfoString(buf, " ROWS BETWEEN ");
	else if (options & FRAMEOPTION_GROUPS)
		appendStringInfoString(buf, " GROUPS BETWEEN ");
	else
		appendStringInfoString(buf, " RANGE BETWEEN ");
	append_bound(buf, context, options &
				 (FRAMEOPTION_START_UNBOUNDED_PRECEDING |
				  FRAMEOPTION_START_OFFSET), clause->startOffset);
	appendStringInfoString(buf, " AND ");
	append_bound(buf, context, options &
				 (FRAMEOPTION_END_UNBOUNDED_FOLLOWING |
				  FRAMEOPTION_END_OFFSET), clause->endOffset);
	if (options & FRAMEOPTION_EXCLUDE_CURRENT_ROW)
		appendStringInfoString(buf, " EXCLUDE CURRENT ROW");
	else if (options & FRAMEOPTION_EXCLUDE_GROUP)
		appendStringInfoString(buf, " EXCLUDE GROUP");
	else if (options & FRAMEOPTION_EXCLUDE_TIES)
		appendStringInfoString(buf, " EXCLUDE TIES");
}

/* ---- the window ---- */

static void
append_partition(StringInfo buf, RemoteExprContext *context, List *exprs)
{
	const char *separator = " PARTITION BY ";
	ListCell   *cell;

	foreach(cell, exprs)
	{
		appendStringInfoString(buf, separator);
		remote_expr_append(buf, context, lfirst(cell));
		separator = ", ";
	}
}

/* Each clause with a space before it. */
static void
append_clauses(StringInfo buf, RemoteExprContext *context,
			   const FdwWindow *window)
{
	append_partition(buf, context, window->partition);
	remote_select_append_order_by(buf, context, window->sort_keys);
	append_frame(buf, context, window->clause);
}

void
remote_window_append(StringInfo buf, RemoteExprContext *context,
					 const WindowFunc *function, List *windows)
{
	StringInfoData clauses;
	ListCell   *cell;

	initStringInfo(&clauses);
	remote_expr_append(buf, context, (Node *) remote_window_call(function));
	foreach(cell, windows)
	{
		FdwWindow  *window = lfirst(cell);

		if (window->clause->winref == function->winref)
			append_clauses(&clauses, context, window);
	}
	appendStringInfo(buf, " OVER (%s)",
					 clauses.len > 0 ? clauses.data + 1 : "");
	pfree(clauses.data);
}
