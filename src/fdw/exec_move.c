/*-------------------------------------------------------------------------
 *
 * exec_move.c
 *	  Rows that an UPDATE moves from a table on a shard to another partition.
 *
 * The row goes through the tuple routing of the table that the UPDATE names,
 * which is set up as core does for rows that leave a local partition, and
 * which core also takes down.
 *
 * Triggers.  On the shards it is a DELETE and an INSERT, and their triggers
 * fire.  Local INSERT triggers of the partition that gets the row fire here.
 * Those of the table that it leaves would have to be for DELETE, of which
 * core knows nothing; with such triggers no row leaves.
 *
 * Core evaluates RETURNING on the row of the table that it took the row from,
 * so the inserted row is converted back.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"

#include "fdw/exec_move.h"

struct RowMover
{
	ModifyTableState *mtstate;
	ResultRelInfo *source;
	bool		is_checked;
	TupleConversionMap *to_root;	/* from the source; NULL: the same columns */
	TupleConversionMap *from_root;	/* to the source */
	TupleTableSlot *root_slot;

	/* of the row routed last */
	ResultRelInfo *target;
	TupleTableSlot *target_slot;
	TupleConversionMap *from_target;	/* to the root; of from_target_of */
	ResultRelInfo *from_target_of;
};

RowMover *
row_mover_create(ModifyTableState *mtstate, ResultRelInfo *source)
{
	MemoryContext context = mtstate->ps.state->es_query_cxt;
	RowMover   *mover = MemoryContextAllocZero(context, sizeof(RowMover));

	mover->mtstate = mtstate;
	mover->source = source;
	return mover;
}

bool
row_mover_is_staying(RowMover *mover, TupleTableSlot *slot)
{
	return ExecPartitionCheck(mover->source, slot, mover->mtstate->ps.state,
							  false);
}

/* ---- can it be moved? ---- */

static bool
returns_tableoid(const RowMover *mover)
{
	Bitmapset  *used = NULL;
	Index		rtindex = mover->source->ri_RangeTableIndex;

	pull_varattnos((Node *) mover->source->ri_returningList, rtindex, &used);
	return bms_is_member(TableOidAttributeNumber -
						 FirstLowInvalidHeapAttributeNumber, used);
}

static void
refuse(const RowMover *mover, const char *detail, const char *hint)
{
	ereport(ERROR,
			errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("cannot move row from foreign table \"%s\" to another partition",
				   RelationGetRelationName(mover->source->ri_RelationDesc)),
			errdetail("%s", detail),
			hint ? errhint("%s", hint) : 0);
}

/* Once for a statement, when the first row is about to leave. */
static void
check_source(RowMover *mover)
{
	const TriggerDesc *triggers = mover->source->ri_TrigDesc;

	if (triggers && (triggers->trig_update_after_row ||
					 triggers->trig_delete_before_row ||
					 triggers->trig_delete_after_row))
		refuse(mover,
			   "The table has row triggers that run after UPDATE, or for DELETE.",
			   "Create the triggers on the remote table.");
	if (mover->mtstate->mt_transition_capture)
		refuse(mover, "A trigger uses transition tables.", NULL);
	if (returns_tableoid(mover))
		refuse(mover, "RETURNING uses the system column tableoid.", NULL);
	mover->is_checked = true;
}

/* ---- the way there ---- */

static void
set_up_routing(RowMover *mover)
{
	ModifyTableState *mtstate = mover->mtstate;
	EState	   *estate = mtstate->ps.state;
	Relation	root = mtstate->rootResultRelInfo->ri_RelationDesc;
	TupleDesc	root_desc = RelationGetDescr(root);
	TupleDesc	source_desc;
	MemoryContext old_context;

	if (mover->root_slot)
		return;
	old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	if (mtstate->mt_partition_tuple_routing == NULL)
	{
		mtstate->mt_partition_tuple_routing =
			ExecSetupPartitionTupleRouting(estate, root);
		mtstate->mt_root_tuple_slot = table_slot_create(root, NULL);
	}
	source_desc = RelationGetDescr(mover->source->ri_RelationDesc);
	mover->to_root = convert_tuples_by_name(source_desc, root_desc);
	mover->from_root = convert_tuples_by_name(root_desc, source_desc);
	mover->root_slot = ExecInitExtraTupleSlot(estate, root_desc,
											  &TTSOpsVirtual);
	MemoryContextSwitchTo(old_context);
}

static TupleTableSlot *
convert(const TupleConversionMap *map, TupleTableSlot *from,
		TupleTableSlot *into)
{
	if (map)
		return execute_attr_map_slot(map->attrMap, from, into);
	return ExecCopySlot(into, from);
}

/* The slot of the partition's own kind, in which the row is to be inserted. */
static void
prepare_target(RowMover *mover, TupleTableSlot *root_slot)
{
	EState	   *estate = mover->mtstate->ps.state;
	Relation	rel = mover->target->ri_RelationDesc;
	MemoryContext old_context;
	TupleConversionMap *to_target;

	old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	if (mover->from_target_of != mover->target)
	{
		mover->from_target =
			convert_tuples_by_name(RelationGetDescr(rel),
								   root_slot->tts_tupleDescriptor);
		mover->target_slot = table_slot_create(rel, &estate->es_tupleTable);
		mover->from_target_of = mover->target;
	}
	to_target = convert_tuples_by_name(root_slot->tts_tupleDescriptor,
									   RelationGetDescr(rel));
	MemoryContextSwitchTo(old_context);
	convert(to_target, root_slot, mover->target_slot);
	ExecMaterializeSlot(mover->target_slot);
	if (to_target)
		free_conversion_map(to_target);
}

void
row_mover_route(RowMover *mover, TupleTableSlot *slot)
{
	ModifyTableState *mtstate = mover->mtstate;
	EState	   *estate = mtstate->ps.state;
	ResultRelInfo *root = mtstate->rootResultRelInfo;

	if (root == mover->source ||
		root->ri_RelationDesc->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ExecPartitionCheckEmitError(mover->source, slot, estate);
	if (!mover->is_checked)
		check_source(mover);
	set_up_routing(mover);
	convert(mover->to_root, slot, mover->root_slot);
	mover->target = ExecFindPartition(mtstate, root,
									  mtstate->mt_partition_tuple_routing,
									  mover->root_slot, estate);
	prepare_target(mover, mover->root_slot);
}

/* ---- arrival ---- */

static TupleTableSlot *
insert_foreign(RowMover *mover, TupleTableSlot *plan_slot)
{
	EState	   *estate = mover->mtstate->ps.state;
	ResultRelInfo *target = mover->target;
	const TriggerDesc *triggers = target->ri_TrigDesc;
	TupleTableSlot *slot = mover->target_slot;

	if (triggers && triggers->trig_insert_before_row &&
		!ExecBRInsertTriggers(estate, target, slot))
		return NULL;
	slot = target->ri_FdwRoutine->ExecForeignInsert(estate, target, slot,
													plan_slot);
	if (slot)
	{
		slot->tts_tableOid = RelationGetRelid(target->ri_RelationDesc);
		ExecARInsertTriggers(estate, target, slot, NIL, NULL);
	}
	return slot;
}

/*
 * The triggers may have changed the row when its policies are to be checked.
 */
static TupleTableSlot *
insert_local(RowMover *mover)
{
	EState	   *estate = mover->mtstate->ps.state;
	ResultRelInfo *target = mover->target;

	if (target->ri_RelationDesc->rd_rel->relhasindex &&
		target->ri_IndexRelationDescs == NULL)
		ExecOpenIndices(target, false);
	ExecSimpleRelationInsert(target, estate, mover->target_slot);
	if (target->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_RLS_UPDATE_CHECK, target, mover->target_slot,
							 estate);
	return mover->target_slot;
}

bool
row_mover_insert(RowMover *mover, TupleTableSlot *slot,
				 TupleTableSlot *plan_slot)
{
	TupleTableSlot *inserted = mover->target->ri_FdwRoutine ?
	insert_foreign(mover, plan_slot) : insert_local(mover);

	if (inserted == NULL)
		return false;
	convert(mover->from_target, inserted, mover->root_slot);
	convert(mover->from_root, mover->root_slot, slot);
	ExecMaterializeSlot(slot);
	return true;
}
