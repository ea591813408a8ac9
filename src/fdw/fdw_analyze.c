/*-------------------------------------------------------------------------
 *
 * fdw_analyze.c
 *	  ANALYZE of a foreign table.
 *
 * The rows come as a stream and go through a reservoir, so no more of them
 * are here than the sample will have.  Where the shard knows that it has many
 * more rows than are wanted it sends only a fraction of them, and their total
 * is extrapolated; otherwise all rows come and the total is exact.
 *
 * Runs as the owner of the table, as core does with functions in indexes.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "fdw/fdw_handler.h"
#include "fdw/fdw_options.h"
#include "fdw/remote_sql.h"
#include "fdw/tuple_io.h"
#include "txn/coordinator.h"

/* the shard samples if it has this many times the rows wanted */
#define SAMPLE_FROM 5

/* and then sends this many times as many as wanted, as the number is random */
#define SAMPLE_MARGIN 1.5

/* What the shard says of the table. */
typedef struct RemoteSize
{
	double		pages;
	double		tuples;			/* -1: it has no estimate */
	char		relkind;
} RemoteSize;

/* The rows of the sample. */
typedef struct Reservoir
{
	HeapTuple  *rows;			/* core's array, in core's context */
	int			nrows;
	int			max_rows;
	double		seen;			/* rows that have passed */
	double		to_skip;		/* before the next replacement; -1: not known */
	ReservoirStateData state;
} Reservoir;

static RemoteRequest *
queue_query(Relation relation, const RemoteQuery *query, TxnBranch **branch)
{
	*branch = coordinator_get_branch(relation->rd_rel->relowner,
									 GetForeignServerIdByRelId(RelationGetRelid(relation)));
	return branch_queue(*branch, query, BRANCH_USE_ALONE,
						coordinator_next_statement(),
						GetCurrentTransactionNestLevel());
}

static double
get_number(const RemoteResult *result, int col, double if_null)
{
	if (remote_result_is_null(result, 0, col))
		return if_null;
	return strtod(remote_result_value(result, 0, col), NULL);
}

static void
ask_size(Relation relation, RemoteSize *size)
{
	RemoteQuery query = {0};
	StringInfoData sql;
	TxnBranch  *branch;
	RemoteRequest *request;
	const RemoteResult *result;

	initStringInfo(&sql);
	remote_sql_analyze_size(&sql, relation);
	query.sql = sql.data;
	query.is_stream = true;
	request = queue_query(relation, &query, &branch);
	result = branch_next(branch, &request);
	if (result == NULL || remote_result_nrows(result) < 1 ||
		remote_result_nfields(result) < 3)
		elog(ERROR, "the shard did not tell the size of foreign table \"%s\"",
			 RelationGetRelationName(relation));
	size->pages = get_number(result, 0, 0);
	size->tuples = get_number(result, 1, -1);
	size->relkind = remote_result_is_null(result, 0, 2) ? '\0' :
		remote_result_value(result, 0, 2)[0];
	remote_request_release(request);
	pfree(sql.data);
}

/*
 * Which part of the rows is enough?  Only tables can be sampled, and have an
 * estimate worth the name.
 */
static double
choose_fraction(Relation relation, int targrows)
{
	RemoteSize	size;

	if (fdw_options_for_table(RelationGetRelid(relation))->sampling ==
		FDW_SAMPLING_OFF)
		return 1.0;
	ask_size(relation, &size);
	if (size.relkind != RELKIND_RELATION &&
		size.relkind != RELKIND_PARTITIONED_TABLE &&
		size.relkind != RELKIND_MATVIEW)
		return 1.0;
	if (size.tuples <= (double) targrows * SAMPLE_FROM)
		return 1.0;
	return targrows * SAMPLE_MARGIN / size.tuples;
}

/*
 * Takes a row into the sample, drops it, or lets it take another one's place.
 * Rows of the sample live in the caller's context.
 */
static void
sample_row(Reservoir *reservoir, TupleReader *reader,
		   const RemoteResult *result, int row, MemoryContext scratch)
{
	MemoryContext old_context;
	HeapTuple	tuple;
	int			place = -1;

	if (reservoir->nrows < reservoir->max_rows)
		place = reservoir->nrows++;
	else
	{
		if (reservoir->to_skip < 0)
			reservoir->to_skip = reservoir_get_next_S(&reservoir->state,
													  reservoir->seen,
													  reservoir->max_rows);
		if (reservoir->to_skip <= 0)
		{
			place = (int) (reservoir->max_rows *
						   sampler_random_fract(&reservoir->state.randstate));
			heap_freetuple(reservoir->rows[place]);
		}
		reservoir->to_skip -= 1;
	}
	reservoir->seen += 1;
	if (place < 0)
		return;

	old_context = MemoryContextSwitchTo(scratch);
	tuple = tuple_reader_form(reader, result, row);
	MemoryContextSwitchTo(old_context);
	reservoir->rows[place] = heap_copytuple(tuple);
	MemoryContextReset(scratch);
}

static void
read_rows(Relation relation, double fraction, Reservoir *reservoir)
{
	RemoteQuery query = {0};
	StringInfoData sql;
	List	   *retrieved_attrs;
	TupleReader *reader;
	TxnBranch  *branch;
	RemoteRequest *request;
	const RemoteResult *result;
	MemoryContext scratch;
	int			row;

	initStringInfo(&sql);
	remote_sql_analyze_rows(&sql, relation, fraction, &retrieved_attrs);
	reader = tuple_reader_create(RelationGetDescr(relation), retrieved_attrs,
								 relation, NULL);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "shard_fdw analyze",
									ALLOCSET_DEFAULT_SIZES);
	query.sql = sql.data;
	query.binary_result = tuple_reader_wants_binary(reader);
	query.is_stream = true;
	request = queue_query(relation, &query, &branch);
	while ((result = branch_next(branch, &request)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		for (row = 0; row < remote_result_nrows(result); row++)
			sample_row(reservoir, reader, result, row, scratch);
	}
	remote_request_release(request);
	MemoryContextDelete(scratch);
	pfree(sql.data);
}

/*
 * AcquireSampleRowsFunc
 */
static int
acquire_sample_rows(Relation relation, int elevel, HeapTuple *rows,
					int targrows, double *totalrows, double *totaldeadrows)
{
	Reservoir	reservoir = {0};
	double		fraction = choose_fraction(relation, targrows);

	reservoir.rows = rows;
	reservoir.max_rows = targrows;
	reservoir.to_skip = -1;
	reservoir_init_selection_state(&reservoir.state, targrows);
	read_rows(relation, fraction, &reservoir);

	*totalrows = fraction < 1.0 ? rint(reservoir.seen / fraction) :
		reservoir.seen;
	*totaldeadrows = 0;
	ereport(elevel,
			errmsg("\"%s\": table contains %.0f rows, %d rows in sample",
				   RelationGetRelationName(relation), *totalrows,
				   reservoir.nrows));
	return reservoir.nrows;
}

/*
 * A child without pages would be left out of the statistics of its parent, so
 * there is always one.
 */
bool
shardAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func,
						 BlockNumber *totalpages)
{
	RemoteSize	size;

	ask_size(relation, &size);
	*totalpages = (BlockNumber) Min(Max(size.pages, 1), (double) MaxBlockNumber);
	*func = acquire_sample_rows;
	return true;
}
