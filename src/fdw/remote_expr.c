/*-------------------------------------------------------------------------
 *
 * remote_expr.c
 *	  The text of an expression for a shard.
 *
 * The server's own deparse_expression() prints it.  So that it prints remote
 * names, it is given a range table made up for the purpose: one entry for
 * each foreign table of the remote query, with just the columns the
 * expression uses, under their remote names.  A mutator first rewrites the
 * expression to that range table, and repairs what would be printed wrong:
 *
 * - A COLLATE clause, which the planner keeps as a mere RelabelType or not at
 *	 all, is put back where the shard would otherwise derive another collation.
 * - CASE with an argument, which the planner may have simplified beyond what
 *	 the printer knows, becomes CASE with conditions.
 * - ctid, which a made-up table does not have, becomes an ordinary column.
 * - The syntactic identity of a Var, which names an alias of the user's query,
 *	 is cleared.
 * - Parameters get a cast, as nothing else tells the shard their type.
 * - A constant beside a column of its own type loses its cast: the shard gives
 *	 it the column's type, which may be another there (an enum declared as text
 *	 here, say).
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/compat_planner.h"
#include "fdw/kept_text.h"
#include "fdw/plan_key.h"
#include "fdw/plan_single.h"
#include "fdw/plan_values.h"
#include "fdw/remote_expr.h"
#include "fdw/table_cache.h"

typedef struct Rewrite
{
	RemoteExprContext *context;
	int			ntables;
	List	  **columns;		/* per table: Strings, the remote names */
	bool		is_conditional; /* see shippable_expr_is_computed_here() */
	Node	   *case_arg;		/* rewritten already; for CaseTestExpr */
} Rewrite;

static Node *rewrite_node(Node *node, void *arg);

int
remote_expr_alias(const ShipScope *scope, Index rtindex)
{
	return bms_member_index(scope->relids, rtindex) + 1;
}

AttrNumber
remote_expr_attno(const RemoteExprContext *context, Index rtindex,
				  AttrNumber attnum, Oid *relid)
{
	Oid			own;

	if (context->root == NULL)
	{
		*relid = context->relid;
		return attnum;
	}
	attnum = plan_single_attno(context->root, rtindex, attnum, &own);
	*relid = context->stand_ins ? context->stand_ins[rtindex] : own;
	if (*relid != own && attnum > 0)
		attnum = get_attnum(*relid, get_attname(own, attnum, false));
	return attnum;
}

/* ---- leaves ---- */

static Node *
make_collate(Node *arg, Oid collation)
{
	CollateExpr *collate = makeNode(CollateExpr);

	collate->arg = (Expr *) arg;
	collate->collOid = collation;
	collate->location = -1;
	return (Node *) collate;
}

/*
 * $n for an expression that is evaluated here; the same one again only if it
 * has a type: without, it gets one from each place where it stands.
 */
static Node *
make_param(Node *expr, RemoteExprContext *context)
{
	Param	   *param = makeNode(Param);
	ListCell   *cell;

	param->paramkind = PARAM_EXTERN;
	param->paramid = 1;
	foreach(cell, context->params)
	{
		if (exprType(expr) != UNKNOWNOID && equal(lfirst(cell), expr))
			break;
		param->paramid++;
	}
	if (cell == NULL)
		context->params = lappend(context->params, copyObject(expr));
	param->paramtype = exprType(expr);
	param->paramtypmod = -1;
	param->paramcollid = get_typcollation(param->paramtype);
	param->location = -1;
	return (Node *) param;
}

/*
 * What stands for it where the shard only plans: the value, if it can be told
 * already, or else (SELECT NULL), which is no value to a planner.
 */
static Node *
make_guess(Node *expr, RemoteExprContext *context)
{
	Node	   *value = estimate_expression_value(context->root,
												  copyObject(expr));
	Query	   *query = makeNode(Query);
	SubLink    *link = makeNode(SubLink);
	Const	   *null;

	if (value && IsA(value, Const))
		return value;
	null = makeNullConst(exprType(expr), -1, get_typcollation(exprType(expr)));
	query->commandType = CMD_SELECT;
	query->jointree = makeFromExpr(NIL, NULL);
	query->targetList = list_make1(makeTargetEntry((Expr *) null, 1, NULL,
												   false));
	link->subLinkType = EXPR_SUBLINK;
	link->subselect = (Node *) query;
	link->location = -1;
	return (Node *) link;
}

static Node *
make_parameter(Node *expr, Rewrite *rewrite)
{
	RemoteExprContext *context = rewrite->context;
	Oid			type = exprType(expr);
	Oid			collation = exprCollation(expr);
	Node	   *value;
	Node	   *cast;

	value = context->is_estimate ? make_guess(expr, context) :
		make_param(expr, context);
	cast = (Node *) makeRelabelType((Expr *) value, type, -1,
									get_typcollation(type),
									COERCE_EXPLICIT_CAST);
	if (collation != get_typcollation(type) &&
		shippable_collation_is_portable(collation))
		return make_collate(cast, collation);
	return cast;
}

/* The place of a column in the made-up table; remembered on first use. */
static AttrNumber
column_place(Rewrite *rewrite, int table, const char *name)
{
	AttrNumber	place = 1;
	ListCell   *cell;

	foreach(cell, rewrite->columns[table - 1])
	{
		if (strcmp(strVal(lfirst(cell)), name) == 0)
			return place;
		place++;
	}
	rewrite->columns[table - 1] = lappend(rewrite->columns[table - 1],
										  makeString(pstrdup(name)));
	return place;
}

static Node *
rewrite_var(Var *var, Rewrite *rewrite)
{
	const ShipScope *scope = rewrite->context->scope;
	const char *name = "ctid";
	int			table;

	if (!bms_is_member(var->varno, scope->relids))
		return make_parameter((Node *) var, rewrite);
	table = remote_expr_alias(scope, var->varno);
	if (plan_values_is_list(rewrite->context->root, var->varno))
		name = plan_values_column_name(var->varattno);
	else if (var->varattno != SelfItemPointerAttributeNumber)
	{
		Oid			relid;
		AttrNumber	attnum = remote_expr_attno(rewrite->context, var->varno,
											   var->varattno, &relid);

		name = table_cache_column_name(relid, attnum);
	}
	return (Node *) makeVar(table, column_place(rewrite, table, name),
							var->vartype, var->vartypmod, var->varcollid, 0);
}

/* ---- collations ---- */

/*
 * Makes the shard use a portable input collation if its parser would not
 * choose it from the arguments, where the default collation gives way to any
 * other.
 */
static void
force_input_collation(List *args, Oid collation)
{
	ListCell   *collatable = NULL;
	bool		is_derived = false;
	ListCell   *cell;

	if (!shippable_collation_is_portable(collation))
		return;
	foreach(cell, args)
	{
		Oid			found = exprCollation(lfirst(cell));

		if (!OidIsValid(found))
			continue;
		if (collatable == NULL)
			collatable = cell;
		if (found == collation)
			is_derived = true;
		else if (get_typcollation(exprType(lfirst(cell))) != found)
		{
			is_derived = false;
			break;
		}
	}
	if (!is_derived && collatable != NULL)
		lfirst(collatable) = make_collate(lfirst(collatable), collation);
}

static List *
node_args(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return ((FuncExpr *) node)->args;
		case T_DistinctExpr:	/* both have OpExpr's layout */
		case T_NullIfExpr:
		case T_OpExpr:
			return ((OpExpr *) node)->args;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) node)->args;
		case T_MinMaxExpr:
			return ((MinMaxExpr *) node)->args;
		default:
			return NIL;
	}
}

static Node *
rewrite_relabel(RelabelType *relabel, Rewrite *rewrite)
{
	Oid			wanted = relabel->resultcollid;
	RelabelType *result = copyObject(relabel);
	bool		is_collate;

	result->arg = (Expr *) rewrite_node((Node *) relabel->arg, rewrite);
	is_collate = shippable_collation_is_portable(wanted) &&
		exprCollation((Node *) result->arg) != wanted &&
		get_typcollation(relabel->resulttype) != wanted;
	if (!is_collate)
		return (Node *) result;
	if (exprType((Node *) result->arg) == relabel->resulttype &&
		exprTypmod((Node *) result->arg) == relabel->resulttypmod)
		return make_collate((Node *) result->arg, wanted);
	result->resultcollid = get_typcollation(relabel->resulttype);
	return make_collate((Node *) result, wanted);
}

/* ---- constants ---- */

/* A column, perhaps with a cast that is not printed. */
static bool
is_plain_column(Node *node)
{
	if (IsA(node, RelabelType) &&
		((RelabelType *) node)->relabelformat == COERCE_IMPLICIT_CAST)
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Var);
}

/* The constant as a literal without a type. */
static Node *
without_type(const Const *constant)
{
	Oid			output;
	bool		is_varlena;
	char	   *text;

	getTypeOutputInfo(constant->consttype, &output, &is_varlena);
	text = OidOutputFunctionCall(output, constant->constvalue);

	return (Node *) makeConst(UNKNOWNOID, -1, InvalidOid, -2,
							  CStringGetDatum(text), false, false);
}

/*
 * The constant as a literal without a type, if it is one that the parser
 * gives the wanted type when it stands beside a column of the column's type.
 */
static Node *
untyped_literal(Node *node, Oid wanted, Oid column_type)
{
	Const	   *constant = (Const *) node;

	if (!IsA(node, Const) || constant->constisnull ||
		constant->consttype != wanted || type_is_rowtype(column_type) ||
		wanted == INT4OID || wanted == BOOLOID)
		return node;
	return without_type(constant);
}

static void
untype_operand(Node *node)
{
	List	   *args = node_args(node);
	Node	   *left;
	Node	   *right;
	Oid			type;

	if ((!IsA(node, OpExpr) && !IsA(node, ScalarArrayOpExpr)) ||
		list_length(args) != 2)
		return;
	left = linitial(args);
	right = lsecond(args);
	if (is_plain_column(left))
	{
		type = exprType(left);
		lsecond(args) = untyped_literal(right,
										IsA(node, OpExpr) ? type :
										get_array_type(type),
										type);
	}
	else if (IsA(node, OpExpr) && is_plain_column(right))
	{
		type = exprType(right);
		linitial(args) = untyped_literal(left, type, type);
	}
}

/*
 * Mutator, for what is rewritten otherwise: the text of a constant depends on
 * settings that are in force for printing only.
 */
static Node *
untype_constants(Node *node, void *arg)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	result = expression_tree_mutator(node, untype_constants, arg);
	untype_operand(result);
	return result;
}

/* ---- conditional expressions ---- */

static Node *
rewrite_case(CaseExpr *expr, Rewrite *rewrite)
{
	CaseExpr   *result = copyObject(expr);
	Rewrite		below = *rewrite;
	Node	   *arg = rewrite_node((Node *) expr->arg, rewrite);
	ListCell   *cell;

	below.is_conditional = true;
	foreach(cell, result->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, cell);

		below.case_arg = arg;
		when->expr = (Expr *) rewrite_node((Node *) when->expr, &below);
		below.case_arg = rewrite->case_arg;
		when->result = (Expr *) rewrite_node((Node *) when->result, &below);
	}
	result->arg = NULL;
	result->defresult = (Expr *) rewrite_node((Node *) expr->defresult,
											  &below);
	if (result->defresult == NULL)
		result->defresult = (Expr *) makeNullConst(expr->casetype, -1,
												   expr->casecollid);
	return (Node *) result;
}

static Node *
rewrite_coalesce(CoalesceExpr *coalesce, Rewrite *rewrite)
{
	CoalesceExpr *result = copyObject(coalesce);
	Rewrite		below = *rewrite;
	ListCell   *cell;

	foreach(cell, result->args)
	{
		lfirst(cell) = rewrite_node(lfirst(cell), &below);
		below.is_conditional = true;
	}
	return (Node *) result;
}

/* ---- the mutator ---- */

/* Evaluated for each row, of which there may be none. */
static Node *
rewrite_aggref(Aggref *aggref, Rewrite *rewrite)
{
	Rewrite		below = *rewrite;

	below.is_conditional = true;
	return expression_tree_mutator((Node *) aggref, rewrite_node, &below);
}

/* The cast of the elements is printed as the cast of the array. */
static Node *
rewrite_array_coerce(ArrayCoerceExpr *coerce, Rewrite *rewrite)
{
	ArrayCoerceExpr *result = copyObject(coerce);

	result->arg = (Expr *) rewrite_node((Node *) coerce->arg, rewrite);
	return (Node *) result;
}

static Node *
rewrite_call(Node *node, Rewrite *rewrite)
{
	Node	   *result = expression_tree_mutator(node, rewrite_node, rewrite);

	force_input_collation(node_args(result), exprInputCollation(result));
	return result;
}

static Node *
rewrite_node(Node *node, void *arg)
{
	Rewrite    *rewrite = arg;

	if (node == NULL)
		return NULL;
	if (shippable_expr_is_computed_here(node, rewrite->context->scope,
										rewrite->is_conditional))
		return make_parameter(node, rewrite);
	switch (nodeTag(node))
	{
		case T_Var:
			return rewrite_var((Var *) node, rewrite);
		case T_Param:
			return make_parameter(node, rewrite);
		case T_RelabelType:
			return rewrite_relabel((RelabelType *) node, rewrite);
		case T_Aggref:
			return rewrite_aggref((Aggref *) node, rewrite);
		case T_CaseExpr:
			return rewrite_case((CaseExpr *) node, rewrite);
		case T_CaseTestExpr:
			return copyObject(rewrite->case_arg);
		case T_CoalesceExpr:
			return rewrite_coalesce((CoalesceExpr *) node, rewrite);
		case T_ArrayCoerceExpr:
			return rewrite_array_coerce((ArrayCoerceExpr *) node, rewrite);
		case T_DistinctExpr:
		case T_FuncExpr:
		case T_MinMaxExpr:
		case T_NullIfExpr:
		case T_OpExpr:
		case T_ScalarArrayOpExpr:
			return rewrite_call(node, rewrite);
		default:
			return expression_tree_mutator(node, rewrite_node, rewrite);
	}
}

/* ---- keys as parameters ---- */

/*
 * The constant as what is sent for $n.  One of the column's own type is sent
 * without type: like an untyped literal it gets the one of the remote column,
 * see untyped_literal().  NULL if its text depends on settings.
 */
static Node *
key_to_send(const KeyClause *key)
{
	Const	   *value = key->value;

	switch (value->consttype)
	{
		case INT4OID:
			return (Node *) value;
		case INT2OID:
		case INT8OID:
			if (exprType(key->column) != value->consttype)
				return (Node *) value;
			break;
		case NUMERICOID:
		case TEXTOID:
		case UUIDOID:
			break;
		default:
			return NULL;
	}
	if (exprType(key->column) != value->consttype)
		return NULL;
	return without_type(value);
}

/* A condition in WHERE. */
static Node *
rewrite_cond(Node *clause, Rewrite *rewrite)
{
	RemoteExprContext *context = rewrite->context;
	KeyClause	key;
	Node	   *sent;
	Node	   *column;
	OpExpr	   *result;

	if (context->root == NULL || context->is_estimate ||
		!plan_key_match(context->root, clause, &key) ||
		!bms_is_subset(pull_varnos(context->root, key.column),
					   context->scope->relids) ||
		exprCollation(key.column) != exprInputCollation(clause) ||
		(sent = key_to_send(&key)) == NULL)
		return rewrite_node(clause, rewrite);
	column = rewrite_node(key.column, rewrite);
	sent = exprType(sent) == UNKNOWNOID ? make_param(sent, context) :
		make_parameter(sent, rewrite);
	result = makeNode(OpExpr);
	*result = *(OpExpr *) clause;
	result->args = key.is_column_first ? list_make2(column, sent) :
		list_make2(sent, column);
	return (Node *) result;
}

static Node *
rewrite_any(Node *node, Rewrite *rewrite)
{
	return rewrite_node(node, rewrite);
}

/* ---- values to be assigned ---- */

/*
 * NULL has no type of its own in the text, and there are two booleans only.
 */
static bool
is_constant_to_send(Node *node)
{
	return IsA(node, Const) && !((Const *) node)->constisnull &&
		((Const *) node)->consttype != BOOLOID &&
		((Const *) node)->consttype != UNKNOWNOID;
}

/*
 * Constants below anything but an operator stay: there are functions that are
 * printed in a syntax of their own, with a constant in it.
 */
static Node *
rewrite_value(Node *node, Rewrite *rewrite)
{
	OpExpr	   *result;
	ListCell   *arg;

	if (is_constant_to_send(node))
		return make_parameter(node, rewrite);
	if (!IsA(node, OpExpr) ||
		shippable_expr_is_computed_here(node, rewrite->context->scope,
										rewrite->is_conditional))
		return rewrite_node(node, rewrite);
	result = makeNode(OpExpr);
	*result = *(OpExpr *) node;
	result->args = NIL;
	foreach(arg, ((OpExpr *) node)->args)
		result->args = lappend(result->args,
							   rewrite_value(lfirst(arg), rewrite));
	force_input_collation(result->args, result->inputcollid);
	return (Node *) result;
}

/* A text that is computed here, as what is sent without type. */
static Node *
untyped_value(Node *text)
{
	CoerceViaIO *coerce;

	if (IsA(text, Const) && !((Const *) text)->constisnull)
		return without_type((Const *) text);
	if (IsA(text, Const))
		return (Node *) makeNullConst(UNKNOWNOID, -1, InvalidOid);
	coerce = makeNode(CoerceViaIO);
	coerce->arg = copyObject((Expr *) text);
	coerce->resulttype = UNKNOWNOID;
	coerce->coerceformat = COERCE_EXPLICIT_CAST;
	coerce->location = -1;
	return (Node *) coerce;
}

/*
 * A text by itself, be it a constant, NULL or a parameter, goes without type,
 * as a literal would stand there: it gets the one of the remote column, which
 * may be an enum.
 */
static Node *
rewrite_new_value(Node *node, Rewrite *rewrite)
{
	Oid			type = exprType(node);

	if (rewrite->context->is_estimate ||
		(!IsA(node, Const) && !IsA(node, Param)) ||
		(type != TEXTOID && type != VARCHAROID))
		return rewrite_value(node, rewrite);
	return make_param(untyped_value(node), rewrite->context);
}

/* ---- printing ---- */

static RangeTblEntry *
make_table(const char *alias, List *columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_VALUES;
	rte->eref = makeAlias(alias, columns);
	rte->inFromCl = true;
	return rte;
}

static List *
make_deparse_context(const Rewrite *rewrite)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	List	   *aliases = NIL;
	int			table;

	for (table = 0; table < rewrite->ntables; table++)
	{
		char	   *alias = psprintf("r%d", table + 1);

		if (rewrite->context->root == NULL && table > 0)
			alias = "excluded";
		aliases = lappend(aliases, alias);
		statement->rtable = lappend(statement->rtable,
									make_table(alias,
											   rewrite->columns[table]));
	}
	return deparse_context_for_plan_tree(statement, aliases);
}

static void
set_for_now(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Sets what the text of constants and names depends on; to be undone by
 * AtEOXact_GUC() with the result, which is above 0.
 */
static int
begin_portable_text(void)
{
	int			nestlevel = NewGUCNestLevel();

	set_for_now("search_path", "pg_catalog");
	if (DateStyle != USE_ISO_DATES)
		set_for_now("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_for_now("intervalstyle", "postgres");
	if (extra_float_digits < 3)
		set_for_now("extra_float_digits", "3");
	if (!compat_is_backslash_literal())
		set_for_now("standard_conforming_strings", "on");
	return nestlevel;
}

void
remote_expr_begin(RemoteExprContext *context)
{
	if (context->nest_level == 0)
		context->nest_level = begin_portable_text();
}

void
remote_expr_end(RemoteExprContext *context)
{
	if (context->nest_level > 0)
		AtEOXact_GUC(true, context->nest_level);
	context->nest_level = 0;
}

/* The expression has been rewritten. */
static char *
print_expr(const Rewrite *rewrite, Node *expr)
{
	remote_expr_begin(rewrite->context);
	return deparse_expression(untype_constants(expr, NULL),
							  make_deparse_context(rewrite),
							  !rewrite->context->omits_aliases, false);
}

/* The text, which must not be freed. */
static char *
find_or_print_expr(const Rewrite *rewrite, Node *expr)
{
	KeptText	kept = {expr};
	int			table;

	if (rewrite->context->root == NULL)
		return print_expr(rewrite, expr);
	for (table = 0; table < rewrite->ntables; table++)
		kept.columns = lappend(kept.columns, rewrite->columns[table]);
	if (!kept_text_find(&kept))
	{
		kept.text = print_expr(rewrite, expr);
		kept_text_add(&kept);
	}
	return kept.text;
}

static void
begin_rewrite(Rewrite *rewrite, RemoteExprContext *context)
{
	memset(rewrite, 0, sizeof(Rewrite));
	rewrite->context = context;
	rewrite->ntables = bms_num_members(context->scope->relids);
	rewrite->columns = palloc0(sizeof(List *) * rewrite->ntables);
}

static void
append_rewritten(StringInfo buf, RemoteExprContext *context, Node *expr,
				 Node *(*rewriter) (Node *node, Rewrite *rewrite))
{
	Rewrite		rewrite;
	Node	   *rewritten;

	begin_rewrite(&rewrite, context);
	rewritten = rewriter(expr, &rewrite);
	appendStringInfoString(buf, find_or_print_expr(&rewrite, rewritten));
}

void
remote_expr_append(StringInfo buf, RemoteExprContext *context, Node *expr)
{
	append_rewritten(buf, context, expr, rewrite_any);
}

void
remote_expr_append_value(StringInfo buf, RemoteExprContext *context,
						 Node *expr)
{
	append_rewritten(buf, context, expr, rewrite_new_value);
}

void
remote_expr_append_conds(StringInfo buf, RemoteExprContext *context,
						 List *conds)
{
	List	   *rewritten = NIL;
	Rewrite		rewrite;
	ListCell   *cell;
	char	   *text;

	begin_rewrite(&rewrite, context);
	foreach(cell, conds)
		rewritten = lappend(rewritten, rewrite_cond(lfirst(cell), &rewrite));
	text = find_or_print_expr(&rewrite,
							  (Node *) make_ands_explicit(rewritten));

	appendStringInfoString(buf, text);
}
