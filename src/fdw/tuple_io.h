/*-------------------------------------------------------------------------
 *
 * tuple_io.h
 *	  Remote rows into local tuples, local values into parameters.
 *
 * A TupleReader knows how the columns of a remote result fill a tuple
 * descriptor; a ParamWriter knows how to print the parameters of a statement.
 * Both are made once per plan node in the memory context current then, and
 * live as long as it.  Neither waits; both may raise whatever the input and
 * output functions of the types raise, readers with a context that names the
 * column.
 *
 * Parameters travel as text, and so do rows unless the reader is allowed to
 * ask for the binary format; it does where binary_value.h can read all of the
 * columns.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_TUPLE_IO_H
#define SHARD_FDW_FDW_TUPLE_IO_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/relcache.h"

#include "remote/remote_result.h"

typedef struct TupleReader TupleReader;
typedef struct ParamWriter ParamWriter;

/* ---- rows ---- */

/*
 * retrieved_attrs tells for each column of the result which attribute of
 * tupdesc it fills, see fdw_plan.h for the two that are row identity.
 * tupdesc must outlive the reader.  Columns beyond those are not looked at.
 *
 * For the names in messages: rel when the rows are those of one table, else
 * the scan whose fdw_scan_tlist describes them.  Either may be NULL.
 */
extern TupleReader *tuple_reader_create(TupleDesc tupdesc,
										List *retrieved_attrs, Relation rel,
										ForeignScanState *scan);

/*
 * The rows are those of a table to be changed: their xmin names the table on
 * the shard (fdw_plan.h).  Without this call it is 0, as in every foreign row
 * that a user looks at.
 */
extern void tuple_reader_keep_identity(TupleReader *reader);

/*
 * Whoever can ask again in text when tuple_reader_accept() says no may allow
 * the reader to want binary results, which without this call it does not.
 */
extern void tuple_reader_set_binary(TupleReader *reader, bool allows_binary);

/* What to put into RemoteQuery.binary_result. */
extern bool tuple_reader_wants_binary(const TupleReader *reader);

/*
 * To be called with the first rows of each query that was sent with
 * binary_result, as is_binary: false when the remote types are such that the
 * rows must be asked for as text.
 */
extern bool tuple_reader_accept(TupleReader *reader,
								const RemoteResult *result, bool is_binary);

/*
 * Stores a row in the slot, whose previous content is dropped.  The values
 * are made in the current memory context and not copied.
 */
extern void tuple_reader_store(TupleReader *reader, const RemoteResult *result,
							   int row, TupleTableSlot *slot);

/* A row as a tuple in the current memory context, which also gets garbage. */
extern HeapTuple tuple_reader_form(TupleReader *reader,
								   const RemoteResult *result, int row);

/* ---- parameters ---- */

/*
 * types are the local types of the parameters $1, $2, ...; more than given
 * may not be written.
 */
extern ParamWriter *param_writer_create(int nparams, const Oid *types);

/* For RemoteQuery.param_types: what the shard is told about them. */
extern const Oid *param_writer_types(const ParamWriter *writer);

/*
 * Prints the values, for RemoteQuery.param_values.  The texts are made in the
 * current memory context, the array is the writer's and valid until the next
 * call.
 */
extern const char *const *param_writer_print(ParamWriter *writer,
											 const Datum *values,
											 const bool *nulls);

/*
 * A writer for the fdw_exprs of a foreign scan, the first nparams of them, and
 * its parameters with the values that the expressions have now.
 */
extern ParamWriter *param_writer_create_for_scan(ForeignScanState *node,
												 int nparams);
extern const char *const *param_writer_print_scan(ParamWriter *writer,
												  int *nparams);

#endif							/* SHARD_FDW_FDW_TUPLE_IO_H */
