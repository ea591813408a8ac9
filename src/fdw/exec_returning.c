/*-------------------------------------------------------------------------
 *
 * exec_returning.c
 *	  INSERT ... RETURNING of many rows, whose answers come later.
 *
 * The INSERT below returns the columns that RETURNING needs; the node's own
 * target list is computed from those.  A row that comes from a shard passes
 * through the INSERT's projection for its table, which knows where partitions
 * have their columns, so that it looks like a row that core has projected.
 *
 * The answers of one table come in the order of its rows.  Where the shard has
 * inserted fewer rows of a statement than it was sent, it does not say which;
 * then they take the first places of that statement.
 *
 * A batch ends when a table has batch_size rows in it, or when the rows take
 * MAX_BATCH_SIZE.  That is known of the rows sent; where those that come back
 * are larger, the next batches have fewer of them.  Whoever runs the INSERT for a limited number of rows must
 * not have more of them inserted; then each row is awaited.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat_executor.h"
#include "fdw/exec_hooks.h"
#include "fdw/exec_returning.h"

/* bytes of the rows of a batch, about */
#define MAX_BATCH_SIZE (1024 * 1024)

/* What has come back for one statement. */
typedef struct Answer
{
	RemoteRequest *request;
	uint64		nsent;			/* rows; each has a place */
	uint64		nreturned;
	uint64		next;			/* row whose turn it is */
} Answer;

struct ReturningTable
{
	ReturningNode *node;
	ResultRelInfo *rinfo;
	BulkWriter *writer;
	TupleReader *reader;		/* or NULL */
	TupleTableSlot *slot;		/* a row as the table has it */
	int			batch_size;
	int			nrows;			/* of the batch */
	List	   *answers;		/* oldest first */
};

/* In the order of the input. */
typedef struct Place
{
	ReturningTable *table;		/* its next answer; NULL: the tuple */
	MinimalTuple tuple;
} Place;

struct ReturningNode
{
	CustomScanState css;		/* must be first */
	dlist_node	link;			/* in nodes */
	MemoryContextCallback callback;
	const Plan *insert;
	List	   *tables;
	int			max_rows;		/* of a batch */
	bool		is_exhausted;	/* the INSERT has no more rows */
	uint64		nbatches;

	/* the batch */
	Place	   *places;
	int			nplaces;
	int			max_places;
	int			next;			/* place whose turn it is */
	Size		size;
	bool		is_full;
	MemoryContext context;		/* tuples */
	MemoryContext row_context;
};

static dlist_head nodes = DLIST_STATIC_INIT(nodes);

ReturningNode *
exec_returning_find(const ModifyTableState *mtstate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &nodes)
	{
		ReturningNode *node = dlist_container(ReturningNode, link, iter.cur);

		if (node->css.ss.ps.state == mtstate->ps.state &&
			node->insert == mtstate->ps.plan)
			return node;
	}
	return NULL;
}

/* ---- places ---- */

static Place *
take_place(ReturningNode *node, Size size)
{
	if (node->nplaces == node->max_places)
	{
		node->max_places *= 2;
		node->places = repalloc(node->places,
								sizeof(Place) * node->max_places);
	}
	node->size += size;
	if (node->size >= MAX_BATCH_SIZE || node->nplaces + 1 >= node->max_rows)
		node->is_full = true;
	return &node->places[node->nplaces++];
}

static void
keep_row(ReturningNode *node, TupleTableSlot *slot)
{
	MemoryContext old_context = MemoryContextSwitchTo(node->context);
	MinimalTuple tuple = ExecCopySlotMinimalTuple(slot);
	Place	   *place = take_place(node, tuple->t_len);

	MemoryContextSwitchTo(old_context);
	place->table = NULL;
	place->tuple = tuple;
}

void
exec_returning_put_off(ReturningTable *table, TupleTableSlot *slot)
{
	ReturningNode *node = table->node;
	Place	   *place = take_place(node, bulk_add(table->writer, slot));

	place->table = table;
	place->tuple = NULL;
	if (++table->nrows >= table->batch_size)
		node->is_full = true;
}

/* ---- answers ---- */

static void
take_answer(void *taker, RemoteRequest *request, uint64 nrows)
{
	ReturningTable *table = taker;
	EState	   *estate = table->node->css.ss.ps.state;
	MemoryContext old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	Answer	   *answer = palloc0(sizeof(Answer));

	answer->request = request;
	answer->nsent = nrows;
	answer->nreturned = remote_result_affected(remote_request_result(request));
	table->answers = lappend(table->answers, answer);
	MemoryContextSwitchTo(old_context);
}

ReturningTable *
exec_returning_add_table(ReturningNode *node, ResultRelInfo *rinfo,
						 BulkTarget *target, TupleReader *reader)
{
	EState	   *estate = node->css.ss.ps.state;
	MemoryContext old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	ReturningTable *table = palloc0(sizeof(ReturningTable));

	table->node = node;
	table->rinfo = rinfo;
	table->reader = reader;
	table->slot = ExecInitExtraTupleSlot(estate,
										 RelationGetDescr(rinfo->ri_RelationDesc),
										 &TTSOpsVirtual);
	table->batch_size = target->batch_size;
	target->take_answer = take_answer;
	target->taker = table;
	table->writer = bulk_create(target);
	node->tables = lappend(node->tables, table);
	MemoryContextSwitchTo(old_context);
	return table;
}

static void
drop_first_answer(ReturningTable *table)
{
	Answer	   *answer = linitial(table->answers);

	table->answers = list_delete_first(table->answers);
	remote_request_release(answer->request);
	pfree(answer);
}

/* What core does with the row that a foreign table returns. */
static TupleTableSlot *
project_for_insert(ReturningTable *table)
{
	ProjectionInfo *projection = table->rinfo->ri_projectReturning;
	ExprContext *econtext = projection->pi_exprContext;

	table->slot->tts_tableOid =
		RelationGetRelid(table->rinfo->ri_RelationDesc);
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = table->slot;
	return ExecProject(projection);
}

/* The table's next row, as the INSERT returns it; NULL if it was left out. */
static TupleTableSlot *
next_row(ReturningTable *table)
{
	MemoryContext row_context = table->node->row_context;
	MemoryContext old_context;
	Answer	   *answer = linitial(table->answers);
	uint64		row;

	while (answer->next == answer->nsent)
	{
		drop_first_answer(table);
		answer = linitial(table->answers);
	}
	row = answer->next++;
	if (row >= answer->nreturned)
		return NULL;
	MemoryContextReset(row_context);
	old_context = MemoryContextSwitchTo(row_context);
	if (table->reader)
		tuple_reader_store(table->reader,
						   remote_request_result(answer->request), row,
						   table->slot);
	else
		ExecStoreAllNullTuple(table->slot);
	MemoryContextSwitchTo(old_context);
	return project_for_insert(table);
}

/* ---- batches ---- */

static void
start_batch(ReturningNode *node)
{
	ListCell   *cell;

	foreach(cell, node->tables)
		((ReturningTable *) lfirst(cell))->nrows = 0;
	node->nplaces = node->next = 0;
	node->size = 0;
	node->is_full = false;
	MemoryContextReset(node->context);
}

/* The bytes of the answers to rows of the batch, of which none was taken. */
static uint64
answers_size(const ReturningTable *table)
{
	uint64		size = 0;
	ListCell   *cell;

	foreach(cell, table->answers)
	{
		const Answer *answer = lfirst(cell);

		if (answer->next == 0)
			size += remote_request_bytes(answer->request);
	}
	return size;
}

/* Lets the next batch have about as many rows as this one should have had. */
static void
adjust_batches(ReturningNode *node)
{
	uint64		size = 0;
	ListCell   *cell;

	foreach(cell, node->tables)
		size += answers_size(lfirst(cell));
	if (size > MAX_BATCH_SIZE)
		node->max_rows = Max(node->nplaces * (uint64) MAX_BATCH_SIZE / size, 1);
	else if (size < MAX_BATCH_SIZE / 2)
		node->max_rows = Min(node->max_rows, INT_MAX / 2) * 2;
}

static void
await_batch(ReturningNode *node)
{
	List	   *writers = NIL;
	ListCell   *cell;

	foreach(cell, node->tables)
		writers = lappend(writers, ((ReturningTable *) lfirst(cell))->writer);
	bulk_finish_writers(writers);
	list_free(writers);
	adjust_batches(node);
	node->nbatches++;
}

/*
 * Fills the places, or returns a row of the INSERT before which there is none
 * to wait for.
 */
static TupleTableSlot *
run_insert(ReturningNode *node)
{
	ModifyTableState *insert = linitial(node->css.custom_ps);
	bool		is_limited = insert->canSetTag &&
	exec_hooks_is_run_limited(insert->ps.state);
	int			nplaces;

	start_batch(node);
	do
	{
		TupleTableSlot *slot;

		nplaces = node->nplaces;
		slot = ExecProcNode(&insert->ps);
		if (TupIsNull(slot))
			node->is_exhausted = true;
		else if (node->nplaces > nplaces)
			continue;			/* the answer is to come */
		else if (node->nplaces == 0)
			return slot;
		else
			keep_row(node, slot);
	} while (!node->is_exhausted && !node->is_full && !is_limited);
	if (node->nplaces > 0)
		await_batch(node);
	return NULL;
}

/* The next row as the INSERT returns it. */
static TupleTableSlot *
fetch_row(ReturningNode *node)
{
	TupleTableSlot *slot;

	for (;;)
	{
		while (node->next < node->nplaces)
		{
			Place	   *place = &node->places[node->next++];

			if (place->table == NULL)
			{
				slot = node->css.ss.ss_ScanTupleSlot;
				ExecForceStoreMinimalTuple(place->tuple, slot, false);
				return slot;
			}
			slot = next_row(place->table);
			if (slot)
				return slot;
		}
		if (node->is_exhausted)
			return NULL;
		slot = run_insert(node);
		if (slot)
			return slot;
	}
}

/* ---- the node ---- */

static void
forget_node(void *arg)
{
	dlist_delete(&((ReturningNode *) arg)->link);
}

/*
 * What WITH changes is run to its end by way of a list in which core puts the
 * INSERT; the node takes its place.
 */
static void
take_over_unread_rows(EState *estate, ReturningNode *node, PlanState *insert)
{
	ListCell   *cell;

	foreach(cell, estate->es_auxmodifytables)
	{
		if (lfirst(cell) == insert)
			lfirst(cell) = node;
	}
}

static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	ReturningNode *node = (ReturningNode *) css;
	CustomScan *plan = castNode(CustomScan, css->ss.ps.plan);
	PlanState  *insert;

	node->insert = linitial(plan->custom_plans);
	dlist_push_head(&nodes, &node->link);
	node->callback.func = forget_node;
	node->callback.arg = node;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &node->callback);

	insert = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	css->custom_ps = list_make1(insert);
	take_over_unread_rows(estate, node, insert);
	node->max_rows = INT_MAX;
	node->max_places = 64;
	node->places = palloc(sizeof(Place) * node->max_places);
	node->context = AllocSetContextCreate(estate->es_query_cxt,
										  "shard_fdw rows of RETURNING",
										  ALLOCSET_DEFAULT_SIZES);
	node->row_context = AllocSetContextCreate(estate->es_query_cxt,
											  "shard_fdw row of RETURNING",
											  ALLOCSET_SMALL_SIZES);
}

static TupleTableSlot *
exec_node(CustomScanState *css)
{
	TupleTableSlot *slot = fetch_row((ReturningNode *) css);
	ExprContext *econtext = css->ss.ps.ps_ExprContext;

	if (slot == NULL || css->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(css->ss.ps.ps_ProjInfo);
}

static void
end_node(CustomScanState *css)
{
	ReturningNode *node = (ReturningNode *) css;
	ListCell   *cell;

	ExecEndNode(linitial(css->custom_ps));
	foreach(cell, node->tables)
	{
		ReturningTable *table = lfirst(cell);

		while (table->answers != NIL)
			drop_first_answer(table);
	}
}

static void
rescan_node(CustomScanState *css)
{
	elog(ERROR, "an INSERT cannot be run again");
}

static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const ReturningNode *node = (ReturningNode *) css;

	if (es->analyze)
		ExplainPropertyUInteger("Batches", NULL, node->nbatches, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Returning in Batches",
	.BeginCustomScan = begin_node,
	.ExecCustomScan = exec_node,
	.EndCustomScan = end_node,
	.ReScanCustomScan = rescan_node,
	.ExplainCustomScan = explain_node
};

static Node *
create_node(CustomScan *plan)
{
	ReturningNode *node = palloc0(sizeof(ReturningNode));

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods exec_returning_methods = {
	.CustomName = "Returning in Batches",
	.CreateCustomScanState = create_node
};

void
exec_returning_init(void)
{
	RegisterCustomScanMethods(&exec_returning_methods);
}
