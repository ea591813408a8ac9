/*-------------------------------------------------------------------------
 *
 * remote_conflict.c
 *	  The text of ON CONFLICT for a shard.
 *
 * The names in a conflict target cannot be qualified; everywhere else they
 * must be, to tell the row in the way from the one that was to be inserted.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "fdw/remote_conflict.h"
#include "fdw/remote_expr.h"
#include "fdw/remote_sql.h"
#include "fdw/table_cache.h"

const RemoteConflict remote_conflict_nothing = {" ON CONFLICT DO NOTHING"};

typedef struct Printer
{
	Oid			parent;
	Relation	rel;
	ShipScope	scope;
	RemoteExprContext context;
} Printer;

/* ---- expressions ---- */

static AttrNumber
translate_column(const Printer *printer, AttrNumber attnum)
{
	Oid			relid = RelationGetRelid(printer->rel);

	if (attnum <= 0 || relid == printer->parent)
		return attnum;
	return get_attnum(relid, get_attname(printer->parent, attnum, false));
}

/* Mutator: the parent's columns become the table's. */
static Node *
translate_columns(Node *node, void *arg)
{
	Printer    *printer = arg;

	if (node && IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varattno = translate_column(printer, var->varattno);
		return (Node *) var;
	}
	return expression_tree_mutator(node, translate_columns, arg);
}

static Node *
translate_expr(Printer *printer, Node *expr)
{
	expr = translate_columns(expr, printer);
	if (!shippable_expr(expr, &printer->scope))
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("remote server cannot evaluate the ON CONFLICT clause for foreign table \"%s\"",
					   RelationGetRelationName(printer->rel)),
				errdetail("An expression of the clause is volatile, contains a subquery, or uses what the remote server may not have."),
				errhint("Compute the value in the row to be inserted, and refer to it as a column of EXCLUDED."));
	return expr;
}

static void
append_expr(StringInfo buf, Printer *printer, Node *expr)
{
	remote_expr_append(buf, &printer->context, translate_expr(printer, expr));
}

static void
append_column(StringInfo buf, Printer *printer, AttrNumber attnum)
{
	remote_sql_column(buf, RelationGetRelid(printer->rel),
					  translate_column(printer, attnum));
}

/* ---- the conflict target ---- */

static void
append_element(StringInfo buf, Printer *printer, InferenceElem *element)
{
	if (OidIsValid(element->inferopclass))
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("conflict target with an operator class is not supported on foreign table \"%s\"",
					   RelationGetRelationName(printer->rel)));
	if (IsA(element->expr, Var))
		append_column(buf, printer, ((Var *) element->expr)->varattno);
	else
	{
		appendStringInfoChar(buf, '(');
		append_expr(buf, printer, element->expr);
		appendStringInfoChar(buf, ')');
	}
	if (OidIsValid(element->infercollid))
		appendStringInfo(buf, " COLLATE %s",
						 generate_collation_name(element->infercollid));
}

static void
append_target(StringInfo buf, Printer *printer, const OnConflictExpr *clause)
{
	const char *separator = " (";
	ListCell   *cell;

	printer->context.omits_aliases = true;
	foreach(cell, clause->arbiterElems)
	{
		appendStringInfoString(buf, separator);
		append_element(buf, printer, lfirst_node(InferenceElem, cell));
		separator = ", ";
	}
	appendStringInfoChar(buf, ')');
	if (clause->arbiterWhere)
	{
		appendStringInfoString(buf, " WHERE ");
		append_expr(buf, printer, clause->arbiterWhere);
	}
	printer->context.omits_aliases = false;
}

/* ---- DO UPDATE ---- */

static bool
is_generated(const Printer *printer, const TargetEntry *entry)
{
	return get_attgenerated(printer->parent, entry->resno) != '\0';
}

/*
 * Is the column the same afterwards?  A column of the conflict target is where
 * it is set to the value that has collided.
 */
static bool
is_value_kept(const TargetEntry *entry, Bitmapset *target_attrs)
{
	const Var  *var = (Var *) entry->expr;

	return IsA(var, Var) && var->varattno == entry->resno &&
		(var->varno == REMOTE_CONFLICT_TABLE ||
		 bms_is_member(entry->resno - FirstLowInvalidHeapAttributeNumber,
					   target_attrs));
}

/* As in core, the row has to stay in its partition. */
static void
check_partition_key(Printer *printer, const OnConflictExpr *clause)
{
	Bitmapset  *target_attrs = NULL;
	Bitmapset  *key = NULL;
	ListCell   *cell;

	pull_varattnos((Node *) clause->arbiterElems, REMOTE_CONFLICT_TABLE,
				   &target_attrs);
	pull_varattnos((Node *) RelationGetPartitionQual(printer->rel), 1, &key);
	foreach(cell, clause->onConflictSet)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		AttrNumber	attnum = translate_column(printer, entry->resno);

		if (bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, key) &&
			!is_value_kept(entry, target_attrs))
			ereport(ERROR,
					errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("ON CONFLICT DO UPDATE cannot update the partition key of foreign table \"%s\"",
						   RelationGetRelationName(printer->rel)),
					errdetail("The row might have to move to another partition."));
	}
}

static void
append_update(StringInfo buf, Printer *printer, const OnConflictExpr *clause)
{
	const char *separator = " DO UPDATE SET ";
	ListCell   *cell;

	foreach(cell, clause->onConflictSet)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (is_generated(printer, entry))
			continue;
		appendStringInfoString(buf, separator);
		append_column(buf, printer, entry->resno);
		appendStringInfoString(buf, " = ");
		remote_expr_append_value(buf, &printer->context,
								 translate_expr(printer, (Node *) entry->expr));
		separator = ", ";
	}
	if (clause->onConflictWhere)
	{
		List	   *conds = (List *) clause->onConflictWhere;

		appendStringInfoString(buf, " WHERE ");
		append_expr(buf, printer, (Node *) make_ands_explicit(conds));
	}
}

static char *
make_key(Printer *printer, const OnConflictExpr *clause)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	foreach(cell, clause->arbiterElems)
	{
		if (buf.len > 0)
			appendStringInfoString(&buf, ", ");
		append_expr(&buf, printer, lfirst_node(InferenceElem, cell)->expr);
	}
	return buf.data;
}

/* Do values of the type look the same when they are equal? */
static bool
has_one_image(Oid type, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			function;

	if (!OidIsValid(entry->btree_opf))
		return false;
	function = get_opfamily_proc(entry->btree_opf, entry->btree_opintype,
								 entry->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(function) &&
		DatumGetBool(OidFunctionCall1Coll(function, collation,
										  ObjectIdGetDatum(entry->btree_opintype)));
}

/*
 * Does the assignment leave the column as it is in a row that collides in
 * this column?
 */
static bool
is_column_kept(const TargetEntry *entry)
{
	const Var  *var = (Var *) entry->expr;

	return IsA(var, Var) && var->varattno == entry->resno &&
		(var->varno == REMOTE_CONFLICT_TABLE ||
		 has_one_image(var->vartype, var->varcollid));
}

static bool
is_key_kept(const OnConflictExpr *clause)
{
	Bitmapset  *key = NULL;
	ListCell   *cell;

	pull_varattnos((Node *) clause->arbiterElems, REMOTE_CONFLICT_TABLE, &key);
	foreach(cell, clause->onConflictSet)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (bms_is_member(entry->resno - FirstLowInvalidHeapAttributeNumber,
						  key) && !is_column_kept(entry))
			return false;
	}
	return true;
}

/* ---- all of it ---- */

RemoteConflict *
remote_conflict_create(const OnConflictExpr *clause, Oid parent, Relation rel)
{
	FdwTableOptions *options = table_cache_options(RelationGetRelid(rel));
	RemoteConflict *conflict = palloc0(sizeof(RemoteConflict));
	Printer		printer = {parent, rel};
	StringInfoData buf;

	printer.scope.relids = bms_add_member(bms_make_singleton(REMOTE_CONFLICT_TABLE),
										  REMOTE_CONFLICT_EXCLUDED);
	printer.scope.extensions = options->extensions;
	printer.context.scope = &printer.scope;
	printer.context.relid = RelationGetRelid(rel);

	conflict->is_update = clause->action == ONCONFLICT_UPDATE;
	initStringInfo(&buf);
	remote_expr_begin(&printer.context);
	appendStringInfoString(&buf, " ON CONFLICT");
	append_target(&buf, &printer, clause);
	if (conflict->is_update)
	{
		check_partition_key(&printer, clause);
		append_update(&buf, &printer, clause);
		conflict->key = make_key(&printer, clause);
		conflict->nkeys = list_length(clause->arbiterElems);
		conflict->is_key_fixed = is_key_kept(clause);
	}
	else
		appendStringInfoString(&buf, " DO NOTHING");
	remote_expr_end(&printer.context);
	conflict->text = buf.data;
	conflict->params = printer.context.params;
	return conflict;
}
