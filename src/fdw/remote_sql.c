/*-------------------------------------------------------------------------
 *
 * remote_sql.c
 *	  The text of the statements sent to shards.
 *
 * The same local statement gives the same text for every shard as far as the
 * remote names agree, so that prepared statements are found again.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "fdw/fdw_plan.h"
#include "fdw/plan_sample.h"
#include "fdw/remote_sql.h"
#include "fdw/shippable.h"
#include "fdw/table_cache.h"

/* ---- names ---- */

void
remote_sql_relation(StringInfo buf, Relation rel)
{
	appendStringInfoString(buf,
						   table_cache_relation_name(RelationGetRelid(rel)));
}

void
remote_sql_column(StringInfo buf, Oid relid, AttrNumber attnum)
{
	if (attnum == SHARD_ROW_CTID_ATTNO)
		appendStringInfoString(buf, "ctid");
	else if (attnum == SHARD_ROW_TABLEOID_ATTNO)
		appendStringInfoString(buf, "tableoid");
	else
		appendStringInfoString(buf,
							   quote_identifier(table_cache_column_name(relid,
																		attnum)));
}

/* a, b, ..., each behind the prefix, which may be empty */
static void
append_columns(StringInfo buf, Relation rel, const char *prefix, List *attrs)
{
	const char *separator = "";
	ListCell   *cell;

	foreach(cell, attrs)
	{
		appendStringInfo(buf, "%s%s", separator, prefix);
		remote_sql_column(buf, RelationGetRelid(rel), lfirst_int(cell));
		separator = ", ";
	}
}

static void
append_returning(StringInfo buf, Relation rel, List *attrs)
{
	if (attrs == NIL)
		return;
	appendStringInfoString(buf, " RETURNING ");
	append_columns(buf, rel, "", attrs);
}

static bool
is_used(Bitmapset *attrs_used, int attnum)
{
	return bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber,
						 attrs_used);
}

/* A row that is to show any of these needs a header, see tuple_io.c. */
static bool
uses_header(Bitmapset *attrs_used)
{
	return is_used(attrs_used, SHARD_ROW_TABLEOID_ATTNO) ||
		is_used(attrs_used, MaxTransactionIdAttributeNumber) ||
		is_used(attrs_used, MinCommandIdAttributeNumber) ||
		is_used(attrs_used, MaxCommandIdAttributeNumber);
}

List *
remote_sql_retrieved_attrs(Relation rel, Bitmapset *attrs_used)
{
	TupleDesc	desc = RelationGetDescr(rel);
	bool		is_whole_row = is_used(attrs_used, 0);
	List	   *attrs = NIL;
	int			attnum;

	for (attnum = 1; attnum <= desc->natts; attnum++)
	{
		if (!TupleDescAttr(desc, attnum - 1)->attisdropped &&
			(is_whole_row || is_used(attrs_used, attnum)))
			attrs = lappend_int(attrs, attnum);
	}
	if (is_used(attrs_used, SHARD_ROW_CTID_ATTNO))
		attrs = lappend_int(attrs, SHARD_ROW_CTID_ATTNO);
	if (uses_header(attrs_used))
		attrs = lappend_int(attrs, SHARD_ROW_TABLEOID_ATTNO);
	return attrs;
}

/* ---- with expressions ---- */

static void
append_where(StringInfo buf, RemoteExprContext *context, List *conds)
{
	if (conds == NIL)
		return;
	appendStringInfoString(buf, " WHERE ");
	remote_expr_append_conds(buf, context, conds);
}

void
remote_sql_select(StringInfo buf, RemoteExprContext *context, Relation rel,
				  List *retrieved_attrs, List *conds)
{
	appendStringInfoString(buf, "SELECT ");
	if (retrieved_attrs == NIL)
		appendStringInfoString(buf, "NULL");
	else
		append_columns(buf, rel, "r1.", retrieved_attrs);
	appendStringInfoString(buf, " FROM ");
	remote_sql_relation(buf, rel);
	appendStringInfoString(buf, " r1");
	plan_sample_append(buf, context,
					   bms_singleton_member(context->scope->relids));
	append_where(buf, context, conds);
}

void
remote_sql_lock(StringInfo buf, LockClauseStrength strength,
				LockWaitPolicy policy, int alias)
{
	static const char *const strengths[] = {
		[LCS_NONE] = NULL,
		[LCS_FORKEYSHARE] = " FOR KEY SHARE",
		[LCS_FORSHARE] = " FOR SHARE",
		[LCS_FORNOKEYUPDATE] = " FOR NO KEY UPDATE",
		[LCS_FORUPDATE] = " FOR UPDATE"
	};
	static const char *const policies[] = {
		[LockWaitBlock] = "",
		[LockWaitSkip] = " SKIP LOCKED",
		[LockWaitError] = " NOWAIT"
	};

	if (strength == LCS_NONE)
		return;
	appendStringInfoString(buf, strengths[strength]);
	if (alias != 0)
		appendStringInfo(buf, " OF r%d", alias);
	appendStringInfoString(buf, policies[policy]);
}

static void
append_assignments(StringInfo buf, RemoteExprContext *context,
				   const RemoteDirect *direct)
{
	const char *separator = "";
	ListCell   *target;
	ListCell   *attr;

	appendStringInfoString(buf, " SET ");
	forboth(target, direct->targets, attr, direct->target_attrs)
	{
		appendStringInfoString(buf, separator);
		remote_sql_column(buf, RelationGetRelid(direct->rel), lfirst_int(attr));
		appendStringInfoString(buf, " = ");
		remote_expr_append_value(buf, context, lfirst(target));
		separator = ", ";
	}
}

void
remote_sql_direct(StringInfo buf, RemoteExprContext *context,
				  const RemoteDirect *direct)
{
	bool		is_update = direct->operation == CMD_UPDATE;

	appendStringInfoString(buf, is_update ? "UPDATE " : "DELETE FROM ");
	remote_sql_relation(buf, direct->rel);
	appendStringInfoString(buf, " r1");
	if (is_update)
		append_assignments(buf, context, direct);
	append_where(buf, context, direct->conds);
	if (direct->has_returning && direct->returning_attrs == NIL)
		appendStringInfoString(buf, " RETURNING NULL");
	append_returning(buf, direct->rel, direct->returning_attrs);
}

/* ---- row by row ---- */

static void
append_rows(StringInfo buf, const RemoteInsert *insert)
{
	int			ncolumns = list_length(insert->target_attrs);
	int			number = insert->conflict ?
	list_length(insert->conflict->params) : 0;
	int			row;
	int			col;

	if (ncolumns == 0)
	{
		appendStringInfoString(buf, " DEFAULT VALUES");
		return;
	}
	appendStringInfoChar(buf, '(');
	append_columns(buf, insert->rel, "", insert->target_attrs);
	appendStringInfoString(buf, ") VALUES ");
	for (row = 0; row < insert->nrows; row++)
	{
		appendStringInfoString(buf, row > 0 ? ", (" : "(");
		for (col = 0; col < ncolumns; col++)
			appendStringInfo(buf, "%s$%d", col > 0 ? ", " : "", ++number);
		appendStringInfoChar(buf, ')');
	}
}

void
remote_sql_insert(StringInfo buf, const RemoteInsert *insert)
{
	const RemoteConflict *conflict = insert->conflict;

	appendStringInfoString(buf, "INSERT INTO ");
	remote_sql_relation(buf, insert->rel);
	if (conflict && conflict->is_update)
		appendStringInfoString(buf, " AS r1");
	append_rows(buf, insert);
	if (conflict)
		appendStringInfoString(buf, conflict->text);
	append_returning(buf, insert->rel, insert->returning_attrs);
	if (insert->returns_key)
		appendStringInfo(buf, "%s%s",
						 insert->returning_attrs ? ", " : " RETURNING ",
						 conflict->key);
}

void
remote_sql_copy(StringInfo buf, Relation rel, List *target_attrs,
				bool is_binary)
{
	appendStringInfoString(buf, "COPY ");
	remote_sql_relation(buf, rel);
	appendStringInfoChar(buf, '(');
	append_columns(buf, rel, "", target_attrs);
	appendStringInfo(buf, ") FROM STDIN%s",
					 is_binary ? " (FORMAT binary)" : "");
}

/* The names and types of columns, as rows of a VALUES list. */
static void
append_column_types(StringInfo buf, Relation rel, List *attrs)
{
	TupleDesc	desc = RelationGetDescr(rel);
	const char *separator = "";
	ListCell   *cell;

	foreach(cell, attrs)
	{
		AttrNumber	attnum = lfirst_int(cell);
		const char *name = table_cache_column_name(RelationGetRelid(rel),
												   attnum);

		appendStringInfo(buf, "%s(%s, %u)", separator, quote_literal_cstr(name),
						 TupleDescAttr(desc, attnum - 1)->atttypid);
		separator = ", ";
	}
}

/*
 * Rules, views and row security know only INSERT, and COPY puts values into
 * identity columns to which INSERT refuses them.
 */
void
remote_sql_copy_check(StringInfo buf, Relation rel, List *target_attrs,
					  bool is_binary)
{
	StringInfoData name;

	initStringInfo(&name);
	remote_sql_relation(&name, rel);
	appendStringInfoString(buf,
						   "SELECT c.relkind IN ('r', 'p') AND NOT c.relhasrules"
						   " AND NOT row_security_active(c.oid) AND NOT EXISTS"
						   " (SELECT 1 FROM (VALUES ");
	append_column_types(buf, rel, target_attrs);
	appendStringInfo(buf,
					 ") v (name, type) LEFT JOIN pg_attribute a"
					 " ON a.attrelid = c.oid AND a.attname = v.name"
					 " WHERE a.attname IS NULL OR a.attidentity = 'a'%s)"
					 " FROM pg_class c WHERE c.oid = to_regclass(%s)",
					 is_binary ? " OR a.atttypid <> v.type::oid" : "",
					 quote_literal_cstr(name.data));
	pfree(name.data);
}

/* WHERE for the row whose identity are the two parameters after the given */
static void
append_row_identity(StringInfo buf, int nparams)
{
	appendStringInfo(buf, " WHERE ctid = $%d AND tableoid = $%d",
					 nparams + 1, nparams + 2);
}

/*
 * Assigns a column to itself: an UPDATE of generated columns alone has
 * nothing to send, but the shard must compute them again and run triggers.
 */
static void
append_self_assignment(StringInfo buf, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			attnum;

	for (attnum = 1; attnum <= desc->natts; attnum++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, attnum - 1);

		if (attr->attisdropped || attr->attgenerated != '\0')
			continue;
		remote_sql_column(buf, RelationGetRelid(rel), attnum);
		appendStringInfoString(buf, " = ");
		remote_sql_column(buf, RelationGetRelid(rel), attnum);
		return;
	}
	elog(ERROR, "foreign table \"%s\" has no column that can be updated",
		 RelationGetRelationName(rel));
}

void
remote_sql_update(StringInfo buf, Relation rel, List *target_attrs,
				  List *returning_attrs)
{
	int			number = 0;
	ListCell   *cell;

	appendStringInfoString(buf, "UPDATE ");
	remote_sql_relation(buf, rel);
	appendStringInfoString(buf, " SET ");
	if (target_attrs == NIL)
		append_self_assignment(buf, rel);
	foreach(cell, target_attrs)
	{
		if (number > 0)
			appendStringInfoString(buf, ", ");
		remote_sql_column(buf, RelationGetRelid(rel), lfirst_int(cell));
		appendStringInfo(buf, " = $%d", ++number);
	}
	append_row_identity(buf, number);
	append_returning(buf, rel, returning_attrs);
}

void
remote_sql_delete(StringInfo buf, Relation rel, List *returning_attrs)
{
	appendStringInfoString(buf, "DELETE FROM ");
	remote_sql_relation(buf, rel);
	append_row_identity(buf, 0);
	append_returning(buf, rel, returning_attrs);
}

/* ---- many rows by their identity ---- */

bool
remote_sql_can_change_many(Relation rel, List *target_attrs)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ListCell   *cell;

	foreach(cell, target_attrs)
	{
		Oid			type = TupleDescAttr(desc, lfirst_int(cell) - 1)->atttypid;

		if (!shippable_is_builtin(type))
			return false;
	}
	return true;
}

/*
 * (VALUES ($1::type, ...), ($4, ...)) v(c1, ...): the columns, ctid and
 * tableoid of each row.  The types of the first row are those of all.
 */
static void
append_value_rows(StringInfo buf, Relation rel, List *attrs, int nrows)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			nattrs = list_length(attrs);
	int			number = 0;
	int			row;
	int			col;

	appendStringInfoString(buf, "(VALUES ");
	for (row = 0; row < nrows; row++)
	{
		appendStringInfoString(buf, row > 0 ? ", (" : "(");
		for (col = 0; col < nattrs; col++)
		{
			AttrNumber	attnum = list_nth_int(attrs, col);

			appendStringInfo(buf, "$%d", ++number);
			if (row == 0)
				appendStringInfo(buf, "::%s",
								 format_type_be_qualified(TupleDescAttr(desc, attnum - 1)->atttypid));
			appendStringInfoString(buf, ", ");
		}
		appendStringInfo(buf, row == 0 ? "$%d::tid, $%d::oid)" : "$%d, $%d)",
						 number + 1, number + 2);
		number += 2;
	}
	appendStringInfoString(buf, ") v(");
	for (col = 1; col <= nattrs + 2; col++)
		appendStringInfo(buf, "%sc%d", col > 1 ? ", " : "", col);
	appendStringInfo(buf, ") WHERE r1.ctid = v.c%d AND r1.tableoid = v.c%d",
					 nattrs + 1, nattrs + 2);
}

void
remote_sql_update_many(StringInfo buf, Relation rel, List *target_attrs,
					   int nrows)
{
	int			number = 0;
	ListCell   *cell;

	appendStringInfoString(buf, "UPDATE ");
	remote_sql_relation(buf, rel);
	appendStringInfoString(buf, " r1 SET ");
	foreach(cell, target_attrs)
	{
		if (number > 0)
			appendStringInfoString(buf, ", ");
		remote_sql_column(buf, RelationGetRelid(rel), lfirst_int(cell));
		appendStringInfo(buf, " = v.c%d", ++number);
	}
	appendStringInfoString(buf, " FROM ");
	append_value_rows(buf, rel, target_attrs, nrows);
}

void
remote_sql_delete_many(StringInfo buf, Relation rel, int nrows)
{
	appendStringInfoString(buf, "DELETE FROM ");
	remote_sql_relation(buf, rel);
	appendStringInfoString(buf, " r1 USING ");
	append_value_rows(buf, rel, NIL, nrows);
}

/* ---- whole tables ---- */

void
remote_sql_truncate(StringInfo buf, List *rels, bool is_cascade,
					bool restarts_sequences)
{
	const char *separator = "";
	ListCell   *cell;

	appendStringInfoString(buf, "TRUNCATE ");
	foreach(cell, rels)
	{
		appendStringInfoString(buf, separator);
		remote_sql_relation(buf, lfirst(cell));
		separator = ", ";
	}
	appendStringInfo(buf, " %s IDENTITY %s",
					 restarts_sequences ? "RESTART" : "CONTINUE",
					 is_cascade ? "CASCADE" : "RESTRICT");
}

/*
 * A partitioned table has the size of its partitions.  Pages are counted in
 * the local block size, which the shard's need not be.
 */
void
remote_sql_analyze_size(StringInfo buf, Relation rel)
{
	StringInfoData name;
	char	   *literal;

	initStringInfo(&name);
	remote_sql_relation(&name, rel);
	literal = quote_literal_cstr(name.data);
	appendStringInfo(buf,
					 "SELECT coalesce((sum(pg_relation_size(c.oid)) + %d) / %d, 0)::int8,"
					 " CASE WHEN min(c.reltuples) >= 0 THEN sum(c.reltuples) ELSE -1 END,"
					 " (SELECT t.relkind FROM pg_class t WHERE t.oid = %s::regclass)"
					 " FROM pg_class c WHERE c.relkind <> 'p' AND (c.oid = %s::regclass"
					 " OR c.oid IN (SELECT p.relid FROM pg_partition_tree(%s::regclass) p))",
					 BLCKSZ - 1, BLCKSZ, literal, literal, literal);
	pfree(literal);
	pfree(name.data);
}

/*
 * random() is what every kind of remote relation allows, and like BERNOULLI
 * it reads the table once, so it is the automatic choice.
 */
static void
append_sample(StringInfo buf, FdwSampling sampling, double fraction)
{
	switch (sampling)
	{
		case FDW_SAMPLING_OFF:
			break;
		case FDW_SAMPLING_AUTO:
		case FDW_SAMPLING_RANDOM:
			appendStringInfo(buf, " WHERE random() < %.12f", fraction);
			break;
		case FDW_SAMPLING_SYSTEM:
			appendStringInfo(buf, " TABLESAMPLE SYSTEM (%.10f)",
							 100.0 * fraction);
			break;
		case FDW_SAMPLING_BERNOULLI:
			appendStringInfo(buf, " TABLESAMPLE BERNOULLI (%.10f)",
							 100.0 * fraction);
			break;
	}
}

void
remote_sql_analyze_rows(StringInfo buf, Relation rel, double fraction,
						List **retrieved_attrs)
{
	Bitmapset  *whole_row;

	whole_row = bms_make_singleton(0 - FirstLowInvalidHeapAttributeNumber);
	*retrieved_attrs = remote_sql_retrieved_attrs(rel, whole_row);
	appendStringInfoString(buf, "SELECT ");
	if (*retrieved_attrs == NIL)
		appendStringInfoString(buf, "NULL");
	else
		append_columns(buf, rel, "", *retrieved_attrs);
	appendStringInfoString(buf, " FROM ");
	remote_sql_relation(buf, rel);
	if (fraction < 1.0)
	{
		FdwTableOptions *options;

		options = table_cache_options(RelationGetRelid(rel));
		append_sample(buf, options->sampling, fraction);
	}
}
