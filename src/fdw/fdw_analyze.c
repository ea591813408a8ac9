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
 * When a partitioned table is analyzed core calls us for each partition in
 * turn, first for the size and then for the rows.  All of them are a batch: at
 * the first call the sizes of all are asked for, and at the first call for
 * rows those of all, so that the shards work at the same time.  How many rows
 * core will want of the others is told by its rule, which is a matter of their
 * sizes; what comes is cut down to what it really asks for.  That a partitioned
 * table is analyzed, and not one partition, is told by the lock on it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "foreign/foreign.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "fdw/fdw_handler.h"
#include "fdw/remote_sql.h"
#include "fdw/table_cache.h"
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

/* One table of a batch. */
typedef struct Member
{
	Oid			relid;
	TxnBranch  *branch;
	RemoteRequest *request;		/* on its way: for the size, then for the rows */
	bool		has_size;
	RemoteSize	size;
	bool		is_sampling;	/* the request is for rows */
	double		fraction;
	List	   *retrieved_attrs;
} Member;

/*
 * The batch at hand; NIL if there is none.  Lives in TopTransactionContext.
 * Requests that nobody came for are released before the transaction ends.
 */
static List *batch = NIL;
static int	batch_level;		/* nest level it was made at */

/* ---- asking ---- */

static void
queue_query(Relation relation, const RemoteQuery *query, Member *member)
{
	member->branch = coordinator_get_branch(relation->rd_rel->relowner,
											GetForeignServerIdByRelId(RelationGetRelid(relation)));
	member->request = branch_queue(member->branch, query, BRANCH_USE_ALONE,
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
ask_size(Relation relation, Member *member)
{
	RemoteQuery query = {0};
	StringInfoData sql;

	initStringInfo(&sql);
	remote_sql_analyze_size(&sql, relation);
	query.sql = sql.data;
	query.is_stream = true;
	queue_query(relation, &query, member);
	pfree(sql.data);
}

static void
receive_size(Relation relation, Member *member)
{
	RemoteSize *size = &member->size;
	const RemoteResult *result;

	result = branch_next(member->branch, &member->request);
	if (result == NULL || remote_result_nrows(result) < 1 ||
		remote_result_nfields(result) < 3)
		elog(ERROR, "the shard did not tell the size of foreign table \"%s\"",
			 RelationGetRelationName(relation));
	size->pages = get_number(result, 0, 0);
	size->tuples = get_number(result, 1, -1);
	size->relkind = remote_result_is_null(result, 0, 2) ? '\0' :
		remote_result_value(result, 0, 2)[0];
	remote_request_release(member->request);
	member->request = NULL;
	member->has_size = true;
}

/* In the form that core gets, see shardAnalyzeForeignTable(). */
static double
counted_pages(const RemoteSize *size)
{
	return Min(Max(size->pages, 1), (double) MaxBlockNumber);
}

/*
 * Which part of the rows is enough?  Only tables can be sampled, and have an
 * estimate worth the name.
 */
static double
choose_fraction(Relation relation, const RemoteSize *size, double targrows)
{
	if (table_cache_options(RelationGetRelid(relation))->sampling ==
		FDW_SAMPLING_OFF ||
		(size->relkind != RELKIND_RELATION &&
		 size->relkind != RELKIND_PARTITIONED_TABLE &&
		 size->relkind != RELKIND_MATVIEW))
		return 1.0;
	if (size->tuples <= targrows * SAMPLE_FROM)
		return 1.0;
	return targrows * SAMPLE_MARGIN / size->tuples;
}

static void
ask_rows(Relation relation, double targrows, Member *member)
{
	RemoteQuery query = {0};
	StringInfoData sql;

	member->fraction = choose_fraction(relation, &member->size, targrows);
	initStringInfo(&sql);
	remote_sql_analyze_rows(&sql, relation, member->fraction,
							&member->retrieved_attrs);
	query.sql = sql.data;
	query.is_stream = true;
	queue_query(relation, &query, member);
	member->is_sampling = true;
	pfree(sql.data);
}

/* ---- batches ---- */

static void
drop_batch(void)
{
	ListCell   *cell;

	foreach(cell, batch)
	{
		Member	   *member = lfirst(cell);

		if (member->request)
			remote_request_release(member->request);
	}
	batch = NIL;
}

/* Callbacks: an abort has released all requests already. */
static void
end_batch(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		drop_batch();
	else
		batch = NIL;
}

static void
end_batch_of_level(SubXactEvent event, SubTransactionId subid,
				   SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB &&
		batch_level >= GetCurrentTransactionNestLevel())
		batch = NIL;
}

static Member *
find_member(Oid relid)
{
	ListCell   *cell;

	foreach(cell, batch)
	{
		if (((Member *) lfirst(cell))->relid == relid)
			return lfirst(cell);
	}
	return NULL;
}

/* The parent that is being analyzed, or InvalidOid. */
static Oid
analyzed_parent(Relation relation)
{
	ListCell   *cell;

	if (!relation->rd_rel->relispartition)
		return InvalidOid;
	foreach(cell, get_partition_ancestors(RelationGetRelid(relation)))
	{
		Relation	parent = RelationIdGetRelation(lfirst_oid(cell));
		bool		is_locked;

		if (parent == NULL)
			continue;
		is_locked = CheckRelationLockedByMe(parent, ShareUpdateExclusiveLock,
											false);
		RelationClose(parent);
		if (is_locked)
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

static bool
is_ours_and_locked(Oid relid)
{
	Relation	rel;
	bool		is_locked;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE ||
		GetFdwRoutineByRelId(relid)->AnalyzeForeignTable !=
		shardAnalyzeForeignTable)
		return false;
	rel = RelationIdGetRelation(relid);
	if (rel == NULL)
		return false;
	is_locked = CheckRelationLockedByMe(rel, AccessShareLock, true);
	RelationClose(rel);
	return is_locked;
}

/* Forgets the batch there was; the next one does not outlive its transaction. */
static void
prepare_batch(void)
{
	static bool is_registered = false;

	if (!is_registered)
	{
		RegisterXactCallback(end_batch, NULL);
		RegisterSubXactCallback(end_batch_of_level, NULL);
		is_registered = true;
	}
	drop_batch();
	batch_level = GetCurrentTransactionNestLevel();
}

/* Asks for the sizes of all partitions of the parent. */
static void
begin_batch(Oid parent)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);
	ListCell   *cell;

	foreach(cell, find_all_inheritors(parent, NoLock, NULL))
	{
		Oid			relid = lfirst_oid(cell);
		Member	   *member;
		Relation	rel;

		if (!is_ours_and_locked(relid))
			continue;
		member = palloc0(sizeof(Member));
		member->relid = relid;
		batch = lappend(batch, member);
		rel = table_open(relid, NoLock);
		ask_size(rel, member);
		branch_flush(member->branch);
		table_close(rel, NoLock);
	}
	MemoryContextSwitchTo(old_context);
}

/*
 * The member of the batch for the relation; a batch of one if it has none.
 * Sizes are asked for anew when core is at the sizes again.
 */
static Member *
member_for_size(Relation relation)
{
	Member	   *member = find_member(RelationGetRelid(relation));
	Oid			parent;

	if (member && !member->has_size)
		return member;
	prepare_batch();
	parent = analyzed_parent(relation);
	if (OidIsValid(parent))
		begin_batch(parent);
	member = find_member(RelationGetRelid(relation));
	if (member == NULL)
	{
		MemoryContext old_context;

		old_context = MemoryContextSwitchTo(TopTransactionContext);
		member = palloc0(sizeof(Member));
		member->relid = RelationGetRelid(relation);
		batch = list_make1(member);
		MemoryContextSwitchTo(old_context);
		ask_size(relation, member);
	}
	return member;
}

/*
 * Asks for the rows of all members, given how many are wanted of one of them:
 * core divides them by pages.
 */
static void
ask_rows_of_all(const Member *first, int targrows)
{
	double		rows_per_page = targrows / counted_pages(&first->size);
	MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);
	ListCell   *cell;

	foreach(cell, batch)
	{
		Member	   *member = lfirst(cell);
		double		wanted = rows_per_page * counted_pages(&member->size);
		Relation	rel;

		if (!member->has_size || member->is_sampling || wanted < 0.5)
			continue;
		rel = table_open(member->relid, NoLock);
		ask_rows(rel, member == first ? targrows : wanted, member);
		branch_flush(member->branch);
		table_close(rel, NoLock);
	}
	MemoryContextSwitchTo(old_context);
}

/* ---- the sample ---- */

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
read_rows(Relation relation, Member *member, Reservoir *reservoir)
{
	TupleReader *reader;
	const RemoteResult *result;
	MemoryContext scratch;
	int			row;

	reader = tuple_reader_create(RelationGetDescr(relation),
								 member->retrieved_attrs, relation, NULL);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "shard_fdw analyze",
									ALLOCSET_DEFAULT_SIZES);
	while ((result = branch_next(member->branch, &member->request)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		for (row = 0; row < remote_result_nrows(result); row++)
			sample_row(reservoir, reader, result, row, scratch);
	}
	remote_request_release(member->request);
	member->request = NULL;
	MemoryContextDelete(scratch);
}

/*
 * AcquireSampleRowsFunc
 */
static int
acquire_sample_rows(Relation relation, int elevel, HeapTuple *rows,
					int targrows, double *totalrows, double *totaldeadrows)
{
	Member	   *member = find_member(RelationGetRelid(relation));
	Reservoir	reservoir = {0};

	if (member == NULL || !member->has_size)
		elog(ERROR, "size of foreign table \"%s\" was not asked for",
			 RelationGetRelationName(relation));
	if (!member->is_sampling)
		ask_rows_of_all(member, targrows);
	reservoir.rows = rows;
	reservoir.max_rows = targrows;
	reservoir.to_skip = -1;
	reservoir_init_selection_state(&reservoir.state, targrows);
	read_rows(relation, member, &reservoir);

	*totalrows = member->fraction < 1.0 ?
		rint(reservoir.seen / member->fraction) : reservoir.seen;
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
	Member	   *member = member_for_size(relation);

	receive_size(relation, member);
	*totalpages = (BlockNumber) counted_pages(&member->size);
	*func = acquire_sample_rows;
	return true;
}
