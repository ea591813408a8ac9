/*-------------------------------------------------------------------------
 *
 * fdw_import.c
 *	  IMPORT FOREIGN SCHEMA.
 *
 * One query lists the columns of all tables wanted, from which the commands
 * for core are written.  Types and expressions are printed by the shard; its
 * session has only pg_catalog in the search path, so what is not built in
 * comes with its schema, and must exist here under the same name.
 *
 * Every column gets the option column_name, so that renaming it here later
 * does no harm.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"

#include "fdw/fdw_handler.h"
#include "txn/coordinator.h"

typedef struct ImportOptions
{
	bool		with_collations;
	bool		with_defaults;
	bool		with_generated;
	bool		with_not_null;
} ImportOptions;

/* columns of the query */
enum ImportColumn
{
	IMPORT_TABLE,
	IMPORT_COLUMN,				/* NULL: the table has none */
	IMPORT_TYPE,
	IMPORT_NOT_NULL,
	IMPORT_GENERATED,			/* "t" or "f" */
	IMPORT_EXPRESSION,			/* of a default or a generated column */
	IMPORT_COLLATION_SCHEMA,	/* both NULL for the collation of the type */
	IMPORT_COLLATION
};

static const char *const import_query =
"SELECT c.relname, a.attname,"
" pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,"
" a.attgenerated <> '', pg_catalog.pg_get_expr(d.adbin, d.adrelid),"
" cn.nspname, co.collname"
" FROM pg_catalog.pg_class c"
" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
" LEFT JOIN pg_catalog.pg_attribute a"
" ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
" LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
" LEFT JOIN pg_catalog.pg_attrdef d"
" ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
" LEFT JOIN pg_catalog.pg_collation co"
" ON co.oid = a.attcollation AND a.attcollation <> t.typcollation"
" LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace"
" WHERE n.nspname = $1 AND c.relkind IN ('r', 'v', 'f', 'm', 'p')";

static void
read_options(const ImportForeignSchemaStmt *stmt, ImportOptions *options)
{
	ListCell   *lc;

	options->with_collations = true;
	options->with_defaults = false;
	options->with_generated = true;
	options->with_not_null = true;
	foreach(lc, stmt->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "import_collate") == 0)
			options->with_collations = defGetBoolean(def);
		else if (strcmp(def->defname, "import_default") == 0)
			options->with_defaults = defGetBoolean(def);
		else if (strcmp(def->defname, "import_generated") == 0)
			options->with_generated = defGetBoolean(def);
		else if (strcmp(def->defname, "import_not_null") == 0)
			options->with_not_null = defGetBoolean(def);
		else
			ereport(ERROR,
					errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					errmsg("invalid option \"%s\"", def->defname),
					errhint("Valid options are import_collate, import_default, import_generated and import_not_null."));
	}
}

/* ---- asking ---- */

/*
 * Runs a query with the schema's name as its parameter.  The request is the
 * caller's to release.
 */
static RemoteRequest *
run_query(const ImportForeignSchemaStmt *stmt, Oid serverid, const char *sql)
{
	TxnBranch  *branch = coordinator_get_branch(GetUserId(), serverid);
	RemoteQuery query = {0};
	const char *value = stmt->remote_schema;
	Oid			type = NAMEOID;
	RemoteRequest *request;

	query.sql = sql;
	query.nparams = 1;
	query.param_types = &type;
	query.param_values = &value;
	request = branch_queue(branch, &query, BRANCH_USE_ALONE,
						   coordinator_next_statement(),
						   GetCurrentTransactionNestLevel());
	(void) remote_request_finish(request);
	return request;
}

static void
check_schema_exists(const ImportForeignSchemaStmt *stmt,
					const ForeignServer *server)
{
	RemoteRequest *request;
	bool		exists;

	request = run_query(stmt, server->serverid,
						"SELECT 1 FROM pg_catalog.pg_namespace"
						" WHERE nspname = $1");
	exists = remote_result_nrows(remote_request_result(request)) > 0;
	remote_request_release(request);
	if (!exists)
		ereport(ERROR,
				errcode(ERRCODE_FDW_SCHEMA_NOT_FOUND),
				errmsg("schema \"%s\" is not present on foreign server \"%s\"",
					   stmt->remote_schema, server->servername));
}

/*
 * Partitions are imported only if they are named: their parent stands for
 * them.
 */
static char *
build_query(const ImportForeignSchemaStmt *stmt)
{
	StringInfoData sql;
	const char *separator = "";
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfoString(&sql, import_query);
	if (stmt->list_type != FDW_IMPORT_SCHEMA_LIMIT_TO)
		appendStringInfoString(&sql, " AND NOT c.relispartition");
	if (stmt->list_type != FDW_IMPORT_SCHEMA_ALL)
	{
		appendStringInfo(&sql, " AND c.relname %sIN (",
						 stmt->list_type == FDW_IMPORT_SCHEMA_EXCEPT ?
						 "NOT " : "");
		foreach(lc, stmt->table_list)
		{
			appendStringInfo(&sql, "%s%s", separator,
							 quote_literal_cstr(lfirst_node(RangeVar, lc)->relname));
			separator = ", ";
		}
		appendStringInfoChar(&sql, ')');
	}
	appendStringInfoString(&sql, " ORDER BY c.relname, a.attnum");
	return sql.data;
}

/* ---- writing commands ---- */

/*
 * The value of a column of the result, NULL for NULL.
 */
static const char *
get_value(const RemoteResult *result, int row, enum ImportColumn col)
{
	return remote_result_is_null(result, row, col) ? NULL :
		remote_result_value(result, row, col);
}

static bool
get_bool(const RemoteResult *result, int row, enum ImportColumn col)
{
	const char *value = get_value(result, row, col);

	return value != NULL && value[0] == 't';
}

static void
append_column(StringInfo command, const RemoteResult *result, int row,
			  const ImportOptions *options)
{
	const char *name = get_value(result, row, IMPORT_COLUMN);
	const char *collation = get_value(result, row, IMPORT_COLLATION);
	const char *expression = get_value(result, row, IMPORT_EXPRESSION);
	bool		is_generated = get_bool(result, row, IMPORT_GENERATED);

	appendStringInfo(command, "  %s %s OPTIONS (column_name %s)",
					 quote_identifier(name),
					 get_value(result, row, IMPORT_TYPE),
					 quote_literal_cstr(name));
	if (options->with_collations && collation)
		appendStringInfo(command, " COLLATE %s",
						 quote_qualified_identifier(get_value(result, row,
															  IMPORT_COLLATION_SCHEMA),
													collation));
	if (options->with_generated && expression && is_generated)
		appendStringInfo(command, " GENERATED ALWAYS AS (%s) STORED",
						 expression);
	if (options->with_defaults && expression && !is_generated)
		appendStringInfo(command, " DEFAULT %s", expression);
	if (options->with_not_null && get_bool(result, row, IMPORT_NOT_NULL))
		appendStringInfoString(command, " NOT NULL");
}

/*
 * Writes the command for the table whose columns begin at *row, and moves
 * *row behind them.
 */
static char *
build_command(const ImportForeignSchemaStmt *stmt,
			  const ForeignServer *server, const ImportOptions *options,
			  const RemoteResult *result, int *row)
{
	StringInfoData command;
	char	   *table = pstrdup(get_value(result, *row, IMPORT_TABLE));
	const char *separator = "\n";

	initStringInfo(&command);
	appendStringInfo(&command, "CREATE FOREIGN TABLE %s (",
					 quote_identifier(table));
	while (*row < remote_result_nrows(result) &&
		   strcmp(get_value(result, *row, IMPORT_TABLE), table) == 0)
	{
		if (get_value(result, *row, IMPORT_COLUMN))
		{
			appendStringInfoString(&command, separator);
			append_column(&command, result, *row, options);
			separator = ",\n";
		}
		(*row)++;
	}
	appendStringInfo(&command,
					 "\n) SERVER %s\nOPTIONS (schema_name %s, table_name %s);",
					 quote_identifier(server->servername),
					 quote_literal_cstr(stmt->remote_schema),
					 quote_literal_cstr(table));
	pfree(table);
	return command.data;
}

List *
shardImportForeignSchema(ImportForeignSchemaStmt *stmt, Oid serverOid)
{
	ForeignServer *server = GetForeignServer(serverOid);
	ImportOptions options;
	RemoteRequest *request;
	const RemoteResult *result;
	List	   *commands = NIL;
	int			row = 0;

	read_options(stmt, &options);
	request = run_query(stmt, serverOid, build_query(stmt));
	result = remote_request_result(request);
	if (remote_result_nrows(result) == 0)
		check_schema_exists(stmt, server);
	while (row < remote_result_nrows(result))
		commands = lappend(commands, build_command(stmt, server, &options,
												   result, &row));
	remote_request_release(request);
	return commands;
}
