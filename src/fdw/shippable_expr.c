/*-------------------------------------------------------------------------
 *
 * shippable_expr.c
 *	  Does an expression give the same result on a shard?
 *
 * One walk over the expression answers.  Most of it is plain: any object that
 * the shard may not have, and any function whose result is not a matter of
 * its arguments alone, is a no.  Node types that are not listed are a no.
 *
 * Collations need more, because SQL text does not carry them: the shard's
 * parser derives them anew from the columns and COLLATE clauses it sees.  The
 * walk therefore follows, from the leaves upwards, what the shard would
 * derive (struct Collation), and an operator that cares is accepted when that
 * is the collation it has here.  A collation of a local constant or parameter
 * that is not the default one is DERIVATION_LOST, as text does not tell it.
 * Portable collations are exempt: remote_expr.c writes a COLLATE clause
 * wherever the shard would not arrive at them by itself.
 *
 * The planner has turned COLLATE clauses into RelabelType nodes, and dropped
 * those that name the column's own collation, before we see the expression.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "base/compat_planner.h"
#include "fdw/shippable.h"
#include "fdw/shippable_expr.h"

/* in the order in which one prevails over the other */
typedef enum Derivation
{
	DERIVATION_NONE,			/* no collation, or the default one of
								 * something that is no column */
	DERIVATION_COLUMN,			/* the shard derives the same one */
	DERIVATION_LOST				/* the shard would derive another one */
} Derivation;

typedef struct Collation
{
	Oid			oid;
	Derivation	derivation;
} Collation;

typedef struct Walk
{
	const ShipScope *scope;
	bool		is_conditional; /* may be left unevaluated by CASE, COALESCE */
	const Collation *case_arg;	/* of the CASE around, for CaseTestExpr */
	Collation	found;			/* merged from all that was walked */
	char	  **refusal;		/* NULL, or gets the reason of the innermost
								 * no */
} Walk;

static bool is_unshippable(Node *node, Walk *outer);

/* ---- collations ---- */

bool
shippable_collation_is_portable(Oid collation)
{
	return collation == C_COLLATION_OID;
}

static void
merge_collation(Collation *into, Collation from)
{
	if (from.derivation > into->derivation)
		*into = from;
	else if (from.derivation == DERIVATION_COLUMN &&
			 into->derivation == DERIVATION_COLUMN && from.oid != into->oid)
	{
		/* as the parser does: the default collation gives way to others */
		if (into->oid == DEFAULT_COLLATION_OID)
			into->oid = from.oid;
		else if (from.oid != DEFAULT_COLLATION_OID)
			into->derivation = DERIVATION_LOST;
	}
}

/* What the shard derives for a value that is not its own column's. */
static Collation
value_collation(Oid collation)
{
	Collation	result = {collation, DERIVATION_LOST};

	if (!OidIsValid(collation) || collation == DEFAULT_COLLATION_OID)
		result.derivation = DERIVATION_NONE;
	else if (shippable_collation_is_portable(collation))
		result.derivation = DERIVATION_COLUMN;
	return result;
}

/* What it derives for a call whose arguments were walked into inner. */
static Collation
result_collation(Node *node, const Walk *inner)
{
	Oid			collation = exprCollation(node);
	bool		is_derived = inner->found.derivation == DERIVATION_COLUMN;

	if (is_derived && inner->found.oid == collation)
		return inner->found;

	/*
	 * A relabeling away from the column's collation was a COLLATE clause,
	 * which is written again for portable collations only.
	 */
	if (is_derived && IsA(node, RelabelType) && OidIsValid(collation) &&
		!shippable_collation_is_portable(collation))
	{
		Collation	lost = {collation, DERIVATION_LOST};

		return lost;
	}
	return value_collation(collation);
}

static bool
is_input_derived(Oid input, const Walk *inner)
{
	return !OidIsValid(input) ||
		(inner->found.derivation == DERIVATION_COLUMN &&
		 inner->found.oid == input);
}

/* ---- types and functions ---- */

static bool
is_shippable_type(Oid type, const ShipScope *scope)
{
	Oid			element;

	if (shippable_is_builtin(type))
		return true;

	/* the array type of an extension's type is not a member of it */
	element = get_element_type(type);
	return shippable_is_shippable(OidIsValid(element) ? element : type,
								  TypeRelationId, scope->extensions);
}

/* Types whose values are names of objects of one database. */
static bool
is_object_name_type(Oid type)
{
	switch (type)
	{
		case REGCLASSOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGNAMESPACEOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGROLEOID:
		case REGTYPEOID:
			return true;
		default:
			return false;
	}
}

/*
 * Can any value of the type be sent, as text or as a parameter?  The text of
 * money depends on a setting, object names mean nothing elsewhere, and the
 * rest has no input function.
 */
static bool
is_sendable_type(Oid type, const ShipScope *scope)
{
	Oid			element = get_element_type(type);
	Oid			base = OidIsValid(element) ? element : type;

	return base != MONEYOID && base != UNKNOWNOID &&
		!is_object_name_type(base) &&
		get_typtype(base) != TYPTYPE_PSEUDO &&
		is_shippable_type(type, scope);
}

/* Names of initdb's own text search objects are the same everywhere. */
static bool
is_sendable_object_name(const Const *value)
{
	Oid			object = DatumGetObjectId(value->constvalue);

	if (value->consttype == REGROLEOID)
		return false;
	if (value->consttype == REGCONFIGOID ||
		value->consttype == REGDICTIONARYOID)
		return object < FirstNormalObjectId;
	return shippable_is_builtin(object);
}

/*
 * Immutable by name, but the result depends on bytea_output, extra_float_digits
 * or quote_all_identifiers, of which each session has its own.
 */
static bool
depends_on_setting(Oid function)
{
	switch (function)
	{
		case F_BOX_OUT:
		case F_BYTEAOUT:
		case F_CIRCLE_OUT:
		case F_FLOAT4OUT:
		case F_FLOAT8OUT:
		case F_LINE_OUT:
		case F_LSEG_OUT:
		case F_PATH_OUT:
		case F_POINT_OUT:
		case F_POLY_OUT:
		case F_QUOTE_IDENT:
			return true;
		default:
			return false;
	}
}

/* Callback of check_functions_in_node(). */
static bool
is_unshippable_function(Oid function, void *arg)
{
	const ShipScope *scope = arg;

	return func_volatile(function) != PROVOLATILE_IMMUTABLE ||
		depends_on_setting(function) ||
		!shippable_is_shippable(function, ProcedureRelationId,
								scope->extensions);
}

/* InvalidOid for a node that names no operator. */
static Oid
node_operator(Node *node)
{
	switch (nodeTag(node))
	{
		case T_DistinctExpr:	/* both have OpExpr's layout */
		case T_NullIfExpr:
		case T_OpExpr:
			return ((OpExpr *) node)->opno;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) node)->opno;
		default:
			return InvalidOid;
	}
}

static bool
has_unshippable_operator(Node *node, const ShipScope *scope)
{
	Oid			operator = node_operator(node);

	return OidIsValid(operator) &&
		!shippable_is_shippable(operator, OperatorRelationId,
								scope->extensions);
}

/*
 * Does the node test for equality?  The default collation of a database is
 * deterministic, so that equal means the same bytes under any of them.
 */
static bool
is_equality(Node *node)
{
	Oid			operator = node_operator(node);
	Oid			type;
	Oid			negator;

	if (!OidIsValid(operator))
		return false;
	if (IsA(node, ScalarArrayOpExpr))
		type = exprType(linitial(((ScalarArrayOpExpr *) node)->args));
	else
		type = exprType(linitial(((OpExpr *) node)->args));
	if (op_mergejoinable(operator, type))
		return true;
	negator = get_negator(operator);
	return OidIsValid(negator) && op_mergejoinable(negator, type);
}

/* ---- what is computed here ---- */

/* Walker: does the value depend on the shard, or on where it is computed? */
static bool
is_bound_to_place(Node *node, void *arg)
{
	const ShipScope *scope = arg;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varlevelsup != 0 ||
				bms_is_member(((Var *) node)->varno, scope->relids);
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_EXEC;
		case T_Aggref:
		case T_AlternativeSubPlan:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_CurrentOfExpr:
		case T_GroupingFunc:
		case T_PlaceHolderVar:
		case T_Query:
		case T_SetToDefault:
		case T_SubLink:
		case T_SubPlan:
		case T_WindowFunc:
			return true;
		default:
			return expression_tree_walker(node, is_bound_to_place, arg);
	}
}

static bool
is_call(Node *node)
{
	switch (nodeTag(node))
	{
		case T_ArrayCoerceExpr:
		case T_ArrayExpr:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_CoerceViaIO:
		case T_DistinctExpr:
		case T_FuncExpr:
		case T_MinMaxExpr:
		case T_NullIfExpr:
		case T_OpExpr:
		case T_RelabelType:
		case T_SQLValueFunction:
		case T_ScalarArrayOpExpr:
		case T_SubscriptingRef:
			return true;
		default:
			return false;
	}
}

bool
shippable_expr_is_computed_here(Node *node, const ShipScope *scope,
								bool is_conditional)
{
	if (!is_call(node) || expression_returns_set(node))
		return false;
	if (is_conditional && !IsA(node, SQLValueFunction) &&
		!(IsA(node, FuncExpr) && ((FuncExpr *) node)->args == NIL))
		return false;
	return !is_bound_to_place(node, (void *) scope) &&
		is_sendable_type(exprType(node), scope) &&
		!contain_volatile_functions(node);
}

/* ---- the walk; true is a no, as tree walkers want it ---- */

static Walk
walk_below(const Walk *outer)
{
	Walk		inner = *outer;

	inner.found.oid = InvalidOid;
	inner.found.derivation = DERIVATION_NONE;
	return inner;
}

static bool
is_unshippable_list(List *nodes, Walk *walk)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		if (is_unshippable(lfirst(cell), walk))
			return true;
	}
	return false;
}

static bool
is_unshippable_value(Node *node, Walk *outer)
{
	if (!is_sendable_type(exprType(node), outer->scope))
		return true;
	merge_collation(&outer->found, value_collation(exprCollation(node)));
	return false;
}

/*
 * Of the system columns only ctid means there what it means here.  Names of
 * objects travel as such, but compare as oids, which differ.
 */
static bool
is_unshippable_var(Var *var, Walk *outer)
{
	Collation	collation = {var->varcollid, DERIVATION_COLUMN};

	if (var->varlevelsup != 0 || !compat_var_is_plain(var))
		return true;
	if (!bms_is_member(var->varno, outer->scope->relids))
		return is_unshippable_value((Node *) var, outer);
	if (var->varattno <= 0 && var->varattno != SelfItemPointerAttributeNumber)
		return true;
	if (is_object_name_type(var->vartype) ||
		!is_shippable_type(var->vartype, outer->scope))
		return true;
	if (OidIsValid(var->varcollid))
		merge_collation(&outer->found, collation);
	return false;
}

static bool
is_unshippable_const(Const *value, Walk *outer)
{
	if (is_object_name_type(value->consttype))
		return !value->constisnull && !is_sendable_object_name(value);
	return is_unshippable_value((Node *) value, outer);
}

static bool
is_unshippable_param(Param *param, Walk *outer)
{
	if (param->paramkind != PARAM_EXTERN && param->paramkind != PARAM_EXEC)
		return true;
	return is_unshippable_value((Node *) param, outer);
}

/* Does the node call what gives the same under any collation? */
static bool
ignores_collation(Node *node)
{
	Oid			function = InvalidOid;

	if (IsA(node, FuncExpr))
		function = ((FuncExpr *) node)->funcid;
	else if (IsA(node, OpExpr))
		function = get_opcode(((OpExpr *) node)->opno);
	switch (function)
	{
		case F_TEXTCAT:
		case F_LENGTH_TEXT:
		case F_CHAR_LENGTH_TEXT:
		case F_CHARACTER_LENGTH_TEXT:
		case F_OCTET_LENGTH_TEXT:
		case F_SUBSTR_TEXT_INT4:
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4:
		case F_SUBSTRING_TEXT_INT4_INT4:
		case F_LEFT:
		case F_RIGHT:
		case F_LPAD_TEXT_INT4:
		case F_LPAD_TEXT_INT4_TEXT:
		case F_RPAD_TEXT_INT4:
		case F_RPAD_TEXT_INT4_TEXT:
		case F_REPEAT:
		case F_MD5_TEXT:
			return true;
		default:
			return false;
	}
}

/* Default collation here and there, and a result that it does not decide? */
static bool
is_default_undecisive(Node *node, Oid input, const Walk *inner)
{
	return input == DEFAULT_COLLATION_OID &&
		inner->found.derivation == DERIVATION_NONE &&
		(is_equality(node) || ignores_collation(node));
}

/* The last step for a node whose arguments were walked into inner. */
static bool
is_unshippable_result(Node *node, const Walk *inner, Walk *outer)
{
	if (!is_shippable_type(exprType(node), outer->scope))
		return true;
	merge_collation(&outer->found, result_collation(node, inner));
	return false;
}

static bool
is_unshippable_call(Node *node, Walk *outer)
{
	Walk		inner = walk_below(outer);
	Oid			input = exprInputCollation(node);

	/* a set would multiply the rows of the remote query */
	if ((IsA(node, FuncExpr) && ((FuncExpr *) node)->funcretset) ||
		(IsA(node, OpExpr) && ((OpExpr *) node)->opretset))
		return true;
	if (check_functions_in_node(node, is_unshippable_function,
								(void *) outer->scope) ||
		has_unshippable_operator(node, outer->scope) ||
		expression_tree_walker(node, is_unshippable, &inner))
		return true;
	if (!shippable_collation_is_portable(input) &&
		!is_input_derived(input, &inner) &&
		!is_default_undecisive(node, input, &inner))
		return true;
	return is_unshippable_result(node, &inner, outer);
}

static bool
is_unshippable_coalesce(CoalesceExpr *coalesce, Walk *outer)
{
	Walk		inner = walk_below(outer);

	if (is_unshippable(linitial(coalesce->args), &inner))
		return true;
	inner.is_conditional = true;
	return is_unshippable_list(list_copy_tail(coalesce->args, 1), &inner) ||
		is_unshippable_result((Node *) coalesce, &inner, outer);
}

/*
 * The collations of the tested value and of the conditions matter to the
 * comparisons only, those of the results to the whole.
 */
static bool
is_unshippable_case(CaseExpr *expr, Walk *outer)
{
	Walk		arg = walk_below(outer);
	Walk		results = walk_below(outer);
	ListCell   *cell;

	if (is_unshippable((Node *) expr->arg, &arg))
		return true;
	results.is_conditional = true;
	foreach(cell, expr->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, cell);
		Walk		condition = walk_below(&results);

		condition.case_arg = &arg.found;
		if (is_unshippable((Node *) when->expr, &condition) ||
			is_unshippable((Node *) when->result, &results))
			return true;
	}
	return is_unshippable((Node *) expr->defresult, &results) ||
		is_unshippable_result((Node *) expr, &results, outer);
}

static bool
is_unshippable_case_test(CaseTestExpr *test, Walk *outer)
{
	if (outer->case_arg == NULL || !is_shippable_type(test->typeId,
													  outer->scope))
		return true;
	merge_collation(&outer->found, *outer->case_arg);
	return false;
}

static bool
is_unshippable_array_coerce(ArrayCoerceExpr *coerce, Walk *outer)
{
	Walk		inner = walk_below(outer);
	Walk		element = walk_below(outer);

	if (is_unshippable((Node *) coerce->arg, &inner))
		return true;
	element.is_conditional = true;
	element.case_arg = &inner.found;
	return is_unshippable((Node *) coerce->elemexpr, &element) ||
		is_unshippable_result((Node *) coerce, &inner, outer);
}

/* Each pair of columns is compared by an operator of its own. */
static bool
is_unshippable_row_compare(RowCompareExpr *compare, Walk *outer)
{
	ListCell   *left;
	ListCell   *right;
	ListCell   *operator;
	ListCell   *input;

	if (check_functions_in_node((Node *) compare, is_unshippable_function,
								(void *) outer->scope))
		return true;
	forfour(left, compare->largs, right, compare->rargs,
			operator, compare->opnos, input, compare->inputcollids)
	{
		Walk		inner = walk_below(outer);

		if (!shippable_is_shippable(lfirst_oid(operator), OperatorRelationId,
									outer->scope->extensions) ||
			is_unshippable(lfirst(left), &inner) ||
			is_unshippable(lfirst(right), &inner) ||
			!is_input_derived(lfirst_oid(input), &inner))
			return true;
	}
	return false;
}

/* The order of values under the collation the shard derives for them. */
static bool
is_unshippable_sort(Node *expr, Oid collation, Walk *outer)
{
	Walk		inner = walk_below(outer);

	return is_unshippable(expr, &inner) ||
		inner.found.derivation == DERIVATION_LOST ||
		!is_input_derived(collation, &inner);
}

/* ORDER BY and DISTINCT within an aggregate. */
static bool
is_unshippable_agg_order(Aggref *aggref, Walk *outer)
{
	ListCell   *cell;

	foreach(cell, list_concat_copy(aggref->aggorder, aggref->aggdistinct))
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, cell);
		Node	   *expr = get_sortgroupclause_expr(clause, aggref->args);

		if (!shippable_is_shippable(clause->eqop, OperatorRelationId,
									outer->scope->extensions) ||
			(OidIsValid(clause->sortop) &&
			 !shippable_is_shippable(clause->sortop, OperatorRelationId,
									 outer->scope->extensions)) ||
			is_unshippable_sort(expr, exprCollation(expr), outer))
			return true;
	}
	return false;
}

/*
 * What stands in an aggregate is evaluated for each row there is, which may
 * be none.
 */
static bool
is_unshippable_aggref(Aggref *aggref, Walk *outer)
{
	Walk		inner = walk_below(outer);
	Walk		filter = walk_below(outer);
	ListCell   *cell;

	if (!outer->scope->has_aggregates || aggref->agglevelsup != 0 ||
		aggref->aggsplit != AGGSPLIT_SIMPLE ||
		is_unshippable_function(aggref->aggfnoid, (void *) outer->scope))
		return true;
	inner.is_conditional = filter.is_conditional = true;
	foreach(cell, aggref->args)
	{
		if (is_unshippable((Node *) lfirst_node(TargetEntry, cell)->expr,
						   &inner))
			return true;
	}
	if (is_unshippable_list(aggref->aggdirectargs, &inner) ||
		is_unshippable((Node *) aggref->aggfilter, &filter) ||
		is_unshippable_agg_order(aggref, &filter))
		return true;
	return !is_input_derived(aggref->inputcollid, &inner) ||
		is_unshippable_result((Node *) aggref, &inner, outer);
}

/* The window is judged by plan_window.c. */
static bool
is_unshippable_window(WindowFunc *function, Walk *outer)
{
	Walk		inner = walk_below(outer);
	Walk		filter = walk_below(outer);

	if (!outer->scope->has_windows ||
		compat_window_ignores_nulls(function) ||
		is_unshippable_function(function->winfnoid, (void *) outer->scope))
		return true;
	inner.is_conditional = filter.is_conditional = true;
	return is_unshippable_list(function->args, &inner) ||
		is_unshippable((Node *) function->aggfilter, &filter) ||
		!is_input_derived(function->inputcollid, &inner) ||
		is_unshippable_result((Node *) function, &inner, outer);
}

/* Its arguments are only looked up among the columns that are grouped by. */
static bool
is_unshippable_grouping(GroupingFunc *grouping, Walk *outer)
{
	Walk		inner = walk_below(outer);

	return !outer->scope->has_aggregates || grouping->agglevelsup != 0 ||
		is_unshippable_list(grouping->args, &inner);
}

static bool
is_unshippable_node(Node *node, Walk *outer)
{
	if (shippable_expr_is_computed_here(node, outer->scope,
										outer->is_conditional))
		return is_unshippable_value(node, outer);
	switch (nodeTag(node))
	{
		case T_Var:
			return is_unshippable_var((Var *) node, outer);
		case T_Const:
			return is_unshippable_const((Const *) node, outer);
		case T_Param:
			return is_unshippable_param((Param *) node, outer);
		case T_Aggref:
			return is_unshippable_aggref((Aggref *) node, outer);
		case T_GroupingFunc:
			return is_unshippable_grouping((GroupingFunc *) node, outer);
		case T_WindowFunc:
			return is_unshippable_window((WindowFunc *) node, outer);
		case T_CaseExpr:
			return is_unshippable_case((CaseExpr *) node, outer);
		case T_CaseTestExpr:
			return is_unshippable_case_test((CaseTestExpr *) node, outer);
		case T_CoalesceExpr:
			return is_unshippable_coalesce((CoalesceExpr *) node, outer);
		case T_ArrayCoerceExpr:
			return is_unshippable_array_coerce((ArrayCoerceExpr *) node, outer);
		case T_RowCompareExpr:
			return is_unshippable_row_compare((RowCompareExpr *) node, outer);
		case T_List:
			return is_unshippable_list((List *) node, outer);
		case T_NullTest:
			return ((NullTest *) node)->argisrow ||
				is_unshippable_call(node, outer);
		case T_SubscriptingRef:
			return ((SubscriptingRef *) node)->refassgnexpr != NULL ||
				is_unshippable_call(node, outer);
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_CoerceViaIO:
		case T_DistinctExpr:
		case T_FuncExpr:
		case T_MinMaxExpr:
		case T_NullIfExpr:
		case T_OpExpr:
		case T_RelabelType:
		case T_ScalarArrayOpExpr:
			return is_unshippable_call(node, outer);
		default:
			return true;
	}
}

/* ---- the reason ---- */

/* Callback of check_functions_in_node(): stops at what is refused. */
static bool
explain_function(Oid function, void *arg)
{
	const Walk *walk = arg;
	Oid			extension;

	if (!is_unshippable_function(function, (void *) walk->scope))
		return false;
	extension = getExtensionOfObject(ProcedureRelationId, function);
	if (func_volatile(function) == PROVOLATILE_VOLATILE)
		*walk->refusal = psprintf("volatile function %s()",
								  get_func_name(function));
	else if (func_volatile(function) == PROVOLATILE_STABLE)
		*walk->refusal = psprintf("function %s() is not immutable",
								  get_func_name(function));
	else if (depends_on_setting(function))
		*walk->refusal = psprintf("function %s() depends on settings",
								  get_func_name(function));
	else if (OidIsValid(extension))
		*walk->refusal = psprintf("function %s() of extension %s, which option extensions does not name",
								  get_func_name(function),
								  get_extension_name(extension));
	else
		*walk->refusal = psprintf("function %s() is known here only",
								  get_func_name(function));
	return true;
}

static char *
explain_type(Oid type, const ShipScope *scope)
{
	if (is_object_name_type(type))
		return psprintf("type %s names objects of one database",
						format_type_be(type));
	if (!is_shippable_type(type, scope))
		return psprintf("type %s is known here only", format_type_be(type));
	if (!is_sendable_type(type, scope))
		return psprintf("values of type %s are not sent", format_type_be(type));
	return NULL;
}

/* A call whose functions and types are all right. */
static char *
explain_collation(Node *node)
{
	Oid			input = exprInputCollation(node);

	if (!OidIsValid(input))
		input = exprCollation(node);
	if (!OidIsValid(input))
		return NULL;
	return psprintf("collation %s may be another one there",
					get_collation_name(input));
}

/* The node is refused, and what is below it is not. */
static char *
explain_node(Node *node, Walk *walk)
{
	char	   *reason;

	switch (nodeTag(node))
	{
		case T_List:
			return NULL;
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_SubLink:
			return pstrdup("subquery");
		case T_WindowFunc:
			return pstrdup("window function");
		case T_PlaceHolderVar:
			return pstrdup("value computed below an outer join");
		case T_Var:
			if (((Var *) node)->varattno < 0)
				return pstrdup("system column");
			if (((Var *) node)->varattno == 0)
				return pstrdup("whole row");
			break;
		case T_Aggref:
			if (explain_function(((Aggref *) node)->aggfnoid, walk))
				return *walk->refusal;
			break;
		default:
			break;
	}
	if (check_functions_in_node(node, explain_function, walk))
		return *walk->refusal;
	if (has_unshippable_operator(node, walk->scope))
		return psprintf("operator %s is known here only",
						get_opname(node_operator(node)));
	reason = explain_type(exprType(node), walk->scope);
	if (reason == NULL)
		reason = explain_collation(node);
	return reason ? reason : pstrdup("form of expression that is not sent");
}

static bool
is_unshippable(Node *node, Walk *outer)
{
	if (node == NULL || !is_unshippable_node(node, outer))
		return false;
	if (outer->refusal && *outer->refusal == NULL)
		*outer->refusal = explain_node(node, outer);
	return true;
}

char *
shippable_expr_refusal(Node *expr, const ShipScope *scope)
{
	char	   *refusal = NULL;
	Walk		walk = {scope, false, NULL, {InvalidOid, DERIVATION_NONE},
	&refusal};

	if (!is_unshippable(expr, &walk) &&
		walk.found.derivation != DERIVATION_LOST)
		return NULL;
	if (refusal == NULL)
		refusal = explain_collation(expr);
	return refusal ? refusal : pstrdup("collation");
}

bool
shippable_expr(Node *expr, const ShipScope *scope)
{
	Walk		walk = {scope, false, NULL, {InvalidOid, DERIVATION_NONE}};

	return !is_unshippable(expr, &walk) &&
		walk.found.derivation != DERIVATION_LOST;
}

bool
shippable_expr_sorts_alike(Node *expr, Oid collation, const ShipScope *scope)
{
	Walk		walk = {scope, false, NULL, {InvalidOid, DERIVATION_NONE}};

	return !is_unshippable_sort(expr, collation, &walk);
}
