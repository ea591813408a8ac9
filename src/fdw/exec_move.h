/*-------------------------------------------------------------------------
 *
 * exec_move.h
 *	  Rows that an UPDATE moves from a table on a shard to another partition.
 *
 * Core moves rows out of local partitions only, and asks no wrapper whether a
 * row still belongs to its foreign table.  So exec_modify.c asks here before
 * it updates a row; one that does not belong there any more it deletes, and
 * this module inserts it where it belongs, be that on a shard or local.
 *
 * A RowMover lives in the query's memory context.  The functions may wait and
 * raise.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_MOVE_H
#define SHARD_FDW_FDW_EXEC_MOVE_H

#include "nodes/execnodes.h"

typedef struct RowMover RowMover;

/* For a table that an UPDATE may take rows from. */
extern RowMover *row_mover_create(ModifyTableState *mtstate,
								  ResultRelInfo *source);

/* Does the new row belong to the table? */
extern bool row_mover_is_staying(RowMover *mover, TupleTableSlot *slot);

/*
 * Finds the partition for a row that does not.  Raises if there is none, or
 * if the row cannot be moved there; that is, before anything is changed.
 */
extern void row_mover_route(RowMover *mover, TupleTableSlot *slot);

/*
 * Inserts the row routed last; false if it has been left out.  Then the slot
 * has the row as inserted.
 */
extern bool row_mover_insert(RowMover *mover, TupleTableSlot *slot,
							 TupleTableSlot *plan_slot);

#endif							/* SHARD_FDW_FDW_EXEC_MOVE_H */
