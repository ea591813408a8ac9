/*-------------------------------------------------------------------------
 *
 * plan_generic.c
 *	  How often a generic plan asks a partition.
 *
 * Core lets a prepared statement have a generic plan if that is not expected
 * to cost more than planning anew and executing what comes of it.  But it
 * counts the scans of all partitions, though where the key is a parameter of
 * the statement all but one are removed when the plan is started.  So a lookup
 * by key would be planned each time, which takes longer than anything else
 * that it needs here.  So each partition is counted with the share of
 * executions that will ask it.
 *
 * A generic plan locks all partitions.  Core does that without shared memory
 * for a few of them; where there are more, planning costs less.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/lsyscache.h"

#include "fdw/plan_generic.h"

/*
 * Of the 16 locks that a backend can hold without shared memory, before 18,
 * some are for the table itself, for indexes and for catalogs.
 */
#define MAX_PARTITIONS 12

/* Walker: is there a parameter of the statement? */
static bool
has_parameter(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXTERN;
	return expression_tree_walker(node, has_parameter, arg);
}

/*
 * Is the clause key = value, with a value that is known when the plan is
 * started?
 */
static bool
gives_value(const RelOptInfo *rel, int key, const OpExpr *clause,
			bool *is_parameter)
{
	int			equal_strategy =
	rel->part_scheme->strategy == PARTITION_STRATEGY_HASH ?
	HTEqualStrategyNumber : BTEqualStrategyNumber;
	Node	   *value;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		get_op_opfamily_strategy(clause->opno,
								 rel->part_scheme->partopfamily[key]) !=
		equal_strategy)
		return false;
	if (list_member(rel->partexprs[key], linitial(clause->args)))
		value = lsecond(clause->args);
	else if (list_member(rel->partexprs[key], lsecond(clause->args)))
		value = linitial(clause->args);
	else
		return false;
	if (contain_var_clause(value) || contain_volatile_functions(value))
		return false;
	*is_parameter |= has_parameter(value, NULL);
	return true;
}

static bool
has_value(const RelOptInfo *rel, int key, bool *is_parameter)
{
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
	{
		const RestrictInfo *cond = lfirst_node(RestrictInfo, cell);

		if (gives_value(rel, key, (const OpExpr *) cond->clause, is_parameter))
			return true;
	}
	return false;
}

/* Will the parameters leave at most one partition? */
static bool
is_key_parameter(const RelOptInfo *rel)
{
	bool		is_parameter = false;
	int			key;

	for (key = 0; key < rel->part_scheme->partnatts; key++)
	{
		if (!has_value(rel, key, &is_parameter))
			return false;
	}
	return is_parameter;
}

static const RelOptInfo *
find_parent(PlannerInfo *root, const RelOptInfo *rel)
{
	const AppendRelInfo *appinfo = root->append_rel_array ?
	root->append_rel_array[rel->relid] : NULL;

	return appinfo ? find_base_rel(root, appinfo->parent_relid) : NULL;
}

double
plan_generic_skipped_share(PlannerInfo *root, const RelOptInfo *rel)
{
	const RelOptInfo *parent = find_parent(root, rel);
	int			nparts;

	if (parent == NULL || parent->part_scheme == NULL ||
		parent->part_rels == NULL)
		return 0;
	nparts = bms_num_members(parent->live_parts);
	if (nparts < 2 || nparts > MAX_PARTITIONS || !is_key_parameter(parent))
		return 0;
	return 1.0 - 1.0 / nparts;
}
