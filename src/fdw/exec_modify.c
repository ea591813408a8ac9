/*-------------------------------------------------------------------------
 *
 * exec_modify.c
 *	  Changing rows of foreign tables one by one or in batches.
 *
 * A ModifyState is made for each result relation that is a foreign table, be
 * it named in the plan, reached by tuple routing, or the target of COPY.  It
 * has one statement for one row, which the shard prepares when it comes again.
 * A batch is that statement many times in one flush, awaited once.
 *
 * Rows to be inserted that nobody needs to see again are given to a BulkWriter
 * (bulk_insert.h), where exec_hooks.h can correct their number; so are those
 * for whose RETURNING there is a node that can wait (exec_returning.h).  Core's
 * own batches serve only where that is not so.
 *
 * Parameters go out without types: in INSERT and UPDATE the shard infers them
 * from its own columns, which need not have the local type.
 *
 * A row counts as changed when the shard says so, since a trigger there may
 * have skipped it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat_executor.h"
#include "fdw/bulk_insert.h"
#include "fdw/exec_conflict.h"
#include "fdw/exec_drain.h"
#include "fdw/exec_hooks.h"
#include "fdw/exec_move.h"
#include "fdw/exec_returning.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/remote_sql.h"
#include "fdw/scan_group.h"
#include "fdw/table_cache.h"
#include "fdw/tuple_io.h"
#include "txn/coordinator.h"

typedef struct ModifyState
{
	Relation	rel;
	EState	   *estate;
	Oid			userid;
	Oid			serverid;
	int			owner_level;
	TxnBranch  *branch;			/* from the first row on */
	const char *sql;
	List	   *target_attrs;	/* attnos sent */
	bool		sends_identity; /* after them, ctid and tableoid */
	AttrNumber	ctid_attno;		/* in the subplan's rows */
	AttrNumber	tableoid_attno;
	bool		has_returning;
	List	   *returning_attrs;
	TupleReader *reader;		/* of RETURNING */
	ParamWriter *params;
	Datum	   *values;			/* of the parameters */
	bool	   *nulls;
	MemoryContext row_context;	/* reset for each row or batch */

	WCOKind		policy_kind;
	CmdType		operation;
	bool		is_bulk;		/* rows, or for UPDATE and DELETE statements,
								 * are given to the writer */
	int			batch_size;
	uint64	   *counter;		/* see BulkTarget */
	BulkWriter *writer;			/* from the first row on */
	ReturningNode *returning;	/* above the INSERT, or NULL; then in place of
								 * the writer: */
	ReturningTable *returned;
	ExecConflict *conflict;		/* of INSERT, or NULL */

	/* of UPDATE in a partitioned table, else NULL */
	RowMover   *mover;			/* where rows may leave */
	struct ModifyState *departures; /* deletes them */
	struct ModifyState *arrivals;	/* inserts rows that come from elsewhere */
} ModifyState;

/* What differs between the ways a ModifyState comes about. */
typedef struct ModifyStatement
{
	const char *sql;
	List	   *target_attrs;
	bool		has_returning;
	List	   *retrieved_attrs;
	ExecConflict *conflict;
} ModifyStatement;

/* ---- making ---- */

static void
init_params(ModifyState *modify)
{
	TupleDesc	tupdesc = RelationGetDescr(modify->rel);
	int			max_params = list_length(modify->target_attrs) + 2;
	Oid		   *types = palloc(sizeof(Oid) * max_params);
	int			nparams = 0;
	ListCell   *lc;

	foreach(lc, modify->target_attrs)
		types[nparams++] = TupleDescAttr(tupdesc, lfirst_int(lc) - 1)->atttypid;
	if (modify->sends_identity)
	{
		types[nparams++] = TIDOID;
		types[nparams++] = OIDOID;
	}
	modify->params = param_writer_create(nparams, types);
	modify->values = palloc(sizeof(Datum) * max_params);
	modify->nulls = palloc(sizeof(bool) * max_params);
	pfree(types);
}

/*
 * In the query's memory context.
 */
static ModifyState *
make_modify(EState *estate, ResultRelInfo *rinfo,
			const ModifyStatement *statement, bool sends_identity)
{
	MemoryContext old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	ModifyState *modify = palloc0(sizeof(ModifyState));
	Relation	rel = rinfo->ri_RelationDesc;

	modify->rel = rel;
	modify->estate = estate;
	modify->userid = compat_result_userid(rinfo, estate);
	modify->serverid = GetForeignServerIdByRelId(RelationGetRelid(rel));
	modify->owner_level = GetCurrentTransactionNestLevel();
	modify->sql = statement->sql;
	modify->target_attrs = statement->target_attrs;
	modify->sends_identity = sends_identity;
	modify->has_returning = statement->has_returning;
	modify->returning_attrs = statement->retrieved_attrs;
	if (modify->has_returning)
		modify->reader = tuple_reader_create(RelationGetDescr(rel),
											 statement->retrieved_attrs, rel,
											 NULL);
	modify->conflict = statement->conflict;
	init_params(modify);
	modify->row_context = AllocSetContextCreate(estate->es_query_cxt,
												"shard_fdw modified row",
												ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old_context);
	return modify;
}

static bool
has_after_row_trigger(const TriggerDesc *triggers, CmdType operation)
{
	if (triggers == NULL)
		return false;
	switch (operation)
	{
		case CMD_INSERT:
			return triggers->trig_insert_after_row;
		case CMD_UPDATE:
			return triggers->trig_update_after_row;
		case CMD_DELETE:
			return triggers->trig_delete_after_row;
		default:
			return true;
	}
}

/*
 * Will nobody, but for a node that can wait, need to see the row again after
 * the shard has changed it?  Rows that another operation routes to the table
 * are left alone.
 */
static bool
is_row_forgotten(const ModifyState *modify, const ModifyTableState *mtstate,
				 const ResultRelInfo *rinfo)
{
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	if (plan && (plan->operation != modify->operation ||
				 plan->withCheckOptionLists != NIL ||
				 (plan->returningLists != NIL && modify->returning == NULL)))
		return false;
	return mtstate->mt_transition_capture == NULL &&
		!has_after_row_trigger(rinfo->ri_TrigDesc, modify->operation);
}

/*
 * is_covered: exec_hooks.c will see the end of the statement.
 */
static void
choose_bulk(ModifyState *modify, const ModifyTableState *mtstate,
			const ResultRelInfo *rinfo, CmdType operation, bool is_covered)
{
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	Oid			relid = RelationGetRelid(modify->rel);

	modify->operation = operation;
	modify->returning = exec_returning_find(mtstate);
	modify->policy_kind = mtstate->operation == CMD_UPDATE ?
		WCO_RLS_UPDATE_CHECK : WCO_RLS_INSERT_CHECK;
	modify->batch_size = Max(table_cache_options(relid)->batch_size, 1);
	modify->is_bulk = is_covered && modify->batch_size > 1 &&
		is_row_forgotten(modify, mtstate, rinfo) &&
		(modify->sends_identity || modify->target_attrs != NIL);
	if (plan == NULL)
		modify->counter = exec_hooks_copy_correction();
	else if (mtstate->canSetTag)
		modify->counter = &modify->estate->es_processed;
}

/* The text of an INSERT whose columns are known. */
static void
complete_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo,
				ModifyStatement *statement)
{
	RemoteInsert insert = {rinfo->ri_RelationDesc, statement->target_attrs, 1};
	StringInfoData sql;

	statement->conflict = exec_conflict_create(mtstate, rinfo);
	insert.conflict = exec_conflict_clause(statement->conflict);
	insert.returning_attrs = statement->retrieved_attrs;
	insert.returns_key = exec_conflict_wants_key(statement->conflict);
	initStringInfo(&sql);
	remote_sql_insert(&sql, &insert);
	statement->sql = sql.data;
}

static AttrNumber
find_junk(List *tlist, const char *name)
{
	AttrNumber	attno = ExecFindJunkAttributeInTlist(tlist, name);

	if (!AttributeNumberIsValid(attno))
		elog(ERROR, "could not find junk column \"%s\"", name);
	return attno;
}

static void
prepare_departures(ModifyTableState *mtstate, ResultRelInfo *rinfo,
				   ModifyState *modify)
{
	ModifyStatement statement = {0};
	ModifyState *departures;
	StringInfoData sql;

	initStringInfo(&sql);
	remote_sql_delete(&sql, modify->rel, NIL);
	statement.sql = sql.data;
	departures = make_modify(modify->estate, rinfo, &statement, true);
	departures->ctid_attno = modify->ctid_attno;
	departures->tableoid_attno = modify->tableoid_attno;
	modify->departures = departures;
	modify->mover = row_mover_create(mtstate, rinfo);
}

void
shardBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo,
						List *fdw_private, int subplan_index, int eflags)
{
	bool		sends_identity = mtstate->operation != CMD_INSERT;
	ModifyStatement statement;
	ModifyState *modify;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	statement.sql = strVal(list_nth(fdw_private, MODIFY_PRIVATE_SQL));
	statement.target_attrs = list_nth(fdw_private, MODIFY_PRIVATE_TARGET_ATTRS);
	statement.has_returning =
		intVal(list_nth(fdw_private, MODIFY_PRIVATE_HAS_RETURNING)) != 0;
	statement.retrieved_attrs = list_nth(fdw_private,
										 MODIFY_PRIVATE_RETRIEVED_ATTRS);
	statement.conflict = NULL;
	if (mtstate->operation == CMD_INSERT)
		complete_insert(mtstate, rinfo, &statement);

	modify = make_modify(mtstate->ps.state, rinfo, &statement, sends_identity);
	if (sends_identity)
	{
		List	   *tlist = outerPlan(mtstate->ps.plan)->targetlist;

		modify->ctid_attno = find_junk(tlist, SHARD_ROW_CTID_NAME);
		modify->tableoid_attno = find_junk(tlist, SHARD_ROW_TABLEOID_NAME);
	}
	choose_bulk(modify, mtstate, rinfo, mtstate->operation, true);
	if (intVal(list_nth(fdw_private, MODIFY_PRIVATE_MAY_MOVE)) != 0)
		prepare_departures(mtstate, rinfo, modify);
	rinfo->ri_FdwState = modify;
}

void
shardEndForeignModify(EState *estate, ResultRelInfo *rinfo)
{
	ModifyState *modify = rinfo->ri_FdwState;

	if (modify == NULL)
		return;
	if (modify->writer)
		bulk_finish(estate);
	MemoryContextDelete(modify->row_context);
	rinfo->ri_FdwState = NULL;
}

/*
 * Where a row trigger for DELETE makes one partition of a table fetch whole
 * rows, the plan has NULL for the others, and core expects a row of any table
 * that is in the plan.  Where there is no such trigger it has no use for it.
 */
void
exec_modify_start_run(EState *estate)
{
	ListCell   *cell;

	foreach(cell, estate->es_opened_result_relations)
	{
		ResultRelInfo *rinfo = lfirst(cell);
		const TriggerDesc *triggers = rinfo->ri_TrigDesc;
		const ModifyState *modify = rinfo->ri_FdwState;

		if (rinfo->ri_FdwRoutine == NULL || modify == NULL ||
			rinfo->ri_usesFdwDirectModify ||
			rinfo->ri_FdwRoutine->ExecForeignDelete != shardExecForeignDelete)
			continue;
		if (modify->operation == CMD_DELETE &&
			!(triggers && (triggers->trig_delete_before_row ||
						   triggers->trig_delete_after_row)))
			rinfo->ri_RowIdAttNo = InvalidAttrNumber;
	}
}

/* ---- tuple routing and COPY ---- */

/*
 * The columns of a table: those an INSERT sends, or all.
 */
static List *
list_columns(Relation rel, bool with_generated)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	List	   *attnos = NIL;
	int			attnum;

	for (attnum = 1; attnum <= tupdesc->natts; attnum++)
	{
		Form_pg_attribute attr = TupleDescAttr(tupdesc, attnum - 1);

		if (!attr->attisdropped && (with_generated || !attr->attgenerated))
			attnos = lappend_int(attnos, attnum);
	}
	return attnos;
}

/*
 * The columns that RETURNING needs of a row routed to the table by an INSERT;
 * its list has
 * been translated to the table's columns, under the number of the plan's
 * first result relation.
 */
static List *
list_returning_columns(const ModifyTableState *mtstate,
					   const ResultRelInfo *rinfo)
{
	Bitmapset  *used = NULL;
	List	   *all = list_columns(rinfo->ri_RelationDesc, true);
	List	   *attnos = NIL;
	ListCell   *lc;

	pull_varattnos((Node *) rinfo->ri_returningList,
				   mtstate->resultRelInfo[0].ri_RangeTableIndex, &used);
	if (bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, used))
		return all;
	foreach(lc, all)
	{
		if (bms_is_member(lfirst_int(lc) - FirstLowInvalidHeapAttributeNumber,
						  used))
			attnos = lappend_int(attnos, lfirst_int(lc));
	}
	return attnos;
}

static void
choose_returning(const ModifyTableState *mtstate, const ResultRelInfo *rinfo,
				 ModifyStatement *statement)
{
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	statement->has_returning = false;
	statement->retrieved_attrs = NIL;
	if ((rinfo->ri_TrigDesc && rinfo->ri_TrigDesc->trig_insert_after_row) ||
		rinfo->ri_WithCheckOptions != NIL ||
		(plan && plan->operation != CMD_INSERT &&
		 (plan->returningLists != NIL || plan->withCheckOptionLists != NIL)))
		statement->retrieved_attrs = list_columns(rinfo->ri_RelationDesc, true);
	else if (plan && plan->returningLists != NIL)
		statement->retrieved_attrs = list_returning_columns(mtstate, rinfo);
	statement->has_returning = statement->retrieved_attrs != NIL;
}

/*
 * Rows that an UPDATE moves here must not be met again by the same UPDATE.
 * Queries that have been sent do not see them.
 */
static void
check_row_movement(const ModifyState *modify, const ModifyTable *plan)
{
	if (exec_drain_is_below(&plan->plan))
		return;
	if (scan_group_may_see_writes(modify->estate, modify->userid,
								  modify->serverid))
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("cannot move rows to foreign table \"%s\" while its server is read",
					   RelationGetRelationName(modify->rel)),
				errdetail("The plan may send more queries to the server, which would find the rows again."),
				errhint("Disable enable_nestloop, so that the plan reads each table once."));
}

void
shardBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const ModifyTable *plan = castNode(ModifyTable, mtstate->ps.plan);
	EState	   *estate = mtstate->ps.state;
	Relation	rel = rinfo->ri_RelationDesc;
	MemoryContext old_context;
	ModifyStatement statement;
	ModifyState *modify;

	old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	statement.target_attrs = list_columns(rel, false);
	choose_returning(mtstate, rinfo, &statement);
	complete_insert(mtstate, rinfo, &statement);
	modify = make_modify(estate, rinfo, &statement, false);
	choose_bulk(modify, mtstate, rinfo, CMD_INSERT,
				plan ? exec_hooks_cover_run(estate) :
				exec_hooks_copy_correction() != NULL);
	MemoryContextSwitchTo(old_context);
	if (plan && plan->operation != CMD_INSERT)
		check_row_movement(modify, plan);
	if (rinfo->ri_FdwState)
		((ModifyState *) rinfo->ri_FdwState)->arrivals = modify;
	else
		rinfo->ri_FdwState = modify;
}

void
shardEndForeignInsert(EState *estate, ResultRelInfo *rinfo)
{
	shardEndForeignModify(estate, rinfo);
}

/* ---- rows ---- */

static Datum
get_identity(TupleTableSlot *plan_slot, AttrNumber attno)
{
	bool		is_null;
	Datum		value = ExecGetJunkAttribute(plan_slot, attno, &is_null);

	if (is_null)
		elog(ERROR, "the identity of a remote row is null");
	return value;
}

/*
 * Puts the parameters of ON CONFLICT before those of the row.
 */
static void
add_conflict_values(ModifyState *modify, RemoteQuery *query)
{
	int			nshared;
	const char *const *shared = exec_conflict_values(modify->conflict,
													 &nshared);
	const char **all;

	if (nshared == 0)
		return;
	all = palloc(sizeof(char *) * (nshared + query->nparams));
	memcpy(all, shared, sizeof(char *) * nshared);
	memcpy(all + nshared, query->param_values,
		   sizeof(char *) * query->nparams);
	query->param_values = all;
	query->nparams += nshared;
}

/*
 * The statement for one row, in the row's context.
 */
static RemoteQuery
make_row_query(ModifyState *modify, TupleTableSlot *slot,
			   TupleTableSlot *plan_slot)
{
	RemoteQuery query = {0};
	ListCell   *lc;

	foreach(lc, modify->target_attrs)
	{
		modify->values[query.nparams] =
			slot_getattr(slot, lfirst_int(lc), &modify->nulls[query.nparams]);
		query.nparams++;
	}
	if (modify->sends_identity)
	{
		modify->nulls[query.nparams] = modify->nulls[query.nparams + 1] = false;
		modify->values[query.nparams++] = get_identity(plan_slot,
													   modify->ctid_attno);
		modify->values[query.nparams++] = get_identity(plan_slot,
													   modify->tableoid_attno);
	}

	query.sql = modify->sql;
	query.param_values = param_writer_print(modify->params, modify->values,
											modify->nulls);
	add_conflict_values(modify, &query);
	query.is_reusable = true;
	if (modify->reader)
		query.binary_result = tuple_reader_wants_binary(modify->reader);
	return query;
}

static RemoteRequest *
queue_row(ModifyState *modify, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	RemoteQuery query = make_row_query(modify, slot, plan_slot);

	exec_conflict_note_statement(modify->conflict);
	if (modify->branch == NULL)
		modify->branch = coordinator_get_branch_to_write(modify->userid,
														 modify->serverid);
	return branch_queue(modify->branch, &query, BRANCH_USE_WRITE,
						scan_group_statement(modify->estate),
						modify->owner_level);
}

/*
 * Waits for the statement; true when it changed a row.  Then the slot has
 * what RETURNING gave, in its own memory.
 */
static bool
finish_row(ModifyState *modify, RemoteRequest *request, TupleTableSlot *slot)
{
	const RemoteResult *result = branch_finish(modify->branch, &request);
	bool		is_changed;

	exec_conflict_note_answer(modify->conflict, result);
	if (modify->has_returning)
	{
		is_changed = remote_result_nrows(result) > 0;
		if (is_changed)
		{
			tuple_reader_store(modify->reader, result, 0, slot);
			ExecMaterializeSlot(slot);
		}
	}
	else
		is_changed = remote_result_affected(result) > 0;
	remote_request_release(request);
	return is_changed;
}

/*
 * One row, by any of the statements.
 */
static TupleTableSlot *
modify_row(ModifyState *modify, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	MemoryContext old_context = MemoryContextSwitchTo(modify->row_context);
	bool		is_changed;

	is_changed = finish_row(modify, queue_row(modify, slot, plan_slot), slot);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(modify->row_context);
	return is_changed ? slot : NULL;
}

/*
 * The row-level security of the partitioned table that the statement names.
 * Core checks it only for rows of tables of its own.
 */
static void
check_policies(const ModifyState *modify, ResultRelInfo *rinfo,
			   TupleTableSlot *slot)
{
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(modify->policy_kind, rinfo, slot, modify->estate);
}

/*
 * A row of a partition that was not found by tuple routing, or that a trigger
 * may have changed since, need not belong there.  Core leaves that to COPY.
 */
static void
check_new_row(const ModifyState *modify, ResultRelInfo *rinfo,
			  TupleTableSlot *slot)
{
	const TriggerDesc *triggers = rinfo->ri_TrigDesc;

	check_policies(modify, rinfo, slot);
	if (modify->rel->rd_rel->relispartition &&
		(rinfo->ri_RootResultRelInfo == NULL ||
		 (triggers && triggers->trig_insert_before_row)))
		(void) ExecPartitionCheck(rinfo, slot, modify->estate, true);
}

/*
 * May the row still be sent later?  Once queries of the plan may be sent for
 * the table, rows that are wanted back go one by one.
 */
static bool
start_bulk(ModifyState *modify, ResultRelInfo *rinfo)
{
	BulkTarget	target = {0};

	if (!modify->is_bulk || modify->writer || modify->returned)
		return modify->is_bulk;
	if (modify->returning &&
		scan_group_may_see_table(modify->estate, modify->userid,
								 modify->serverid,
								 RelationGetRelid(modify->rel)))
		return modify->is_bulk = false;

	target.estate = modify->estate;
	target.rel = modify->rel;
	target.userid = modify->userid;
	target.serverid = modify->serverid;
	target.operation = modify->operation;
	target.attrs = modify->target_attrs;
	target.params = modify->params;
	target.conflict = modify->conflict;
	target.batch_size = modify->batch_size;
	target.counter = modify->counter;
	target.returning_attrs = modify->returning_attrs;
	if (modify->returning)
		modify->returned = exec_returning_add_table(modify->returning, rinfo,
													&target, modify->reader);
	else
		modify->writer = bulk_create(&target);
	return true;
}

TupleTableSlot *
shardExecForeignInsert(EState *estate, ResultRelInfo *rinfo,
					   TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	ModifyState *modify = rinfo->ri_FdwState;

	if (modify->arrivals)
		modify = modify->arrivals;
	check_new_row(modify, rinfo, slot);
	if (!start_bulk(modify, rinfo))
		return modify_row(modify, slot, planSlot);
	if (modify->returned)
		exec_returning_put_off(modify->returned, slot);
	else
		(void) bulk_add(modify->writer, slot);
	return slot;
}

/*
 * UPDATE or DELETE of a row.  It has been locked when it was read, so only a
 * trigger on the shard, or this statement itself, can keep it from being
 * changed now.
 */
static TupleTableSlot *
change_row(ModifyState *modify, ResultRelInfo *rinfo, TupleTableSlot *slot,
		   TupleTableSlot *plan_slot)
{
	MemoryContext old_context;
	RemoteQuery query;

	if (!start_bulk(modify, rinfo))
		return modify_row(modify, slot, plan_slot);
	old_context = MemoryContextSwitchTo(modify->row_context);
	query = make_row_query(modify, slot, plan_slot);
	bulk_put_off(modify->writer, &query);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(modify->row_context);
	return slot;
}

/*
 * The row goes to another partition, as DELETE and INSERT.
 */
static TupleTableSlot *
move_row(ModifyState *modify, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	row_mover_route(modify->mover, slot);
	if (modify_row(modify->departures, slot, plan_slot) == NULL ||
		!row_mover_insert(modify->mover, slot, plan_slot))
		return NULL;
	return slot;
}

TupleTableSlot *
shardExecForeignUpdate(EState *estate, ResultRelInfo *rinfo,
					   TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	ModifyState *modify = rinfo->ri_FdwState;

	if (modify->mover && !row_mover_is_staying(modify->mover, slot))
		return move_row(modify, slot, planSlot);
	check_policies(modify, rinfo, slot);
	return change_row(modify, rinfo, slot, planSlot);
}

TupleTableSlot *
shardExecForeignDelete(EState *estate, ResultRelInfo *rinfo,
					   TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	return change_row(rinfo->ri_FdwState, rinfo, slot, planSlot);
}

/* ---- batches ---- */

/*
 * Where the shard's version of each row is needed, batching would gain little
 * and core does not do it.  A BulkWriter makes its own batches, without core's
 * copy of each row.
 */
int
shardGetForeignModifyBatchSize(ResultRelInfo *rinfo)
{
	const TriggerDesc *triggers = rinfo->ri_TrigDesc;
	const ModifyState *modify = rinfo->ri_FdwState;

	if (rinfo->ri_projectReturning || rinfo->ri_WithCheckOptions != NIL ||
		(modify && (modify->has_returning || modify->is_bulk)))
		return 1;
	if (triggers &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row))
		return 1;
	return Max(table_cache_options(RelationGetRelid(rinfo->ri_RelationDesc))->batch_size,
			   1);
}

/*
 * The slots are core's and stay in its order; what is returned is an array of
 * those that were inserted.
 */
TupleTableSlot **
shardExecForeignBatchInsert(EState *estate, ResultRelInfo *rinfo,
							TupleTableSlot **slots, TupleTableSlot **planSlots,
							int *numSlots)
{
	ModifyState *modify = rinfo->ri_FdwState;
	MemoryContext old_context;
	RemoteRequest **requests;
	TupleTableSlot **inserted;
	int			ninserted = 0;
	int			row;

	MemoryContextReset(modify->row_context);
	old_context = MemoryContextSwitchTo(modify->row_context);
	requests = palloc(sizeof(RemoteRequest *) * *numSlots);
	inserted = palloc(sizeof(TupleTableSlot *) * *numSlots);
	for (row = 0; row < *numSlots; row++)
		check_new_row(modify, rinfo, slots[row]);
	for (row = 0; row < *numSlots; row++)
		requests[row] = queue_row(modify, slots[row], NULL);
	(void) remote_request_finish_all(requests, *numSlots, 0);
	for (row = 0; row < *numSlots; row++)
	{
		if (finish_row(modify, requests[row], slots[row]))
			inserted[ninserted++] = slots[row];
	}
	MemoryContextSwitchTo(old_context);
	*numSlots = ninserted;
	return inserted;
}

/* ---- TRUNCATE ---- */

/*
 * Core calls this once for each server, and none needs to wait for another.
 */
void
shardExecForeignTruncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	Oid			serverid = InvalidOid;
	TxnBranch  *branch;
	RemoteRequest *request;
	RemoteQuery query = {0};
	StringInfoData sql;
	ListCell   *lc;

	foreach(lc, rels)
	{
		Relation	rel = lfirst(lc);

		if (!table_cache_options(RelationGetRelid(rel))->is_truncatable)
			ereport(ERROR,
					errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("foreign table \"%s\" does not allow truncates",
						   RelationGetRelationName(rel)));
		serverid = GetForeignServerIdByRelId(RelationGetRelid(rel));
	}

	initStringInfo(&sql);
	remote_sql_truncate(&sql, rels, behavior == DROP_CASCADE, restart_seqs);
	query.sql = sql.data;
	branch = coordinator_get_branch_to_write(GetUserId(), serverid);
	request = branch_queue(branch, &query, BRANCH_USE_WRITE,
						   coordinator_next_statement(),
						   GetCurrentTransactionNestLevel());
	pfree(sql.data);
	branch_flush(branch);
	if (exec_hooks_put_off_truncate(branch, request))
		return;
	(void) remote_request_finish(request);
	remote_request_release(request);
}
