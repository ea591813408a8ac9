/*-------------------------------------------------------------------------
 *
 * bulk_insert.h
 *	  Many rows on their way to shards.
 *
 * A BulkWriter takes the rows that a statement inserts into one foreign
 * table, keeps some of them, and sends them so that all shards are at work at
 * the same time: at first by INSERT with several rows, then, if there are
 * many and the shard's table allows it, by COPY.  Memory is bounded per
 * shard: who adds faster than a shard takes has to wait.
 *
 * A row is not known to be inserted when bulk_add() returns, so this is for
 * rows that nobody needs to see again, or only when an answer has come.  An
 * error of the shard is raised by a
 * later call, at the latest by bulk_finish(), which must be called before the
 * statement ends, and corrects the number of rows that core has counted.
 * Whoever queues anything else on the branch has the rows sent first (see
 * branch_set_flush_put_off()), so later statements see them.
 *
 * A writer lives in the EState's query context and goes with it.  The
 * functions wait and raise.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_BULK_INSERT_H
#define SHARD_FDW_FDW_BULK_INSERT_H

#include "nodes/execnodes.h"

#include "fdw/exec_conflict.h"
#include "fdw/tuple_io.h"
#include "remote/remote_request.h"
#include "txn/branch.h"

typedef struct BulkWriter BulkWriter;

/*
 * Is given each statement of INSERT that the shard has carried out, in the
 * order of the rows, and releases it.  nrows is how many rows were sent.
 */
typedef void (*BulkTakeAnswer) (void *taker, RemoteRequest *request,
								uint64 nrows);

typedef struct BulkTarget
{
	EState	   *estate;
	Relation	rel;
	Oid			userid;
	Oid			serverid;
	CmdType		operation;		/* INSERT is for bulk_add(), UPDATE and DELETE
								 * for bulk_put_off() */
	List	   *attrs;			/* attnos to send; NIL for DELETE */
	ParamWriter *params;		/* which prints them */
	ExecConflict *conflict;		/* or NULL */
	int			batch_size;		/* most rows of one INSERT */
	List	   *returning_attrs;	/* columns that take_answer wants */
	BulkTakeAnswer take_answer; /* where the rows are wanted; else NULL */
	void	   *taker;
	uint64	   *counter;		/* where the rows have been counted, to be
								 * lowered by those the shard leaves out; or
								 * NULL */
} BulkTarget;

/* Copies the struct, not what it points to. */
extern BulkWriter *bulk_create(const BulkTarget *target);

/*
 * The slot's content is not needed after the call.  Returns the bytes that the
 * row takes.
 */
extern Size bulk_add(BulkWriter *writer, TupleTableSlot *slot);

/*
 * Takes a statement that is expected to change one row: the attrs, ctid and
 * tableoid are its parameters, and the others of the writer differ in them
 * only.  Does not wait for its answer.
 */
extern void bulk_put_off(BulkWriter *writer, const RemoteQuery *query);

/* Has a writer of the EState rows that are held back? */
extern bool bulk_is_holding(const EState *estate);

/* Sends and awaits all that the EState's writers have. */
extern void bulk_finish(EState *estate);

/* The same for the writers in the list. */
extern void bulk_finish_writers(List *list);

/*
 * The same for what is to be written on a branch, by any statement.  Of the
 * one that is given, rows stay that its queries must not see.
 */
extern void bulk_finish_branch(TxnBranch *branch, uint64 statement);

#endif							/* SHARD_FDW_FDW_BULK_INSERT_H */
