/*-------------------------------------------------------------------------
 *
 * plan_cost.c
 *	  Estimates for remote queries.
 *
 * The cost of a remote scan has three parts: option fdw_startup_cost for the
 * trip, what the shard spends, and fdw_tuple_cost for each row that travels.
 * The shard's part matters when the same table can be read in different ways:
 * as a whole, or by key once for each row of the other side of a nested loop.
 * We do not know the shard's indexes, so the guess is that there is one for
 * an equality with a column, and that the shard takes the cheaper way.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/htup_details.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "fdw/fdw_relinfo.h"
#include "fdw/plan_cost.h"
#include "fdw/plan_generic.h"

/*
 * Pages of a table that was never analyzed, which autovacuum does not do for
 * foreign tables.  Tables are put on shards because they are large, and
 * taking a large table for a small one costs more than the opposite.
 */
#define UNKNOWN_TABLE_PAGES 100

/* what one FETCH should bring */
#define FETCH_TARGET_BYTES	(1024 * 1024)
#define FETCH_MIN_ROWS		10
#define FETCH_MAX_ROWS		10000

static bool
is_column(Node *node, const FdwRelInfo *info)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node && IsA(node, Var) &&
		bms_is_member(((Var *) node)->varno, info->relids);
}

/* An equality of a column of ours with something that is none? */
static bool
is_key_clause(Node *clause, const FdwRelInfo *info)
{
	List	   *args;
	Oid			operator;
	Node	   *left;
	Node	   *right;

	if (IsA(clause, OpExpr))
	{
		args = ((OpExpr *) clause)->args;
		operator = ((OpExpr *) clause)->opno;
	}
	else if (IsA(clause, ScalarArrayOpExpr) &&
			 ((ScalarArrayOpExpr *) clause)->useOr)
	{
		args = ((ScalarArrayOpExpr *) clause)->args;
		operator = ((ScalarArrayOpExpr *) clause)->opno;
	}
	else
		return false;
	if (list_length(args) != 2)
		return false;
	left = linitial(args);
	right = lsecond(args);
	return op_mergejoinable(operator, exprType(left)) &&
		is_column(left, info) != is_column(right, info);
}

static bool
has_key_clause(List *conds, const FdwRelInfo *info)
{
	ListCell   *cell;

	foreach(cell, conds)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (is_key_clause((Node *) cond->clause, info))
			return true;
	}
	return false;
}

/* What the shard spends to find the given number of rows. */
static Cost
remote_work(PlannerInfo *root, RelOptInfo *baserel, List *conds,
			bool has_key_cond, double found_rows)
{
	QualCost	qual_cost;
	Cost		whole;
	Cost		by_key;

	cost_qual_eval(&qual_cost, conds, root);
	whole = qual_cost.startup + seq_page_cost * baserel->pages +
		(cpu_tuple_cost + qual_cost.per_tuple) * baserel->tuples;
	if (!has_key_cond)
		return whole;
	by_key = qual_cost.startup + 2 * random_page_cost +
		(seq_page_cost + cpu_index_tuple_cost + cpu_tuple_cost +
		 qual_cost.per_tuple) * found_rows;
	return Min(whole, by_key);
}

static void
set_estimate(FdwRelInfo *info, const PlanEstimate *estimate)
{
	info->retrieved_rows = estimate->rows;
	info->shard_startup = estimate->startup;
	info->shard_cost = estimate->total;
	info->width = estimate->width;
}

void
plan_cost_set_size(PlannerInfo *root, RelOptInfo *baserel)
{
	FdwRelInfo *info = baserel->fdw_private;
	PlanEstimate estimate;
	Selectivity remote_sel;

	if (baserel->tuples < 0)
	{
		baserel->pages = UNKNOWN_TABLE_PAGES;
		baserel->tuples = rint(UNKNOWN_TABLE_PAGES * (double) BLCKSZ /
							   (MAXALIGN(SizeofHeapTupleHeader) +
								8.0 * baserel->max_attr));
	}
	set_baserel_size_estimates(root, baserel);

	remote_sel = clauselist_selectivity(root, info->remote_conds,
										baserel->relid, JOIN_INNER, NULL);
	info->retrieved_rows = clamp_row_est(baserel->tuples * remote_sel);
	info->local_conds_sel = clauselist_selectivity(root, info->local_conds,
												   baserel->relid,
												   JOIN_INNER, NULL);
	cost_qual_eval(&info->local_conds_cost, info->local_conds, root);
	info->has_key_cond = has_key_clause(info->remote_conds, info);
	info->shard_cost = remote_work(root, baserel, info->remote_conds,
								   info->has_key_cond, info->retrieved_rows);
	info->width = baserel->reltarget->width;
	info->skipped_share = plan_generic_skipped_share(root, baserel);
	if (!plan_estimate_rel(root, info, NULL, NIL, &estimate))
		return;
	set_estimate(info, &estimate);
	baserel->tuples = Max(baserel->tuples, estimate.rows);
	baserel->rows = clamp_row_est(estimate.rows * info->local_conds_sel);
	baserel->reltarget->width = estimate.width;
}

/* What the query costs in an average execution, some of which do without. */
static PlanCost
share_of(const FdwRelInfo *info, PlanCost cost)
{
	cost.startup *= 1.0 - info->skipped_share;
	cost.total *= 1.0 - info->skipped_share;
	return cost;
}

PlanCost
plan_cost_scan(PlannerInfo *root, RelOptInfo *baserel, ParamPathInfo *ppi,
			   List *param_conds)
{
	FdwRelInfo *info = baserel->fdw_private;
	QualCost   *target_cost = &baserel->reltarget->cost;
	List	   *conds = info->remote_conds;
	double		retrieved = info->retrieved_rows;
	Cost		shard_startup = info->shard_startup;
	Cost		shard_cost = info->shard_cost;
	PlanEstimate estimate;
	PlanCost	cost;
	Cost		per_row;

	cost.rows = ppi ? ppi->ppi_rows : baserel->rows;
	if (param_conds != NIL &&
		plan_estimate_rel(root, info, NULL, param_conds, &estimate))
	{
		retrieved = estimate.rows;
		shard_startup = estimate.startup;
		shard_cost = estimate.total;
	}
	else if (param_conds != NIL)
	{
		conds = list_concat_copy(param_conds, conds);
		retrieved = clamp_row_est(baserel->tuples *
								  clauselist_selectivity(root, conds,
														 baserel->relid,
														 JOIN_INNER, NULL));
		shard_cost = remote_work(root, baserel, conds, info->has_key_cond ||
								 has_key_clause(param_conds, info), retrieved);
	}
	per_row = info->options->tuple_cost + cpu_tuple_cost +
		info->local_conds_cost.per_tuple;
	cost.startup = info->options->startup_cost +
		info->local_conds_cost.startup + target_cost->startup;
	cost.total = cost.startup + per_row * retrieved + shard_cost +
		target_cost->per_tuple * cost.rows;
	cost.startup += shard_startup;
	return share_of(info, cost);
}

/* ---- joins, groups, sorting ---- */

/* Can the shard do better than to compare every row with every other? */
static bool
has_equality(List *conds)
{
	ListCell   *cell;

	foreach(cell, conds)
	{
		RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (OidIsValid(cond->hashjoinoperator) || cond->mergeopfamilies != NIL)
			return true;
	}
	return false;
}

void
plan_cost_set_join(PlannerInfo *root, RelOptInfo *joinrel, FdwRelInfo *info)
{
	double		outer_rows = info->outer->retrieved_rows;
	double		inner_rows = info->inner->retrieved_rows;
	List	   *conds = info->join_conds;
	PlanEstimate estimate;

	if (info->jointype == JOIN_SEMI || info->jointype == JOIN_ANTI)
		conds = ((FdwExists *) llast(info->exists))->conds;
	info->local_conds_sel = clauselist_selectivity(root, info->local_conds, 0,
												   JOIN_INNER, NULL);
	cost_qual_eval(&info->local_conds_cost, info->local_conds, root);
	info->retrieved_rows = clamp_row_est(joinrel->rows /
										 Max(info->local_conds_sel, 1e-9));
	info->width = joinrel->reltarget->width;
	info->skipped_share = Max(info->outer->skipped_share,
							  info->inner->skipped_share);
	info->shard_cost = info->outer->shard_cost + info->inner->shard_cost +
		cpu_tuple_cost * info->retrieved_rows;
	if (has_equality(conds))
		info->shard_cost += 2 * cpu_operator_cost * (outer_rows + inner_rows);
	else
		info->shard_cost += cpu_operator_cost * outer_rows * inner_rows;
	if (!plan_estimate_rel(root, info, joinrel->reltarget, NIL, &estimate))
		return;
	set_estimate(info, &estimate);
	joinrel->rows = clamp_row_est(estimate.rows * info->local_conds_sel);
	joinrel->reltarget->width = estimate.width;
}

void
plan_cost_set_grouped(PlannerInfo *root, FdwRelInfo *info,
					  const FdwRelInfo *input, double rows)
{
	PlanEstimate estimate;

	info->local_conds_sel = 1.0;
	cost_qual_eval(&info->local_conds_cost, info->local_having, root);
	info->retrieved_rows = clamp_row_est(rows);
	info->width = 8 * list_length(info->tlist);
	info->shard_startup = 0;
	info->skipped_share = input->skipped_share;
	info->shard_cost = input->shard_cost + cpu_tuple_cost * rows +
		cpu_operator_cost * input->retrieved_rows *
		Max(list_length(info->tlist), 1);
	if (plan_estimate_rel(root, info, NULL, NIL, &estimate))
		set_estimate(info, &estimate);
}

/* The shard does it no slower than we would. */
void
plan_cost_set_step(PlannerInfo *root, FdwRelInfo *info,
				   const FdwRelInfo *input, double rows)
{
	plan_cost_set_grouped(root, info, input, rows);
	if (!info->options->use_remote_estimate)
		info->shard_cost = input->shard_cost +
			cpu_operator_cost * input->retrieved_rows;
}

/*
 * A bounded query without sorting ends when it has enough rows; one with
 * sorting keeps the best in a heap.  The shard is taken to sort somewhat
 * cheaper than we would: it may have an index, and its work is spread.
 */
PlanCost
plan_cost_query(const FdwRelInfo *info, const PathTarget *target,
				bool is_sorted, double limit)
{
	double		found = info->retrieved_rows;
	bool		is_bounded = limit > 0 && limit < found;
	double		sent = is_bounded ? clamp_row_est(limit) : found;
	Cost		shard_cost = info->shard_cost;
	Cost		per_row;
	PlanCost	cost;

	if (is_sorted)
		shard_cost += 1.5 * cpu_operator_cost * found *
			log2(Max(is_bounded ? 2 * sent : found, 2.0));
	else if (is_bounded)
		shard_cost *= sent / found;
	cost.rows = clamp_row_est(sent * info->local_conds_sel);
	cost.startup = info->options->startup_cost +
		info->local_conds_cost.startup + target->cost.startup;
	per_row = info->options->tuple_cost + cpu_tuple_cost +
		info->local_conds_cost.per_tuple;
	cost.total = cost.startup + shard_cost + per_row * sent +
		target->cost.per_tuple * cost.rows;
	cost.startup += is_sorted ? shard_cost : info->shard_startup;
	return share_of(info, cost);
}

PlanCost
plan_cost_estimated(const FdwRelInfo *info, const PathTarget *target,
					const PlanEstimate *estimate)
{
	PlanCost	cost;

	cost.rows = clamp_row_est(estimate->rows * info->local_conds_sel);
	cost.startup = info->options->startup_cost + estimate->startup +
		info->local_conds_cost.startup + target->cost.startup;
	cost.total = cost.startup - estimate->startup + estimate->total +
		(info->options->tuple_cost + cpu_tuple_cost +
		 info->local_conds_cost.per_tuple) * estimate->rows +
		target->cost.per_tuple * cost.rows;
	return share_of(info, cost);
}

int
plan_cost_fetch_size(const FdwRelInfo *info)
{
	int			rows;

	if (info->options->has_fetch_size)
		return info->options->fetch_size;
	rows = FETCH_TARGET_BYTES /
		(info->width + MAXALIGN(SizeofHeapTupleHeader));
	return Max(FETCH_MIN_ROWS, Min(FETCH_MAX_ROWS, rows));
}
