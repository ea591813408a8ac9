/*-------------------------------------------------------------------------
 *
 * plan_route.c
 *	  A query by key is planned for its partition alone.
 *
 * Core comes to the same plan by way of all that it does for a partitioned
 * table, which for a lookup is a third of the planning.  What is found here is
 * no more than the partition; the condition stays, and everything else is left
 * to the planner.
 *
 * The partitioned table stays in the range table, without being scanned: its
 * permissions are checked, and a plan is made anew when its partitions change.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_route.h"

/* ---- the value of the key ---- */

/* The constant or known parameter; false for anything else, and for NULL. */
static bool
known_value(Node *node, ParamListInfo params, Oid *type, Datum *value)
{
	if (IsA(node, Const))
	{
		*type = ((Const *) node)->consttype;
		*value = ((Const *) node)->constvalue;
		return !((Const *) node)->constisnull;
	}
	if (IsA(node, Param) && params &&
		((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid <= params->numParams)
	{
		int			number = ((Param *) node)->paramid;
		ParamExternData workspace;
		ParamExternData *param = params->paramFetch ?
		params->paramFetch(params, number, true, &workspace) :
		&params->params[number - 1];

		*type = ((Param *) node)->paramtype;
		*value = param->value;
		return param->ptype == *type && !param->isnull &&
			(param->pflags & PARAM_FLAG_CONST) != 0;
	}
	return false;
}

static bool
integer_value(Oid type, Datum value, int64 *integer)
{
	switch (type)
	{
		case INT2OID:
			*integer = DatumGetInt16(value);
			return true;
		case INT4OID:
			*integer = DatumGetInt32(value);
			return true;
		case INT8OID:
			*integer = DatumGetInt64(value);
			return true;
		default:
			return false;
	}
}

/* Literals are int4 whatever the column is; others are of its type. */
static bool
to_key_type(Oid type, Oid key_type, Datum *value)
{
	int64		integer;

	if (type == key_type)
		return true;
	if (!integer_value(type, *value, &integer))
		return false;
	switch (key_type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) integer);
			return integer >= PG_INT16_MIN && integer <= PG_INT16_MAX;
		case INT4OID:
			*value = Int32GetDatum((int32) integer);
			return integer >= PG_INT32_MIN && integer <= PG_INT32_MAX;
		case INT8OID:
			*value = Int64GetDatum(integer);
			return true;
		default:
			return false;
	}
}

static bool
is_key(Node *node, PartitionKey key)
{
	const Var  *var = (const Var *) node;

	return IsA(node, Var) && var->varno == 1 && var->varlevelsup == 0 &&
		var->varattno == key->partattrs[0];
}

/* Is the condition key = value? */
static bool
condition_value(Node *condition, PartitionKey key, ParamListInfo params,
				Datum *value)
{
	const OpExpr *clause = (const OpExpr *) condition;
	int			equal = key->strategy == PARTITION_STRATEGY_HASH ?
	HTEqualStrategyNumber : BTEqualStrategyNumber;
	Node	   *other;
	Oid			type;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
		return false;
	if (is_key(linitial(clause->args), key))
		other = lsecond(clause->args);
	else if (is_key(lsecond(clause->args), key))
		other = linitial(clause->args);
	else
		return false;
	return known_value(other, params, &type, value) &&
		to_key_type(type, key->parttypid[0], value) &&
		clause->inputcollid == key->partcollation[0] &&
		get_op_opfamily_strategy(clause->opno, key->partopfamily[0]) == equal;
}

static bool
find_key_value(const Query *query, PartitionKey key, ParamListInfo params,
			   Datum *value)
{
	Node	   *quals = query->jointree->quals;
	ListCell   *cell;

	if (!is_andclause(quals))
		return condition_value(quals, key, params, value);
	foreach(cell, ((BoolExpr *) quals)->args)
	{
		if (condition_value(lfirst(cell), key, params, value))
			return true;
	}
	return false;
}

/* ---- the partition ---- */

/* Its position in the descriptor; -1 for none or the default partition. */
static int
find_position(PartitionKey key, PartitionBoundInfo bounds, Datum value)
{
	bool		is_null = false;
	bool		is_equal;
	int			offset;

	switch (key->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			return bounds->indexes[compute_partition_hash_value(1, key->partsupfunc,
																key->partcollation,
																&value, &is_null) %
								   bounds->nindexes];
		case PARTITION_STRATEGY_LIST:
			offset = partition_list_bsearch(key->partsupfunc,
											key->partcollation, bounds, value,
											&is_equal);
			return offset >= 0 && is_equal ? bounds->indexes[offset] : -1;
		case PARTITION_STRATEGY_RANGE:
			offset = partition_range_datum_bsearch(key->partsupfunc,
												   key->partcollation, bounds,
												   1, &value, &is_equal);
			return bounds->indexes[offset + 1];
	}
	return -1;
}

/* The partition that the query asks; InvalidOid if that cannot be told. */
static Oid
find_partition(const Query *query, Relation rel, ParamListInfo params)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	Datum		value;
	int			position;

	if (key->partnatts != 1 || key->partattrs[0] == 0 || desc->nparts == 0 ||
		!find_key_value(query, key, params, &value))
		return InvalidOid;
	position = find_position(key, desc->boundinfo, value);
	return position >= 0 && desc->is_leaf[position] ?
		desc->oids[position] : InvalidOid;
}

/*
 * Have the columns the same numbers in both?  Types cannot differ.
 */
static bool
are_columns_alike(TupleDesc table, TupleDesc partition)
{
	int			column;

	if (table->natts != partition->natts ||
		compat_has_virtual_columns(table) ||
		compat_has_virtual_columns(partition))
		return false;
	for (column = 0; column < table->natts; column++)
	{
		Form_pg_attribute attr = TupleDescAttr(table, column);
		Form_pg_attribute other = TupleDescAttr(partition, column);

		if (attr->attisdropped || other->attisdropped ||
			strcmp(NameStr(attr->attname), NameStr(other->attname)) != 0)
			return false;
	}
	return true;
}

/* ---- the query ---- */

/*
 * Walker, to be begun with the query and level -1: is the row of the table
 * wanted as a whole, which has the type of that table?
 */
static bool
has_whole_row(Node *node, void *arg)
{
	int			level = *(int *) arg;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == 1 &&
			((Var *) node)->varlevelsup == level &&
			((Var *) node)->varattno == InvalidAttrNumber;
	if (IsA(node, Query))
	{
		int			deeper = level + 1;

		return query_tree_walker((Query *) node, has_whole_row, &deeper, 0);
	}
	return expression_tree_walker(node, has_whole_row, arg);
}

static bool
is_lookup(const Query *query)
{
	const RangeTblEntry *rte;

	if (query->commandType != CMD_SELECT || list_length(query->rtable) != 1 ||
		query->rowMarks != NIL || query->jointree->quals == NULL ||
		list_length(query->jointree->fromlist) != 1)
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);
	return rte->rtekind == RTE_RELATION &&
		rte->relkind == RELKIND_PARTITIONED_TABLE && rte->inh &&
		rte->tablesample == NULL && rte->securityQuals == NIL &&
		!compat_has_other_user(query, rte);
}

static void
set_table(Query *query, Oid relid)
{
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);

	query->rtable = lappend(query->rtable, copyObject(rte));
	/* as the planner names partitions */
	if (rte->alias == NULL)
		rte->alias = makeAlias(rte->eref->aliasname, NIL);
	rte->relid = relid;
	rte->relkind = RELKIND_FOREIGN_TABLE;
	rte->inh = false;
	compat_drop_permissions(query, rte);
}

bool
plan_route(Query *query, ParamListInfo params)
{
	int			level = -1;
	bool		is_routed = false;
	Relation	rel;
	Oid			relid;

	if (!is_lookup(query))
		return false;
	rel = table_open(linitial_node(RangeTblEntry, query->rtable)->relid, NoLock);
	relid = find_partition(query, rel, params);
	if (OidIsValid(relid) && !has_whole_row((Node *) query, &level))
	{
		Relation	partition = table_open(relid, AccessShareLock);

		is_routed = partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE &&
			plan_hook_is_our_foreign_table(relid) &&
			are_columns_alike(RelationGetDescr(rel),
							  RelationGetDescr(partition));
		table_close(partition, NoLock);
	}
	table_close(rel, NoLock);
	if (is_routed)
		set_table(query, relid);
	return is_routed;
}

void
plan_route_finish(PlannedStmt *plan)
{
	compat_remove_empty_permissions(plan);
}

/*
 * Its entry follows, also where the query has been pulled up into another, and
 * nothing scans it.
 */
Oid
plan_route_origin(PlannerInfo *root, Index rtindex)
{
	Index		next = rtindex + 1;
	const RangeTblEntry *rte = planner_rt_fetch(rtindex, root);
	const RangeTblEntry *origin;

	if (rte->relkind != RELKIND_FOREIGN_TABLE || rte->alias == NULL ||
		next >= root->simple_rel_array_size ||
		root->simple_rel_array[next] != NULL ||
		(root->append_rel_array && root->append_rel_array[rtindex]))
		return InvalidOid;
	origin = planner_rt_fetch(next, root);
	return origin && origin->rtekind == RTE_RELATION &&
		origin->relkind == RELKIND_PARTITIONED_TABLE &&
		strcmp(origin->eref->aliasname, rte->alias->aliasname) == 0 ?
		origin->relid : InvalidOid;
}
