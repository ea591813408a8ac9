/*-------------------------------------------------------------------------
 *
 * copy_format.h
 *	  Rows as COPY FROM STDIN takes them, binary or text.
 *
 * A CopyFormat is made once per table in the memory context current then and
 * lives as long as it.  Nothing waits; what the types' output and send
 * functions raise goes through.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_COPY_FORMAT_H
#define SHARD_FDW_FDW_COPY_FORMAT_H

#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/rel.h"

#include "fdw/tuple_io.h"

typedef struct CopyFormat CopyFormat;

/*
 * A format for the columns with the given attnos.  params are those of the
 * statement that inserts the same columns; they print the values where text
 * is needed.
 */
extern CopyFormat *copy_format_create(Relation rel, List *attrs,
									  ParamWriter *params);

/*
 * Binary?  Only where every column has a type whose binary form is the same
 * on every server, and then the columns there must have the same types.
 */
extern bool copy_format_is_binary(const CopyFormat *format);

/* What goes before the first row, and after the last. */
extern void copy_format_append_header(const CopyFormat *format,
									  StringInfo buf);
extern void copy_format_append_trailer(const CopyFormat *format,
									   StringInfo buf);

/* One row.  Leaves garbage in the current memory context. */
extern void copy_format_append_row(CopyFormat *format, StringInfo buf,
								   TupleTableSlot *slot);

#endif							/* SHARD_FDW_FDW_COPY_FORMAT_H */
