/*-------------------------------------------------------------------------
 *
 * plan_key.c
 *	  Conditions that look a row up by its key.
 *
 * With the key as a parameter, the text of such a query is always the same,
 * and the shard prepares it once.  A plan made without the value must be as
 * good as one made with it, so the column's values must all be alike: each
 * there once.  Columns of which that is not known keep the constant in the
 * text, for which the shard plans anew.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "fdw/plan_key.h"
#include "fdw/plan_route.h"
#include "fdw/plan_single.h"

/* of the values, how many are to be distinct; ANALYZE only sees a sample */
#define UNIQUE_FRACTION 0.9

static bool
has_common_values(Form_pg_statistic stats)
{
	return stats->stakind1 == STATISTIC_KIND_MCV ||
		stats->stakind2 == STATISTIC_KIND_MCV ||
		stats->stakind3 == STATISTIC_KIND_MCV ||
		stats->stakind4 == STATISTIC_KIND_MCV ||
		stats->stakind5 == STATISTIC_KIND_MCV;
}

/* Do the statistics, if there are any, say that values are there once? */
static bool
is_unique_by_stats(Oid relid, AttrNumber attnum, bool is_inherited)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH,
										ObjectIdGetDatum(relid),
										Int16GetDatum(attnum),
										BoolGetDatum(is_inherited));
	Form_pg_statistic stats;
	bool		is_unique;

	if (!HeapTupleIsValid(tuple))
		return false;
	stats = (Form_pg_statistic) GETSTRUCT(tuple);
	is_unique = !has_common_values(stats) &&
		-stats->stadistinct >= UNIQUE_FRACTION * (1.0 - stats->stanullfrac);
	ReleaseSysCache(tuple);
	return is_unique;
}

/* The foreign table is asked first, then the tables it is a part of. */
static bool
is_unique(PlannerInfo *root, const Var *var)
{
	Index		rtindex = var->varno;
	AttrNumber	attnum = var->varattno;
	AppendRelInfo *appinfo;
	Oid			relid;
	AttrNumber	own = plan_single_attno(root, rtindex, attnum, &relid);

	if (is_unique_by_stats(relid, own, false) ||
		is_unique_by_stats(plan_route_origin(root, rtindex), attnum, true))
		return true;
	while (!is_unique_by_stats(planner_rt_fetch(rtindex, root)->relid, attnum,
							   true))
	{
		if (root->append_rel_array == NULL ||
			(appinfo = root->append_rel_array[rtindex]) == NULL ||
			attnum > appinfo->num_child_cols)
			return false;
		attnum = appinfo->parent_colnos[attnum - 1];
		rtindex = appinfo->parent_relid;
		if (attnum <= 0 || planner_rt_fetch(rtindex, root)->rtekind != RTE_RELATION)
			return false;
	}
	return true;
}

static Var *
plain_column(Node *node)
{
	if (IsA(node, RelabelType) &&
		((RelabelType *) node)->relabelformat == COERCE_IMPLICIT_CAST)
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Var) ? (Var *) node : NULL;
}

bool
plan_key_match(PlannerInfo *root, Node *clause, KeyClause *key)
{
	OpExpr	   *equality = (OpExpr *) clause;
	Node	   *value;
	Var		   *var;

	if (!IsA(clause, OpExpr) || list_length(equality->args) != 2)
		return false;
	key->column = linitial(equality->args);
	value = lsecond(equality->args);
	key->is_column_first = IsA(value, Const);
	if (!key->is_column_first)
	{
		value = key->column;
		key->column = lsecond(equality->args);
	}
	var = plain_column(key->column);
	if (!IsA(value, Const) || ((Const *) value)->constisnull ||
		var == NULL || var->varattno <= 0 || var->varlevelsup != 0)
		return false;
	key->value = (Const *) value;
	return op_mergejoinable(equality->opno,
							exprType(linitial(equality->args))) &&
		is_unique(root, var);
}
