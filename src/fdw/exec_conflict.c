/*-------------------------------------------------------------------------
 *
 * exec_conflict.c
 *	  ON CONFLICT while an INSERT runs, for one foreign table.
 *
 * Keys are compared by their text.  It is that of the stored row, so that
 * values which are equal but look different cannot hide a second write.  An
 * update that changes the key itself hides it, and has to do with a single
 * statement.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/hsearch.h"
#include "utils/rel.h"

#include "fdw/exec_conflict.h"
#include "fdw/plan_conflict.h"
#include "fdw/tuple_io.h"

typedef struct Digest
{
	uint64		parts[2];
} Digest;

struct ExecConflict
{
	ModifyTableState *mtstate;
	Relation	rel;
	const RemoteConflict *clause;
	const char **values;		/* NULL until they are asked for */
	bool		is_sent;		/* a statement */
	HTAB	   *written;		/* Digests */
	StringInfoData key;			/* scratch */
};

/* ---- the clause ---- */

/* Whether a row is inserted or updated is known to the shard only. */
static void
check_triggers(const ModifyTableState *mtstate, const ResultRelInfo *rinfo)
{
	const TriggerDesc *triggers = rinfo->ri_TrigDesc;

	if ((triggers && (triggers->trig_insert_after_row ||
					  triggers->trig_update_before_row ||
					  triggers->trig_update_after_row)) ||
		mtstate->mt_transition_capture || mtstate->mt_oc_transition_capture)
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("ON CONFLICT DO UPDATE is not supported on foreign table \"%s\" with triggers",
					   RelationGetRelationName(rinfo->ri_RelationDesc)),
				errdetail("Row triggers that run after INSERT or for UPDATE, and transition tables, cannot be served."),
				errhint("Create the triggers on the remote table."));
}

static const RemoteConflict *
choose_clause(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	const OnConflictExpr *expr = plan_conflict_clause(plan);
	Relation	parent = mtstate->rootResultRelInfo->ri_RelationDesc;
	Relation	rel = rinfo->ri_RelationDesc;
	RemoteConflict *clause;

	if (expr)
	{
		clause = remote_conflict_create(expr, RelationGetRelid(parent), rel);
		if (clause->is_update)
			check_triggers(mtstate, rinfo);
		return clause;
	}
	if (plan == NULL || plan->onConflictAction == ONCONFLICT_NONE)
		return NULL;
	if (plan->onConflictAction != ONCONFLICT_NOTHING ||
		plan->arbiterIndexes != NIL)
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("cannot insert into foreign table \"%s\" with this ON CONFLICT clause",
					   RelationGetRelationName(rel)));
	return &remote_conflict_nothing;
}

static HTAB *
create_digests(MemoryContext context)
{
	HASHCTL		control;

	control.keysize = control.entrysize = sizeof(Digest);
	control.hcxt = context;
	return hash_create("shard_fdw rows written by ON CONFLICT", 256, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

ExecConflict *
exec_conflict_create(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	MemoryContext context = mtstate->ps.state->es_query_cxt;
	MemoryContext old_context = MemoryContextSwitchTo(context);
	const RemoteConflict *clause = choose_clause(mtstate, rinfo);
	ExecConflict *conflict = NULL;

	if (clause)
	{
		conflict = palloc0(sizeof(ExecConflict));
		conflict->mtstate = mtstate;
		conflict->rel = rinfo->ri_RelationDesc;
		conflict->clause = clause;
		initStringInfo(&conflict->key);
	}
	MemoryContextSwitchTo(old_context);
	return conflict;
}

const RemoteConflict *
exec_conflict_clause(const ExecConflict *conflict)
{
	return conflict ? conflict->clause : NULL;
}

bool
exec_conflict_wants_key(const ExecConflict *conflict)
{
	return conflict && conflict->clause->is_update &&
		conflict->clause->is_key_fixed;
}

/* ---- parameters ---- */

static void
evaluate_params(ExecConflict *conflict, int nparams)
{
	ExprContext *econtext = CreateExprContext(conflict->mtstate->ps.state);
	Datum	   *values = palloc(sizeof(Datum) * nparams);
	bool	   *nulls = palloc(sizeof(bool) * nparams);
	Oid		   *types = palloc(sizeof(Oid) * nparams);
	int			param;

	for (param = 0; param < nparams; param++)
	{
		Expr	   *expr = list_nth(conflict->clause->params, param);
		ExprState  *state = ExecInitExpr(expr, &conflict->mtstate->ps);

		types[param] = exprType((Node *) expr);
		values[param] = ExecEvalExpr(state, econtext, &nulls[param]);
	}
	conflict->values = palloc(sizeof(char *) * nparams);
	memcpy(conflict->values,
		   param_writer_print(param_writer_create(nparams, types),
							  values, nulls),
		   sizeof(char *) * nparams);
	FreeExprContext(econtext, true);
}

const char *const *
exec_conflict_values(ExecConflict *conflict, int *nvalues)
{
	*nvalues = conflict ? list_length(conflict->clause->params) : 0;
	if (*nvalues == 0)
		return NULL;
	if (conflict->values == NULL)
	{
		EState	   *estate = conflict->mtstate->ps.state;
		MemoryContext old_context;

		old_context = MemoryContextSwitchTo(estate->es_query_cxt);
		evaluate_params(conflict, *nvalues);
		MemoryContextSwitchTo(old_context);
	}
	return (const char *const *) conflict->values;
}

/* ---- rows written ---- */

void
exec_conflict_note_statement(ExecConflict *conflict)
{
	if (conflict == NULL || !conflict->clause->is_update)
		return;
	if (conflict->is_sent && !conflict->clause->is_key_fixed)
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("too many rows for an ON CONFLICT DO UPDATE that changes the columns of its conflict target"),
				errdetail("The rows for foreign table \"%s\" take more than one remote statement.",
						  RelationGetRelationName(conflict->rel)),
				errhint("Insert fewer rows at a time."));
	conflict->is_sent = true;
}

/* False for a key with NULL, which collides with nothing. */
static bool
collect_key(ExecConflict *conflict, const RemoteResult *result, int row)
{
	int			ncolumns = remote_result_nfields(result);
	int			col;

	resetStringInfo(&conflict->key);
	for (col = ncolumns - conflict->clause->nkeys; col < ncolumns; col++)
	{
		if (remote_result_is_null(result, row, col))
			return false;
		appendBinaryStringInfo(&conflict->key,
							   remote_result_value(result, row, col),
							   remote_result_length(result, row, col) + 1);
	}
	return true;
}

static bool
is_written(ExecConflict *conflict)
{
	const unsigned char *data = (unsigned char *) conflict->key.data;
	Digest		digest;
	bool		is_found;

	digest.parts[0] = hash_bytes_extended(data, conflict->key.len, 0);
	digest.parts[1] = hash_bytes_extended(data, conflict->key.len, 1);
	(void) hash_search(conflict->written, &digest, HASH_ENTER, &is_found);
	return is_found;
}

void
exec_conflict_note_answer(ExecConflict *conflict, const RemoteResult *result)
{
	int			nrows;
	int			row;

	if (!exec_conflict_wants_key(conflict))
		return;
	if (conflict->written == NULL)
		conflict->written =
			create_digests(conflict->mtstate->ps.state->es_query_cxt);
	nrows = remote_result_nrows(result);
	for (row = 0; row < nrows; row++)
	{
		if (collect_key(conflict, result, row) && is_written(conflict))
			ereport(ERROR,
					errcode(ERRCODE_CARDINALITY_VIOLATION),
					errmsg("ON CONFLICT DO UPDATE command cannot affect row a second time"),
					errhint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values."));
	}
}
