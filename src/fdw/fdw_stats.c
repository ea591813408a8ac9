/*-------------------------------------------------------------------------
 *
 * fdw_stats.c
 *	  ANALYZE of a foreign table with the statistics that the shard has.
 *
 * With option import_stats nothing is sampled: what the shard's own ANALYZE
 * has found is taken over.  PostgreSQL has an interface for this from 19 on;
 * before, the function here is never called and the rows are sampled.
 *
 * Where the shard's statistics do not cover what is wanted, as it was never
 * analyzed, or the statistics are of a kind that is not shown there, the
 * caller is told to sample after all; nothing has been changed by then.
 *
 * Statistics of ranges are left out: servers before 17 do not show them.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "fdw/fdw_handler.h"
#include "fdw/remote_sql.h"
#include "fdw/table_cache.h"
#include "txn/coordinator.h"

/* The columns of pg_stats after the name, and the types they are taken as. */
static const struct
{
	const char *name;
	Oid			type;
}			stats_columns[COMPAT_STATS_COLUMNS] = {
	{"null_frac", FLOAT4OID},
	{"avg_width", INT4OID},
	{"n_distinct", FLOAT4OID},
	{"most_common_vals", TEXTOID},
	{"most_common_freqs", FLOAT4ARRAYOID},
	{"histogram_bounds", TEXTOID},
	{"correlation", FLOAT4OID},
	{"most_common_elems", TEXTOID},
	{"most_common_elem_freqs", FLOAT4ARRAYOID},
	{"elem_count_histogram", FLOAT4ARRAYOID}
};

static RemoteRequest *
queue_text(Relation relation, const char *sql)
{
	RemoteQuery query = {0};
	TxnBranch  *branch;
	RemoteRequest *request;

	branch = coordinator_get_branch(relation->rd_rel->relowner,
									GetForeignServerIdByRelId(RelationGetRelid(relation)));
	query.sql = sql;
	request = branch_queue(branch, &query, BRANCH_USE_ALONE,
						   coordinator_next_statement(),
						   GetCurrentTransactionNestLevel());
	branch_flush(branch);
	return request;
}

static char *
make_stats_sql(Relation relation)
{
	StringInfoData sql;
	StringInfoData name;
	int			column;

	initStringInfo(&name);
	remote_sql_relation(&name, relation);
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT s.attname");
	for (column = 0; column < COMPAT_STATS_COLUMNS; column++)
		appendStringInfo(&sql, ", s.%s", stats_columns[column].name);
	appendStringInfo(&sql,
					 " FROM pg_catalog.pg_stats s, pg_catalog.pg_class c,"
					 " pg_catalog.pg_namespace n"
					 " WHERE c.oid = %s::regclass AND n.oid = c.relnamespace"
					 " AND s.schemaname = n.nspname AND s.tablename = c.relname"
					 " AND s.inherited = (c.relkind = 'p')",
					 quote_literal_cstr(name.data));
	return sql.data;
}

static NullableDatum
read_value(const RemoteResult *result, int row, int col, Oid type)
{
	NullableDatum value = {0, true};
	Oid			input;
	Oid			ioparam;

	if (remote_result_is_null(result, row, col))
		return value;
	getTypeInputInfo(type, &input, &ioparam);
	value.value = OidInputFunctionCall(input,
									   pstrdup(remote_result_value(result, row,
																   col)),
									   ioparam, -1);
	value.isnull = false;
	return value;
}

/* The row with a column's statistics, or -1. */
static int
find_row(const RemoteResult *stats, Oid relid, AttrNumber attnum)
{
	const char *name = table_cache_column_name(relid, attnum);
	int			row;

	for (row = 0; row < remote_result_nrows(stats); row++)
	{
		if (strcmp(remote_result_value(stats, row, 0), name) == 0)
			return row;
	}
	return -1;
}

static bool
is_wanted(Form_pg_attribute attr, List *va_cols)
{
	ListCell   *cell;

	if (attr->attisdropped || attr->attgenerated != '\0')
		return false;
	if (va_cols == NIL)
		return true;
	foreach(cell, va_cols)
	{
		if (strcmp(strVal(lfirst(cell)), NameStr(attr->attname)) == 0)
			return true;
	}
	return false;
}

/* Does the shard know of all that is wanted? */
static bool
is_covered(Relation relation, List *va_cols, const RemoteResult *size,
		   const RemoteResult *stats)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			col;

	if (remote_result_nrows(size) != 1 || remote_result_is_null(size, 0, 1) ||
		remote_result_is_null(size, 0, 2) ||
		strtod(remote_result_value(size, 0, 1), NULL) < 0)
		return false;
	for (col = 0; col < desc->natts; col++)
	{
		if (is_wanted(TupleDescAttr(desc, col), va_cols) &&
			find_row(stats, RelationGetRelid(relation), col + 1) < 0)
			return false;
	}
	return true;
}

static bool
import_column(Relation relation, AttrNumber attnum, const RemoteResult *stats)
{
	NullableDatum values[COMPAT_STATS_COLUMNS];
	int			row = find_row(stats, RelationGetRelid(relation), attnum);
	int			col;

	for (col = 0; col < COMPAT_STATS_COLUMNS; col++)
		values[col] = read_value(stats, row, col + 1, stats_columns[col].type);
	return compat_import_attribute_statistics(relation, attnum, values);
}

static bool
import_all(Relation relation, List *va_cols, const RemoteResult *size,
		   const RemoteResult *stats)
{
	TupleDesc	desc = RelationGetDescr(relation);
	NullableDatum pages = read_value(size, 0, 0, INT4OID);
	NullableDatum tuples = read_value(size, 0, 1, FLOAT4OID);
	int			col;

	for (col = 0; col < desc->natts; col++)
	{
		if (is_wanted(TupleDescAttr(desc, col), va_cols) &&
			!import_column(relation, col + 1, stats))
			return false;
	}
	return compat_import_relation_statistics(relation, &pages, &tuples);
}

bool
shardImportForeignStatistics(Relation relation, List *va_cols, int elevel)
{
	StringInfoData size_sql;
	RemoteRequest *size;
	RemoteRequest *stats;
	bool		is_done;

	if (!table_cache_options(RelationGetRelid(relation))->imports_stats ||
		RelationGetStatExtList(relation) != NIL)
		return false;
	initStringInfo(&size_sql);
	remote_sql_analyze_size(&size_sql, relation);
	size = queue_text(relation, size_sql.data);
	stats = queue_text(relation, make_stats_sql(relation));
	is_done = is_covered(relation, va_cols, remote_request_finish(size),
						 remote_request_finish(stats)) &&
		import_all(relation, va_cols, remote_request_result(size),
				   remote_request_result(stats));
	remote_request_release(size);
	remote_request_release(stats);
	ereport(elevel,
			errmsg(is_done ? "\"%s\": statistics taken over from the server" :
				   "\"%s\": the server has no statistics to take over",
				   RelationGetRelationName(relation)));
	return is_done;
}
