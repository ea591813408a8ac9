/*-------------------------------------------------------------------------
 *
 * tuple_io.c
 *	  Remote rows into local tuples, local values into parameters.
 *
 * Reading: a row that carries the remote tableoid must become a heap tuple,
 * since only such a tuple has a place for it (its xmin, see fdw_plan.h).  All
 * others stay arrays of values in the slot, whatever the slot's type: that
 * saves forming a tuple that is taken apart again by the next node.  A
 * serialized transition value is made of an array of numbers.
 *
 * Writing: the shard's session runs with settings of its own (ISO dates and
 * so on), so output functions whose text depends on settings run under the
 * same ones here.  Types known to be free of that are printed without the
 * detour.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/settings.h"
#include "fdw/binary_value.h"
#include "fdw/fdw_plan.h"
#include "fdw/partial_agg.h"
#include "fdw/tuple_io.h"

/* One column of the remote result. */
typedef struct ReaderColumn
{
	AttrNumber	attnum;			/* 1... or one of the row identity */
	FmgrInfo	input;			/* set up by prepare_text() */
	Oid			ioparam;
	int32		typmod;
	BinaryInput *binary;		/* NULL where values must come as text */
	Node	   *aggref;			/* of which the column has the ingredients,
								 * see partial_agg.h */
} ReaderColumn;

struct TupleReader
{
	TupleDesc	tupdesc;
	Relation	rel;
	ForeignScanState *scan;
	int			ncolumns;
	ReaderColumn *columns;
	bool		has_tableoid;	/* so a heap tuple is needed */
	bool		keeps_identity; /* its xmin is the tableoid, not 0 */
	bool		wants_binary;
	bool		is_binary;		/* the result being read is */
	bool		is_text_ready;	/* prepare_text() was called */
	MemoryContext context;
	Datum	   *values;			/* for tuples that are formed */
	bool	   *nulls;
	ItemPointerData ctid;		/* row identity of the row read last */
	Oid			tableoid;
	int			current;		/* column being read, for messages */
};

struct ParamWriter
{
	int			nparams;
	Oid		   *types;
	FmgrInfo   *output;
	const char **values;
	bool		needs_settings;

	/* of a scan's parameters */
	List	   *exprs;			/* ExprStates */
	ExprContext *econtext;
	Datum	   *datums;
	bool	   *nulls;
};

/* ---- names for messages ---- */

/*
 * What fills an attribute of a scan: a column (the names are set), a whole
 * row (only the table is), or an expression.
 */
static void
name_scan_attribute(const TupleReader *reader, AttrNumber attnum,
					const char **table, const char **column)
{
	ForeignScan *plan = (ForeignScan *) reader->scan->ss.ps.plan;
	EState	   *estate = reader->scan->ss.ps.state;
	Index		rti = plan->scan.scanrelid;
	RangeTblEntry *rte;

	if (plan->fdw_scan_tlist != NIL)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, plan->fdw_scan_tlist,
										   attnum - 1);

		if (!IsA(entry->expr, Var))
			return;
		rti = ((Var *) entry->expr)->varno;
		attnum = ((Var *) entry->expr)->varattno;
	}
	if (rti == 0 || rti > estate->es_range_table_size)
		return;
	rte = exec_rt_fetch(rti, estate);
	*table = rte->eref->aliasname;
	if (attnum > 0 && attnum <= list_length(rte->eref->colnames))
		*column = strVal(list_nth(rte->eref->colnames, attnum - 1));
}

/*
 * Error context: which column is being converted.  No catalog is looked at.
 */
static void
report_column(void *arg)
{
	TupleReader *reader = arg;
	AttrNumber	attnum = reader->columns[reader->current].attnum;
	const char *table = NULL;
	const char *column = NULL;

	if (attnum == SHARD_ROW_CTID_ATTNO)
		column = "ctid";
	else if (attnum == SHARD_ROW_TABLEOID_ATTNO)
		column = "tableoid";
	if (reader->scan && attnum > 0)
		name_scan_attribute(reader, attnum, &table, &column);
	else if (reader->rel)
	{
		table = RelationGetRelationName(reader->rel);
		if (attnum > 0)
			column = NameStr(TupleDescAttr(reader->tupdesc, attnum - 1)->attname);
	}

	if (table && column)
		errcontext("column \"%s\" of foreign table \"%s\"", column, table);
	else if (table)
		errcontext("whole-row reference to foreign table \"%s\"", table);
	else
		errcontext("processing expression at position %d in select list",
				   attnum);
}

/* ---- rows ---- */

/* The aggregate whose ingredients come for an attribute, or NULL. */
static Node *
find_ingredients(const TupleReader *reader, AttrNumber attnum)
{
	ForeignScan *plan;
	Node	   *expr;

	if (reader->scan == NULL)
		return NULL;
	plan = (ForeignScan *) reader->scan->ss.ps.plan;
	if (plan->fdw_scan_tlist == NIL)
		return NULL;
	expr = (Node *) list_nth_node(TargetEntry, plan->fdw_scan_tlist,
								  attnum - 1)->expr;
	return partial_agg_has_ingredients(expr) ? expr : NULL;
}

/* The type in which the value of an attribute comes. */
static Oid
attribute_type(const TupleReader *reader, AttrNumber attnum, int32 *typmod)
{
	*typmod = -1;
	if (attnum == SHARD_ROW_CTID_ATTNO)
		return TIDOID;
	if (attnum == SHARD_ROW_TABLEOID_ATTNO)
		return OIDOID;
	if (attnum < 1 || attnum > reader->tupdesc->natts)
		elog(ERROR, "unexpected attribute number %d in a remote row", attnum);
	if (find_ingredients(reader, attnum))
		return NUMERICARRAYOID;
	*typmod = TupleDescAttr(reader->tupdesc, attnum - 1)->atttypmod;
	return TupleDescAttr(reader->tupdesc, attnum - 1)->atttypid;
}

/*
 * Looks up the input functions, which a reader of binary rows does not need.
 */
static void
prepare_text(TupleReader *reader)
{
	int			col;

	for (col = 0; col < reader->ncolumns; col++)
	{
		ReaderColumn *column = &reader->columns[col];
		Oid			type = attribute_type(reader, column->attnum,
										  &column->typmod);
		Oid			input;

		getTypeInputInfo(type, &input, &column->ioparam);
		fmgr_info_cxt(input, &column->input, reader->context);
	}
	reader->is_text_ready = true;
}

TupleReader *
tuple_reader_create(TupleDesc tupdesc, List *retrieved_attrs, Relation rel,
					ForeignScanState *scan)
{
	TupleReader *reader = palloc0(sizeof(TupleReader));
	ListCell   *lc;

	reader->tupdesc = tupdesc;
	reader->rel = rel;
	reader->scan = scan;
	reader->context = CurrentMemoryContext;
	reader->columns = palloc0(sizeof(ReaderColumn) *
							  Max(list_length(retrieved_attrs), 1));
	reader->values = palloc(sizeof(Datum) * Max(tupdesc->natts, 1));
	reader->nulls = palloc(sizeof(bool) * Max(tupdesc->natts, 1));
	foreach(lc, retrieved_attrs)
	{
		AttrNumber	attnum = lfirst_int(lc);
		ReaderColumn *column = &reader->columns[reader->ncolumns++];

		column->attnum = attnum;
		if (attnum > 0)
			column->aggref = find_ingredients(reader, attnum);
		if (attnum == SHARD_ROW_TABLEOID_ATTNO)
			reader->has_tableoid = true;
	}
	return reader;
}

void
tuple_reader_keep_identity(TupleReader *reader)
{
	reader->keeps_identity = true;
}

void
tuple_reader_set_binary(TupleReader *reader, bool allows_binary)
{
	int			col;

	reader->wants_binary = allows_binary && setting_binary_results &&
		reader->ncolumns > 0;
	for (col = 0; reader->wants_binary && col < reader->ncolumns; col++)
	{
		ReaderColumn *column = &reader->columns[col];
		int32		typmod;
		Oid			type = attribute_type(reader, column->attnum, &typmod);

		if (column->binary == NULL)
			column->binary = binary_input_create(type, typmod);
		if (column->binary == NULL)
			reader->wants_binary = false;
	}
}

bool
tuple_reader_wants_binary(const TupleReader *reader)
{
	return reader->wants_binary;
}

bool
tuple_reader_accept(TupleReader *reader, const RemoteResult *result,
					bool is_binary)
{
	int			col;

	reader->is_binary = is_binary;
	if (!is_binary || remote_result_nfields(result) != reader->ncolumns)
		return true;
	for (col = 0; col < reader->ncolumns; col++)
	{
		if (!binary_input_accept(reader->columns[col].binary,
								 remote_result_type(result, col)))
			return false;
	}
	return true;
}

/*
 * Converts one value; domains are checked by their input function, for NULL
 * too.
 */
static void
read_column(TupleReader *reader, const RemoteResult *result, int row, int col,
			Datum *values, bool *nulls)
{
	ReaderColumn *column = &reader->columns[col];
	int			length;
	char	   *input = remote_result_field(result, row, col, &length);
	bool		is_null = input == NULL;
	Datum		value;

	reader->current = col;
	if (reader->is_binary)
		value = binary_input_read(column->binary, input, length);
	else
		value = InputFunctionCall(&column->input, input, column->ioparam,
								  column->typmod);
	if (column->aggref && !is_null)
		value = partial_agg_serialize(column->aggref, value);
	if (column->attnum > 0)
	{
		values[column->attnum - 1] = value;
		nulls[column->attnum - 1] = is_null;
	}
	else if (is_null)
		return;
	else if (column->attnum == SHARD_ROW_CTID_ATTNO)
		reader->ctid = *(ItemPointer) DatumGetPointer(value);
	else
		reader->tableoid = DatumGetObjectId(value);
}

/*
 * Converts all of a row.  A statement without columns still has rows, in
 * which the shard sends one NULL.
 */
static void
read_row(TupleReader *reader, const RemoteResult *result, int row,
		 Datum *values, bool *nulls)
{
	ErrorContextCallback callback;
	int			col;

	if (reader->ncolumns > 0 &&
		remote_result_nfields(result) < reader->ncolumns)
		ereport(ERROR,
				errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("remote query returned %d columns where %d were expected",
					   remote_result_nfields(result), reader->ncolumns));

	if (!reader->is_binary && !reader->is_text_ready)
		prepare_text(reader);
	memset(nulls, true, sizeof(bool) * reader->tupdesc->natts);
	memset(values, 0, sizeof(Datum) * reader->tupdesc->natts);
	ItemPointerSetInvalid(&reader->ctid);
	reader->tableoid = InvalidOid;

	callback.callback = report_column;
	callback.arg = reader;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	for (col = 0; col < reader->ncolumns; col++)
		read_column(reader, result, row, col, values, nulls);
	error_context_stack = callback.previous;
}

void
tuple_reader_store(TupleReader *reader, const RemoteResult *result, int row,
				   TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	if (reader->has_tableoid)
	{
		HeapTuple	tuple = tuple_reader_form(reader, result, row);

		ExecForceStoreHeapTuple(tuple, slot, false);
		return;
	}
	read_row(reader, result, row, slot->tts_values, slot->tts_isnull);
	ExecStoreVirtualTuple(slot);
	slot->tts_tid = reader->ctid;
}

HeapTuple
tuple_reader_form(TupleReader *reader, const RemoteResult *result, int row)
{
	HeapTuple	tuple;

	read_row(reader, result, row, reader->values, reader->nulls);
	tuple = heap_form_tuple(reader->tupdesc, reader->values, reader->nulls);

	/*
	 * The header of a tuple just formed is that of a composite value, whose
	 * fields lie where xmin and the others are.
	 */
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetXmin(tuple->t_data, reader->keeps_identity ?
						   (TransactionId) reader->tableoid :
						   InvalidTransactionId);
	HeapTupleHeaderSetCmin(tuple->t_data, InvalidTransactionId);
	tuple->t_self = tuple->t_data->t_ctid = reader->ctid;
	return tuple;
}

/* ---- parameters ---- */

/*
 * May the text of a value of the type depend on the session's settings?
 */
static bool
is_output_fixed(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case NAMEOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case TIDOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NUMERICOID:
		case UUIDOID:
		case JSONOID:
		case JSONBOID:
			return true;
		default:
			return false;
	}
}

ParamWriter *
param_writer_create(int nparams, const Oid *types)
{
	ParamWriter *writer = palloc0(sizeof(ParamWriter));
	int			param;

	writer->nparams = nparams;
	writer->types = palloc0(sizeof(Oid) * Max(nparams, 1));
	writer->output = palloc0(sizeof(FmgrInfo) * Max(nparams, 1));
	writer->values = palloc0(sizeof(char *) * Max(nparams, 1));
	for (param = 0; param < nparams; param++)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(types[param], &output, &is_varlena);
		fmgr_info(output, &writer->output[param]);

		/* types of users have other oids on the shard: let it infer them */
		writer->types[param] = types[param] < FirstNormalObjectId ?
			types[param] : InvalidOid;
		if (!is_output_fixed(types[param]))
			writer->needs_settings = true;
	}
	return writer;
}

const Oid *
param_writer_types(const ParamWriter *writer)
{
	return writer->types;
}

/*
 * The settings under which a shard's session reads values.  With search_path
 * reduced to pg_catalog the reg* types print qualified names.
 */
static int
begin_settings(void)
{
	int			nest_level = NewGUCNestLevel();

	(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("intervalstyle", "postgres", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (extra_float_digits < 3)
		(void) set_config_option("extra_float_digits", "3", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	(void) set_config_option("search_path", "pg_catalog", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nest_level;
}

const char *const *
param_writer_print(ParamWriter *writer, const Datum *values, const bool *nulls)
{
	int			nest_level = -1;
	int			param;

	if (writer->needs_settings)
		nest_level = begin_settings();
	for (param = 0; param < writer->nparams; param++)
		writer->values[param] = nulls[param] ? NULL :
			OutputFunctionCall(&writer->output[param], values[param]);
	if (nest_level >= 0)
		AtEOXact_GUC(true, nest_level);
	return writer->values;
}

ParamWriter *
param_writer_create_for_scan(ForeignScanState *node, int nparams)
{
	List	   *exprs = list_copy(((ForeignScan *) node->ss.ps.plan)->fdw_exprs);
	Oid		   *types = palloc(sizeof(Oid) * Max(nparams, 1));
	ParamWriter *writer;
	ListCell   *lc;

	exprs = list_truncate(exprs, nparams);
	foreach(lc, exprs)
		types[foreach_current_index(lc)] = exprType(lfirst(lc));
	writer = param_writer_create(nparams, types);
	pfree(types);
	writer->exprs = ExecInitExprList(exprs, &node->ss.ps);
	writer->econtext = node->ss.ps.ps_ExprContext;
	writer->datums = palloc0(sizeof(Datum) * Max(nparams, 1));
	writer->nulls = palloc0(sizeof(bool) * Max(nparams, 1));
	return writer;
}

/*
 * The expressions are evaluated under the user's settings, before any of
 * their values is printed under ours.
 */
const char *const *
param_writer_print_scan(ParamWriter *writer, int *nparams)
{
	ListCell   *lc;

	*nparams = writer->nparams;
	foreach(lc, writer->exprs)
	{
		int			param = foreach_current_index(lc);

		writer->datums[param] = ExecEvalExpr((ExprState *) lfirst(lc),
											 writer->econtext,
											 &writer->nulls[param]);
	}
	return param_writer_print(writer, writer->datums, writer->nulls);
}
