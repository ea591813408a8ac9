/*-------------------------------------------------------------------------
 *
 * remote_conflict.h
 *	  The text of ON CONFLICT for a shard.
 *
 * The clause is one that plan_conflict.h has put into a plan: its Vars have
 * varno REMOTE_CONFLICT_TABLE for the row that is in the way, which has the
 * alias r1 in the remote statement, and REMOTE_CONFLICT_EXCLUDED for EXCLUDED.
 *
 * Which unique index decides is the shard's choice, as the coordinator has
 * none; the columns are only passed on.
 *
 * Results are palloc'd in the current context.  Raises where the shard cannot
 * evaluate an expression.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_REMOTE_CONFLICT_H
#define SHARD_FDW_FDW_REMOTE_CONFLICT_H

#include "nodes/primnodes.h"
#include "utils/rel.h"

#define REMOTE_CONFLICT_TABLE 1
#define REMOTE_CONFLICT_EXCLUDED 2

typedef struct RemoteConflict
{
	const char *text;			/* what follows the rows of INSERT */
	bool		is_update;		/* DO UPDATE */
	List	   *params;			/* expressions: $1, $2, ... of the statement,
								 * before those of the rows */

	/* of DO UPDATE */
	const char *key;			/* for RETURNING: what the unique index holds
								 * of a row */
	int			nkeys;			/* columns of key */
	bool		is_key_fixed;	/* the update leaves the key as it is */
} RemoteConflict;

/* ON CONFLICT DO NOTHING, whatever the row collides with. */
extern const RemoteConflict remote_conflict_nothing;

/*
 * The clause for a table; its columns are those of parent, which may be the
 * table itself, and are found by name.
 */
extern RemoteConflict *remote_conflict_create(const OnConflictExpr *clause,
											  Oid parent, Relation rel);

#endif							/* SHARD_FDW_FDW_REMOTE_CONFLICT_H */
