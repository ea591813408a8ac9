/*-------------------------------------------------------------------------
 *
 * exec_returning.h
 *	  INSERT ... RETURNING of many rows, whose answers come later.
 *
 * Core wants the row as inserted before it goes on to the next, which takes a
 * round trip for each.  So plan_returning.h puts a node above such an INSERT.
 * For each row the foreign table takes a place in it, and core is given the
 * row as it was sent, which nobody looks at.  When the node has a batch, or
 * there are no more rows, all shards are awaited together, and RETURNING is
 * computed from the rows that they have returned, in the order of the places.
 * A place whose row the shard has left out gives none.
 *
 * Rows that do not have to be waited for, as those of local partitions, are
 * kept until it is their turn.
 *
 * The node and all that belongs to it live in the query's memory context.
 * The functions wait and raise where they are not said to only look.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_RETURNING_H
#define SHARD_FDW_FDW_EXEC_RETURNING_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "fdw/bulk_insert.h"
#include "fdw/tuple_io.h"

typedef struct ReturningNode ReturningNode;
typedef struct ReturningTable ReturningTable;

extern const CustomScanMethods exec_returning_methods;

/* Called by _PG_init(). */
extern void exec_returning_init(void);

/* The node above an INSERT, NULL if there is none.  Only looks. */
extern ReturningNode *exec_returning_find(const ModifyTableState *mtstate);

/*
 * A foreign table that the INSERT writes.  What target says of answers is set
 * here; reader is NULL where RETURNING needs no column of the table.
 */
extern ReturningTable *exec_returning_add_table(ReturningNode *node,
												ResultRelInfo *rinfo,
												BulkTarget *target,
												TupleReader *reader);

/* Sends the row, now or later, and gives it a place. */
extern void exec_returning_put_off(ReturningTable *table,
								   TupleTableSlot *slot);

#endif							/* SHARD_FDW_FDW_EXEC_RETURNING_H */
