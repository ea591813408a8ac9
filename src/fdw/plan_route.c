/*-------------------------------------------------------------------------
 *
 * plan_route.c
 *	  A statement by key is planned for its partition alone.
 *
 * Core comes to the same plan by way of all that it does for a partitioned
 * table, which for a lookup is a third of the planning.  What is found here is
 * no more than the partition; the condition stays, and everything else is left
 * to the planner.
 *
 * The partitioned table stays in the range table, without being scanned: its
 * permissions are checked, and a plan is made anew when its partitions change.
 * The plan of an UPDATE or DELETE names it as the target, so that it is the one
 * that core makes.
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
#include "rewrite/rewriteManip.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_route.h"

/* Where a change has its tables in the range table. */
#define TABLE_INDEX 1
#define PARTITION_INDEX 2

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

/* Is there one table and nothing that core has to know about its partitions? */
static bool
has_one_table(const Query *query)
{
	const RangeTblEntry *rte;

	if (list_length(query->rtable) != 1 || query->rowMarks != NIL ||
		query->jointree->quals == NULL ||
		list_length(query->jointree->fromlist) != 1)
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);
	return rte->rtekind == RTE_RELATION &&
		rte->relkind == RELKIND_PARTITIONED_TABLE && rte->inh &&
		rte->tablesample == NULL && rte->securityQuals == NIL &&
		!compat_has_other_user(query, rte);
}

/*
 * The partition, locked as the table is; InvalidOid if it cannot be told, or
 * if the query cannot be one of it.
 */
static Oid
find_our_partition(const Query *query, Relation rel, ParamListInfo params)
{
	const RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);
	Oid			relid = find_partition(query, rel, params);
	int			level = -1;
	bool		is_ours;
	Relation	partition;

	if (!OidIsValid(relid) || has_whole_row((Node *) query, &level))
		return InvalidOid;
	partition = try_table_open(relid, rte->rellockmode);
	/* detached concurrently, and dropped: core does without it */
	if (partition == NULL)
		return InvalidOid;
	is_ours = partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE &&
		plan_hook_is_our_foreign_table(relid) &&
		are_columns_alike(RelationGetDescr(rel), RelationGetDescr(partition));
	table_close(partition, NoLock);
	return is_ours ? relid : InvalidOid;
}

/* The entry of the table becomes that of its partition. */
static void
set_partition(Query *query, RangeTblEntry *rte, Oid relid)
{
	/* as the planner names partitions */
	if (rte->alias == NULL)
		rte->alias = makeAlias(rte->eref->aliasname, NIL);
	rte->relkind = RELKIND_FOREIGN_TABLE;
	rte->inh = false;
	compat_set_unchecked_table(query, rte, relid);
}

bool
plan_route_lookup(Query *query, ParamListInfo params)
{
	RangeTblEntry *rte;
	Relation	rel;
	Oid			relid;

	if (query->commandType != CMD_SELECT || !has_one_table(query))
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);
	rel = table_open(rte->relid, NoLock);
	relid = find_our_partition(query, rel, params);
	table_close(rel, NoLock);
	if (!OidIsValid(relid))
		return false;
	query->rtable = lappend(query->rtable, copyObject(rte));
	set_partition(query, rte, relid);
	return true;
}

/* ---- changes ---- */

static bool
sets_column(const Query *query, AttrNumber attnum)
{
	ListCell   *cell;

	foreach(cell, query->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (!entry->resjunk && entry->resno == attnum)
			return true;
	}
	return false;
}

/*
 * A row that may move is left to core, and so are triggers, of which it asks
 * the target while it plans.
 */
static bool
stays_in_partition(const Query *query, Relation rel)
{
	return rel->trigdesc == NULL && !rel->rd_rel->relispartition &&
		query->withCheckOptions == NIL &&
		(query->commandType == CMD_DELETE ||
		 !sets_column(query, RelationGetPartitionKey(rel)->partattrs[0]));
}

bool
plan_route_change(Query *query, ParamListInfo params)
{
	RangeTblEntry *rte;
	Relation	rel;
	Oid			relid = InvalidOid;

	if ((query->commandType != CMD_UPDATE &&
		 query->commandType != CMD_DELETE) || !has_one_table(query))
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);
	rel = table_open(rte->relid, NoLock);
	if (stays_in_partition(query, rel))
		relid = find_our_partition(query, rel, params);
	table_close(rel, NoLock);
	if (!OidIsValid(relid))
		return false;
	ChangeVarNodes((Node *) query, TABLE_INDEX, PARTITION_INDEX, 0);
	rte = copyObject(rte);
	query->rtable = lappend(query->rtable, rte);
	set_partition(query, rte, relid);
	return true;
}

void
plan_route_finish_change(PlannedStmt *plan)
{
	ModifyTable *modify = (ModifyTable *) plan->planTree;

	/* another module may have put a node of its own there */
	if (IsA(modify, ModifyTable))
	{
		modify->nominalRelation = TABLE_INDEX;
		modify->rootRelation = TABLE_INDEX;
		compat_add_result_relation(plan, TABLE_INDEX);
	}
	compat_remove_empty_permissions(plan);
}

void
plan_route_finish_lookup(PlannedStmt *plan)
{
	compat_remove_empty_permissions(plan);
}

/* ---- the table that a partition stands for ---- */

/* Nothing scans the table, and its name is the one that the partition has. */
static bool
is_origin(PlannerInfo *root, const RangeTblEntry *partition, Index rtindex)
{
	const RangeTblEntry *rte;

	if (rtindex >= root->simple_rel_array_size ||
		root->simple_rel_array[rtindex] != NULL)
		return false;
	rte = planner_rt_fetch(rtindex, root);
	return rte && rte->rtekind == RTE_RELATION &&
		rte->relkind == RELKIND_PARTITIONED_TABLE &&
		strcmp(rte->eref->aliasname, partition->alias->aliasname) == 0;
}

/*
 * The entry of the table follows, also where the query has been pulled up into
 * another, or goes ahead of a target's.
 */
Oid
plan_route_origin(PlannerInfo *root, Index rtindex)
{
	Index		origin = rtindex == root->parse->resultRelation ?
	rtindex - 1 : rtindex + 1;
	const RangeTblEntry *rte = planner_rt_fetch(rtindex, root);

	if (rte->relkind != RELKIND_FOREIGN_TABLE || rte->alias == NULL ||
		(root->append_rel_array && root->append_rel_array[rtindex]) ||
		origin == 0 || !is_origin(root, rte, origin))
		return InvalidOid;
	return planner_rt_fetch(origin, root)->relid;
}
