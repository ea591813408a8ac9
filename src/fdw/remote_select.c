/*-------------------------------------------------------------------------
 *
 * remote_select.c
 *	  The text of a SELECT that reads what a FdwRelInfo describes.
 *
 * FROM mirrors the join tree the planner has decided on.  Where a table's own
 * conditions must be checked before a full join, the table is replaced by a
 * subquery under the same alias, so that its columns keep their names:
 *
 *		(SELECT * FROM s.t r1 WHERE ...) r1 FULL JOIN ...
 *
 * Semijoins and antijoins become EXISTS.  Grouping is by position in the
 * target list, so no expression is taken for another or for a number.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "fdw/fdw_plan.h"
#include "fdw/partial_agg.h"
#include "fdw/plan_sample.h"
#include "fdw/plan_single.h"
#include "fdw/plan_values.h"
#include "fdw/remote_select.h"
#include "fdw/remote_sql.h"
#include "fdw/remote_window.h"

static void append_from(StringInfo buf, RemoteExprContext *context,
						const FdwRelInfo *info);

/* ---- conditions ---- */

static void
			append_exists(StringInfo buf, RemoteExprContext *context,
						  const FdwExists *exists);

/*
 * The conditions (RestrictInfos) and the EXISTS of WHERE or ON behind the
 * keyword; nothing if there are none.  Those without columns are among them,
 * as core puts a node that checks them above the scan of a table only.
 */
static void
append_conditions(StringInfo buf, RemoteExprContext *context,
				  const char *keyword, List *conds, List *exists)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, conds)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, cell)->clause);
	if (clauses == NIL && exists == NIL)
		return;
	appendStringInfoString(buf, keyword);
	if (clauses != NIL)
		remote_expr_append_conds(buf, context, clauses);
	foreach(cell, exists)
	{
		if (clauses != NIL || cell != list_head(exists))
			appendStringInfoString(buf, " AND ");
		append_exists(buf, context, lfirst(cell));
	}
}

static void
append_exists(StringInfo buf, RemoteExprContext *context,
			  const FdwExists *exists)
{
	const FdwRelInfo *inner = exists->inner;

	appendStringInfo(buf, "%sEXISTS (SELECT 1 FROM ",
					 exists->is_anti ? "NOT " : "");
	append_from(buf, context, inner);
	append_conditions(buf, context, " WHERE ",
					  list_concat_copy(exists->conds, inner->remote_conds),
					  inner->exists);
	appendStringInfoChar(buf, ')');
}

/* ---- FROM ---- */

static void
append_values(StringInfo buf, RemoteExprContext *context, Index rtindex)
{
	RangeTblEntry *rte = planner_rt_fetch(rtindex, context->root);
	const char *separator = "(VALUES ";
	ListCell   *row;
	ListCell   *cell;

	foreach(row, rte->values_lists)
	{
		const char *value_separator = "(";

		appendStringInfoString(buf, separator);
		foreach(cell, lfirst_node(List, row))
		{
			appendStringInfoString(buf, value_separator);
			remote_expr_append(buf, context, lfirst(cell));
			value_separator = ", ";
		}
		appendStringInfoChar(buf, ')');
		separator = ", ";
	}
	appendStringInfo(buf, ") r%d", remote_expr_alias(context->scope, rtindex));
	separator = "(";
	foreach(cell, rte->coltypes)
	{
		appendStringInfo(buf, "%s%s", separator,
						 plan_values_column_name(foreach_current_index(cell) + 1));
		separator = ", ";
	}
	appendStringInfoChar(buf, ')');
}

static void
append_table(StringInfo buf, RemoteExprContext *context, Index rtindex)
{
	Oid			relid;
	Relation	rel;

	if (plan_values_is_list(context->root, rtindex))
	{
		append_values(buf, context, rtindex);
		return;
	}
	(void) remote_expr_attno(context, rtindex, InvalidAttrNumber, &relid);
	rel = table_open(relid, NoLock);
	remote_sql_relation(buf, rel);
	table_close(rel, NoLock);
	appendStringInfo(buf, " r%d", remote_expr_alias(context->scope, rtindex));
	plan_sample_append(buf, context, rtindex);
}

/* A side of a full join, with its conditions checked before. */
static void
append_filtered(StringInfo buf, RemoteExprContext *context,
				const FdwRelInfo *info)
{
	Index		rtindex;

	if (info->remote_conds == NIL)
	{
		append_from(buf, context, info);
		return;
	}
	Assert(info->outer == NULL && info->exists == NIL);
	rtindex = bms_singleton_member(info->relids);
	appendStringInfoString(buf, "(SELECT * FROM ");
	append_table(buf, context, rtindex);
	append_conditions(buf, context, " WHERE ", info->remote_conds, NIL);
	appendStringInfo(buf, ") r%d",
					 remote_expr_alias(context->scope, rtindex));
}

static void
append_join(StringInfo buf, RemoteExprContext *context, const FdwRelInfo *info)
{
	bool		is_full = info->jointype == JOIN_FULL;
	bool		has_on = info->join_conds != NIL || info->join_exists != NIL;

	appendStringInfoChar(buf, '(');
	if (is_full)
		append_filtered(buf, context, info->outer);
	else
		append_from(buf, context, info->outer);
	if (is_full)
		appendStringInfoString(buf, " FULL JOIN ");
	else if (info->jointype == JOIN_LEFT)
		appendStringInfoString(buf, " LEFT JOIN ");
	else
		appendStringInfoString(buf, has_on ? " JOIN " : " CROSS JOIN ");
	if (is_full)
		append_filtered(buf, context, info->inner);
	else
		append_from(buf, context, info->inner);
	if (has_on)
		append_conditions(buf, context, " ON ", info->join_conds,
						  info->join_exists);
	else if (info->jointype != JOIN_INNER)
		appendStringInfoString(buf, " ON true");
	appendStringInfoChar(buf, ')');
}

static void
append_from(StringInfo buf, RemoteExprContext *context, const FdwRelInfo *info)
{
	if (info->outer == NULL)
		append_table(buf, context, bms_singleton_member(info->relids));
	else if (info->jointype == JOIN_SEMI || info->jointype == JOIN_ANTI)
		append_from(buf, context, info->outer);
	else
		append_join(buf, context, info);
}

/* ---- the columns ---- */

static void
append_column(StringInfo buf, RemoteExprContext *context, Index rtindex,
			  AttrNumber attnum)
{
	Oid			relid;

	appendStringInfo(buf, "r%d.", remote_expr_alias(context->scope, rtindex));
	if (plan_values_is_list(context->root, rtindex))
	{
		appendStringInfoString(buf, plan_values_column_name(attnum));
		return;
	}
	attnum = remote_expr_attno(context, rtindex, attnum, &relid);
	remote_sql_column(buf, relid, attnum);
}

/* A table's row as the local type has it; NULL where an outer join made it. */
static void
append_whole_row(StringInfo buf, RemoteExprContext *context, Index rtindex)
{
	RangeTblEntry *rte = planner_rt_fetch(rtindex, context->root);
	Relation	rel = table_open(rte->relid, NoLock);
	Bitmapset  *whole_row;
	const char *separator = "";
	ListCell   *cell;

	whole_row = bms_make_singleton(0 - FirstLowInvalidHeapAttributeNumber);
	appendStringInfo(buf, "CASE WHEN r%d.* IS DISTINCT FROM NULL THEN ROW(",
					 remote_expr_alias(context->scope, rtindex));
	foreach(cell, remote_sql_retrieved_attrs(rel, whole_row))
	{
		appendStringInfoString(buf, separator);
		append_column(buf, context, rtindex, lfirst_int(cell));
		separator = ", ";
	}
	appendStringInfoString(buf, ") END");
	table_close(rel, NoLock);
}

static void
append_target(StringInfo buf, RemoteExprContext *context,
			  const FdwRelInfo *info, Node *expr)
{
	if (IsA(expr, Var) &&
		bms_is_member(((Var *) expr)->varno, context->scope->relids))
	{
		Var		   *var = (Var *) expr;

		if (var->varattno == InvalidAttrNumber)
		{
			append_whole_row(buf, context, var->varno);
			return;
		}
		append_column(buf, context, var->varno, var->varattno);
	}
	else if (IsA(expr, Aggref) &&
			 ((Aggref *) expr)->aggsplit != AGGSPLIT_SIMPLE)
		partial_agg_append(buf, context, (Aggref *) expr);
	else if (IsA(expr, WindowFunc))
		remote_window_append(buf, context, (WindowFunc *) expr, info->windows);
	else
		remote_expr_append(buf, context, expr);
}

static void
append_targets(StringInfo buf, RemoteExprContext *context,
			   const FdwRelInfo *info, List *tlist)
{
	const char *separator = "";
	ListCell   *cell;

	if (tlist == NIL)
		appendStringInfoString(buf, "NULL");
	foreach(cell, tlist)
	{
		appendStringInfoString(buf, separator);
		append_target(buf, context, info,
					  (Node *) lfirst_node(TargetEntry, cell)->expr);
		separator = ", ";
	}
}

/* ---- after WHERE ---- */

/* The position of a column that is grouped by. */
static int
group_position(List *tlist, Index sortgroupref)
{
	ListCell   *cell;

	foreach(cell, tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->ressortgroupref == sortgroupref)
			return entry->resno;
	}
	elog(ERROR, "column to group by was lost");
}

static void
append_grouping_sets(StringInfo buf, const FdwRelInfo *info, List *tlist)
{
	const char *set_separator = "(";
	ListCell   *set;
	ListCell   *ref;

	appendStringInfoString(buf, " GROUP BY GROUPING SETS ");
	foreach(set, info->grouping_sets)
	{
		const char *separator = "";

		appendStringInfo(buf, "%s(", set_separator);
		foreach(ref, (List *) lfirst(set))
		{
			appendStringInfo(buf, "%s%d", separator,
							 group_position(tlist, lfirst_int(ref)));
			separator = ", ";
		}
		appendStringInfoChar(buf, ')');
		set_separator = ", ";
	}
	appendStringInfoChar(buf, ')');
}

static void
append_group_by(StringInfo buf, const FdwRelInfo *info, List *tlist)
{
	const char *separator = " GROUP BY ";
	ListCell   *cell;

	if (info->grouping_sets != NIL)
	{
		append_grouping_sets(buf, info, tlist);
		return;
	}
	foreach(cell, tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->ressortgroupref == 0)
			continue;
		appendStringInfo(buf, "%s%d", separator, entry->resno);
		separator = ", ";
	}
}

static void
append_sort_key(StringInfo buf, RemoteExprContext *context,
				const RemoteSortKey *key)
{
	if (key->position > 0)
		appendStringInfo(buf, "%d", key->position);
	else
		append_target(buf, context, NULL, key->expr);
}

void
remote_select_append_order_by(StringInfo buf, RemoteExprContext *context,
							  List *keys)
{
	const char *separator = " ORDER BY ";
	ListCell   *cell;

	foreach(cell, keys)
	{
		RemoteSortKey *key = lfirst(cell);

		appendStringInfoString(buf, separator);
		append_sort_key(buf, context, key);
		appendStringInfo(buf, "%s NULLS %s",
						 key->is_descending ? " DESC" : "",
						 key->is_nulls_first ? "FIRST" : "LAST");
		separator = ", ";
	}
}

/* The number of a limit that is one; false if it must be computed. */
static bool
is_known_limit(Node *limit, int64 *value)
{
	*value = 0;
	if (limit == NULL)
		return true;
	if (!IsA(limit, Const))
		return false;
	if (!((Const *) limit)->constisnull)
		*value = DatumGetInt64(((Const *) limit)->constvalue);
	return true;
}

/* What stands before and after the number of rows. */
static void
append_count_keyword(StringInfo buf, const RemoteTail *tail)
{
	appendStringInfoString(buf, tail->is_with_ties ? " FETCH FIRST (" :
						   " LIMIT ");
}

static void
append_count_end(StringInfo buf, const RemoteTail *tail)
{
	if (tail->is_with_ties)
		appendStringInfoString(buf, ") ROWS WITH TIES");
}

/*
 * LIMIT for both what the query skips and what it wants.  What cannot be
 * added up is left alone: the query has an error, or no limit to speak of.
 */
static void
append_bound(StringInfo buf, RemoteExprContext *context,
			 const RemoteTail *tail)
{
	int64		count;
	int64		offset;

	if (is_known_limit(tail->limit_count, &count) &&
		is_known_limit(tail->limit_offset, &offset))
	{
		if (((Const *) tail->limit_count)->constisnull ||
			count < 0 || offset < 0 || count > PG_INT64_MAX - offset)
			return;
		append_count_keyword(buf, tail);
		appendStringInfo(buf, INT64_FORMAT, count + offset);
		append_count_end(buf, tail);
		return;
	}
	append_count_keyword(buf, tail);
	remote_expr_append(buf, context, tail->limit_count);
	if (tail->limit_offset)
	{
		appendStringInfoString(buf, " + COALESCE(");
		remote_expr_append(buf, context, tail->limit_offset);
		appendStringInfoString(buf, ", 0)");
	}
	append_count_end(buf, tail);
}

static void
append_number(StringInfo buf, RemoteExprContext *context, Node *limit)
{
	if (IsA(limit, Const) && !((Const *) limit)->constisnull)
		appendStringInfo(buf, INT64_FORMAT,
						 DatumGetInt64(((Const *) limit)->constvalue));
	else
		remote_expr_append(buf, context, limit);
}

static void
append_limit(StringInfo buf, RemoteExprContext *context,
			 const RemoteTail *tail)
{
	if (tail->is_bound)
	{
		append_bound(buf, context, tail);
		return;
	}
	if (tail->limit_offset)
	{
		appendStringInfoString(buf, " OFFSET ");
		append_number(buf, context, tail->limit_offset);
	}
	if (tail->limit_count == NULL)
		return;
	append_count_keyword(buf, tail);
	append_number(buf, context, tail->limit_count);
	append_count_end(buf, tail);
}

void
remote_select_append_tail(StringInfo buf, RemoteExprContext *context,
						  const RemoteTail *tail)
{
	bool		is_single = bms_membership(context->scope->relids) ==
	BMS_SINGLETON;
	ListCell   *cell;

	remote_select_append_order_by(buf, context, tail->sort_keys);
	append_limit(buf, context, tail);
	foreach(cell, tail->locks)
	{
		RemoteLock *lock = lfirst(cell);

		remote_sql_lock(buf, lock->strength, lock->policy,
						is_single ? 0 :
						remote_expr_alias(context->scope, lock->rtindex));
	}
}

List *
remote_select_tlist(const FdwRelInfo *info, const PathTarget *target,
					List *local_exprs)
{
	List	   *vars;

	if (info->has_tlist)
		return info->tlist;
	vars = pull_var_clause((Node *) target->exprs, PVC_RECURSE_PLACEHOLDERS);
	vars = list_concat(vars, pull_var_clause((Node *) local_exprs,
											 PVC_RECURSE_PLACEHOLDERS));
	return add_to_flat_tlist(NIL, vars);
}

/* DISTINCT ON has to name the first keys of ORDER BY. */
static void
append_distinct(StringInfo buf, RemoteExprContext *context,
				const FdwRelInfo *info, const RemoteTail *tail)
{
	const char *separator = " ON (";
	int			position;

	appendStringInfoString(buf, "DISTINCT");
	for (position = 0; position < info->ndistinct_keys; position++)
	{
		RemoteSortKey *key = list_nth(tail->sort_keys, position);

		appendStringInfoString(buf, separator);
		append_sort_key(buf, context, key);
		separator = ", ";
	}
	appendStringInfoString(buf, info->ndistinct_keys > 0 ? ") " : " ");
}

void
remote_select_append(StringInfo buf, RemoteExprContext *context,
					 const FdwRelInfo *info, List *tlist,
					 const RemoteTail *tail)
{
	appendStringInfoString(buf, "SELECT ");
	if (info->is_distinct)
		append_distinct(buf, context, info, tail);
	append_targets(buf, context, info, tlist);
	appendStringInfoString(buf, " FROM ");
	append_from(buf, context, info);
	append_conditions(buf, context, " WHERE ", info->remote_conds,
					  info->exists);
	if (info->is_grouped)
		append_group_by(buf, info, tlist);
	if (info->having != NIL)
	{
		appendStringInfoString(buf, " HAVING ");
		remote_expr_append(buf, context,
						   (Node *) make_ands_explicit(info->having));
	}
	remote_select_append_tail(buf, context, tail);
}

/* ---- for EXPLAIN ---- */

static void
describe(StringInfo buf, PlannerInfo *root, const FdwRelInfo *info)
{
	if (info->outer == NULL)
	{
		Index		rtindex = bms_singleton_member(info->relids);
		RangeTblEntry *rte = planner_rt_fetch(rtindex, root);
		char	   *name;

		if (plan_values_is_list(root, rtindex))
		{
			appendStringInfo(buf, "VALUES %s", rte->eref->aliasname);
			return;
		}
		name = get_rel_name(plan_single_relid(root, rtindex));
		appendStringInfoString(buf, name);
		if (strcmp(name, rte->eref->aliasname) != 0)
			appendStringInfo(buf, " %s", rte->eref->aliasname);
		return;
	}
	appendStringInfoChar(buf, '(');
	describe(buf, root, info->outer);
	switch (info->jointype)
	{
		case JOIN_INNER:
			appendStringInfoString(buf, ") JOIN (");
			break;
		case JOIN_LEFT:
			appendStringInfoString(buf, ") LEFT JOIN (");
			break;
		case JOIN_FULL:
			appendStringInfoString(buf, ") FULL JOIN (");
			break;
		case JOIN_SEMI:
			appendStringInfoString(buf, ") SEMI JOIN (");
			break;
		case JOIN_ANTI:
			appendStringInfoString(buf, ") ANTI JOIN (");
			break;
		default:
			elog(ERROR, "unexpected join type: %d", (int) info->jointype);
	}
	describe(buf, root, info->inner);
	appendStringInfoChar(buf, ')');
}

char *
remote_select_describe(PlannerInfo *root, const FdwRelInfo *info)
{
	StringInfoData buf;

	initStringInfo(&buf);
	if (info->is_distinct)
		appendStringInfoString(&buf, "Distinct on (");
	if (info->windows != NIL)
		appendStringInfoString(&buf, "Window on (");
	if (info->is_grouped)
		appendStringInfoString(&buf, "Aggregate on (");
	describe(&buf, root, info);
	if (info->is_grouped)
		appendStringInfoChar(&buf, ')');
	if (info->windows != NIL)
		appendStringInfoChar(&buf, ')');
	if (info->is_distinct)
		appendStringInfoChar(&buf, ')');
	return buf.data;
}
