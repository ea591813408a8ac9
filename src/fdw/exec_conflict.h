/*-------------------------------------------------------------------------
 *
 * exec_conflict.h
 *	  ON CONFLICT while an INSERT runs, for one foreign table.
 *
 * No command may write a row twice by ON CONFLICT DO UPDATE.  A shard sees to
 * that within one statement; where a command takes several, this does, by the
 * keys that they return.  Keys are kept as digests of 128 bits, some 40 bytes
 * a row in all.
 *
 * Lives in the query's memory context.  Nothing here waits; what may raise is
 * told at the functions.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_CONFLICT_H
#define SHARD_FDW_FDW_EXEC_CONFLICT_H

#include "nodes/execnodes.h"

#include "fdw/remote_conflict.h"
#include "remote/remote_request.h"

typedef struct ExecConflict ExecConflict;

/*
 * For a table that is inserted into; NULL where the plan has no ON CONFLICT.
 * Raises where the clause cannot be served.
 */
extern ExecConflict *exec_conflict_create(ModifyTableState *mtstate,
										  ResultRelInfo *rinfo);

/* The clause for RemoteInsert; of NULL NULL. */
extern const RemoteConflict *exec_conflict_clause(const ExecConflict *conflict);

/* Is RemoteInsert.returns_key to be set? */
extern bool exec_conflict_wants_key(const ExecConflict *conflict);

/*
 * The values of the clause's parameters, which are evaluated once for all
 * rows; *nvalues gets their number.  conflict may be NULL here and below.
 */
extern const char *const *exec_conflict_values(ExecConflict *conflict,
											   int *nvalues);

/* One more statement is to be sent.  Raises where only one is possible. */
extern void exec_conflict_note_statement(ExecConflict *conflict);

/*
 * Its answer is there.  Raises if a row has been written by an earlier
 * statement.
 */
extern void exec_conflict_note_answer(ExecConflict *conflict,
									  const RemoteResult *result);

#endif							/* SHARD_FDW_FDW_EXEC_CONFLICT_H */
