/*-------------------------------------------------------------------------
 *
 * plan_prune.c
 *	  Not asking a partition that cannot have the rows, when only execution
 *	  tells.
 *
 * Where the query has key = $1, the partition constraint with $1 in the place
 * of the key tells whether the partition can have such rows.  A condition in
 * WHERE concerns all rows of the remote query, so one table that has none is
 * enough, whatever it is joined with.  So is a condition without columns.
 *
 * With key = ANY ($1) the constraint has to hold for one of the elements: the
 * array is converted, by an expression that has the constraint in the place of
 * a cast, to an array of booleans.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "fdw/plan_prune.h"

/* The values that columns of one table are equal to. */
typedef struct KnownValues
{
	Index		rtindex;
	List	   *attrs;			/* integer List */
	List	   *values;			/* expressions of the columns' types */
	Node	   *array;			/* a CaseTestExpr among the values stands for
								 * each of its elements; may be NULL */
	bool		is_unknown;		/* a column was met that is not among them */
} KnownValues;

static void
add_known_value(KnownValues *known, Node *column, Node *value)
{
	Var		   *var = (Var *) column;

	if (!IsA(column, Var) || var->varno != known->rtindex ||
		exprType(value) != var->vartype || contain_var_clause(value) ||
		contain_volatile_functions(value))
		return;
	known->attrs = lappend_int(known->attrs, var->varattno);
	known->values = lappend(known->values, value);
}

/* The same for column = ANY (array); the first one met is taken. */
static void
add_known_array(KnownValues *known, const ScalarArrayOpExpr *clause)
{
	Node	   *column = linitial(clause->args);
	Node	   *array = lsecond(clause->args);
	CaseTestExpr *element = makeNode(CaseTestExpr);

	element->typeId = exprType(column);
	element->typeMod = -1;
	element->collation = exprCollation(column);
	if (known->array != NULL || !clause->useOr ||
		get_element_type(exprType(array)) != element->typeId ||
		!op_mergejoinable(clause->opno, element->typeId) ||
		contain_var_clause(array) || contain_volatile_functions(array))
		return;
	add_known_value(known, column, (Node *) element);
	if (known->values != NIL && llast(known->values) == element)
		known->array = array;
}

static void
find_known_values(const FdwRelInfo *info, KnownValues *known)
{
	ListCell   *cell;

	foreach(cell, info->remote_conds)
	{
		OpExpr	   *clause = (OpExpr *) lfirst_node(RestrictInfo, cell)->clause;

		if (IsA(clause, ScalarArrayOpExpr))
			add_known_array(known, (ScalarArrayOpExpr *) clause);
		if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
			!op_mergejoinable(clause->opno, exprType(linitial(clause->args))))
			continue;
		add_known_value(known, linitial(clause->args), lsecond(clause->args));
		add_known_value(known, lsecond(clause->args), linitial(clause->args));
	}
}

/* Mutator: puts the values into a partition constraint. */
static Node *
substitute_values(Node *node, void *arg)
{
	KnownValues *known = arg;

	if (node && IsA(node, Var))
	{
		ListCell   *attr;
		ListCell   *value;

		forboth(attr, known->attrs, value, known->values)
		{
			if (lfirst_int(attr) == ((Var *) node)->varattno)
				return copyObject(lfirst(value));
		}
		known->is_unknown = true;
		return copyObject(node);
	}
	return expression_tree_mutator(node, substitute_values, arg);
}

/* Walker: does the constraint depend on an element of the array? */
static bool
has_element(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	return IsA(node, CaseTestExpr) ||
		expression_tree_walker(node, has_element, arg);
}

/* Does the condition hold for one of the elements? */
static Node *
make_any(Node *condition, Node *array)
{
	ArrayCoerceExpr *coerce = makeNode(ArrayCoerceExpr);
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);

	coerce->arg = (Expr *) copyObject(array);
	coerce->elemexpr = (Expr *) condition;
	coerce->resulttype = BOOLARRAYOID;
	coerce->resulttypmod = -1;
	coerce->coerceformat = COERCE_IMPLICIT_CAST;
	coerce->location = -1;
	any->opno = BooleanEqualOperator;
	any->opfuncid = F_BOOLEQ;
	any->useOr = true;
	any->args = list_make2(makeBoolConst(true, false), coerce);
	any->location = -1;
	return (Node *) any;
}

/* What planning can decide it has decided. */
static List *
add_conditions(PlannerInfo *root, KnownValues *known, List *conditions)
{
	Oid			relid = planner_rt_fetch(known->rtindex, root)->relid;
	Relation	rel = table_open(relid, NoLock);
	ListCell   *cell;

	foreach(cell, RelationGetPartitionQual(rel))
	{
		Node	   *condition;

		known->is_unknown = false;
		condition = substitute_values(lfirst(cell), known);
		if (has_element(condition, NULL))
			condition = make_any(condition, known->array);
		condition = eval_const_expressions(root, condition);
		if (!known->is_unknown && !IsA(condition, Const))
			conditions = lappend(conditions, condition);
	}
	table_close(rel, NoLock);
	return conditions;
}

/* Walker: is there something whose value only execution tells? */
static bool
has_run_time_value(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return true;
	return expression_tree_walker(node, has_run_time_value, arg);
}

List *
plan_prune_conditions(PlannerInfo *root, const FdwRelInfo *info,
					  bool is_table_scan)
{
	List	   *conditions = NIL;
	bool		has_value = false;
	int			rtindex = -1;
	ListCell   *cell;

	/* an aggregate over no rows is a row */
	if (info->is_grouped && !info->is_partial &&
		(root->parse->groupClause == NIL || info->grouping_sets != NIL))
		return NIL;
	foreach(cell, info->remote_conds)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (cond->pseudoconstant && !is_table_scan)
			conditions = lappend(conditions, cond->clause);
		else if (has_run_time_value((Node *) cond->clause, NULL))
			has_value = true;
	}
	while (has_value &&
		   (rtindex = bms_next_member(info->relids, rtindex)) >= 0)
	{
		KnownValues known = {rtindex};

		if (bms_is_member(rtindex, info->values_relids))
			continue;
		find_known_values(info, &known);
		if (is_table_scan ? known.array != NULL : known.attrs != NIL)
			conditions = add_conditions(root, &known, conditions);
	}
	return conditions;
}
