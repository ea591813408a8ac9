/*-------------------------------------------------------------------------
 *
 * plan_sample.c
 *	  TABLESAMPLE of a table whose partitions are on shards.
 *
 * Each shard samples its own part.  Only the two methods that every server has
 * are left to it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tsmapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "fdw/plan_sample.h"

static const TableSampleClause *
wanted_sample(PlannerInfo *root, Index rtindex)
{
	return planner_rt_fetch(rtindex, root)->tablesample;
}

bool
plan_sample_is_wanted(PlannerInfo *root, Index rtindex)
{
	return wanted_sample(root, rtindex) != NULL;
}

/* The name of the method, or NULL if the shard may not have it. */
static const char *
method_name(const TableSampleClause *sample)
{
	switch (sample->tsmhandler)
	{
		case F_BERNOULLI:
			return "bernoulli";
		case F_SYSTEM:
			return "system";
		default:
			return NULL;
	}
}

/* Has it the same value for the whole scan, and can it be sent? */
static bool
is_sendable(Node *expr, const ShipScope *scope)
{
	return !contain_var_clause(expr) && shippable_expr(expr, scope);
}

static bool
is_shippable_sample(const TableSampleClause *sample, const ShipScope *scope)
{
	const ListCell *cell;

	if (method_name(sample) == NULL)
		return false;
	foreach(cell, sample->args)
	{
		if (!is_sendable(lfirst(cell), scope))
			return false;
	}
	return sample->repeatable == NULL ||
		is_sendable((Node *) sample->repeatable, scope);
}

void
plan_sample_set_size(PlannerInfo *root, RelOptInfo *baserel,
					 const ShipScope *scope)
{
	const TableSampleClause *sample = wanted_sample(root, baserel->relid);
	TsmRoutine *method;

	if (sample == NULL)
		return;
	if (!is_shippable_sample(sample, scope))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot apply this TABLESAMPLE clause to foreign table \"%s\"",
						get_rel_name(planner_rt_fetch(baserel->relid, root)->relid)),
				 errdetail("The remote server can be given the methods BERNOULLI and SYSTEM, with arguments that have one value for the whole query.")));
	if (baserel->tuples <= 0)
		return;
	method = GetTsmRoutine(sample->tsmhandler);
	method->SampleScanGetSampleSize(root, baserel, sample->args,
									&baserel->pages, &baserel->tuples);
}

void
plan_sample_append(StringInfo buf, RemoteExprContext *context, Index rtindex)
{
	const TableSampleClause *sample = wanted_sample(context->root, rtindex);
	const char *separator = "";
	const ListCell *cell;

	if (sample == NULL)
		return;
	appendStringInfo(buf, " TABLESAMPLE pg_catalog.%s (", method_name(sample));
	foreach(cell, sample->args)
	{
		appendStringInfoString(buf, separator);
		remote_expr_append(buf, context, lfirst(cell));
		separator = ", ";
	}
	appendStringInfoChar(buf, ')');
	if (sample->repeatable == NULL)
		return;
	appendStringInfoString(buf, " REPEATABLE (");
	remote_expr_append(buf, context, (Node *) sample->repeatable);
	appendStringInfoChar(buf, ')');
}
