/*-------------------------------------------------------------------------
 *
 * plan_modify.c
 *	  Plans for INSERT, UPDATE and DELETE of a foreign table.
 *
 * An UPDATE or DELETE whose conditions and new values the shard can compute
 * is sent as one statement (direct modification): the scan of the table then
 * does the work.  Otherwise the rows are read, with their identity, and
 * written one by one or in batches by statements with parameters.
 *
 * An UPDATE that may give a row a key of another partition is never direct, as
 * the row has to be moved (exec_move.h).
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/inherit.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "fdw/fdw_handler.h"
#include "fdw/fdw_plan.h"
#include "fdw/fdw_relinfo.h"
#include "fdw/remote_sql.h"
#include "fdw/table_cache.h"

void
shardAddForeignUpdateTargets(PlannerInfo *root, Index rtindex,
							 RangeTblEntry *target_rte,
							 Relation target_relation)
{
	add_row_identity_var(root,
						 makeVar(rtindex, SHARD_ROW_CTID_ATTNO, TIDOID, -1,
								 InvalidOid, 0),
						 rtindex, SHARD_ROW_CTID_NAME);
	add_row_identity_var(root,
						 makeVar(rtindex, SHARD_ROW_TABLEOID_ATTNO, XIDOID, -1,
								 InvalidOid, 0),
						 rtindex, SHARD_ROW_TABLEOID_NAME);
}

int
shardIsForeignRelUpdatable(Relation rel)
{
	FdwTableOptions *options = table_cache_options(RelationGetRelid(rel));

	if (!options->is_updatable)
		return 0;
	return (1 << CMD_INSERT) | (1 << CMD_UPDATE) | (1 << CMD_DELETE);
}

/* ---- which columns ---- */

static bool
is_generated(Relation rel, int attnum)
{
	return TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated !=
		'\0';
}

/* All columns there are, but those the shard computes itself. */
static List *
writable_attrs(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *attrs = NIL;
	int			attnum;

	for (attnum = 1; attnum <= desc->natts; attnum++)
	{
		if (!TupleDescAttr(desc, attnum - 1)->attisdropped &&
			!is_generated(rel, attnum))
			attrs = lappend_int(attrs, attnum);
	}
	return attrs;
}

/* A row trigger that runs before may change any column. */
static List *
update_attrs(Relation rel, Bitmapset *updated)
{
	List	   *attrs = NIL;
	int			member = -1;

	if (rel->trigdesc && rel->trigdesc->trig_update_before_row)
		return writable_attrs(rel);
	while ((member = bms_next_member(updated, member)) >= 0)
	{
		int			attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum <= InvalidAttrNumber)
			elog(ERROR, "cannot update system column %d of a foreign table",
				 attnum);
		if (!is_generated(rel, attnum))
			attrs = lappend_int(attrs, attnum);
	}
	return attrs;
}

/*
 * What RETURNING must bring: what the user asks for, and what is checked or
 * shown to triggers after the shard has had its say.
 */
static List *
returned_attrs(ModifyTable *plan, Relation rel, Index rtindex,
			   int subplan_index)
{
	TriggerDesc *triggers = rel->trigdesc;
	Bitmapset  *used = NULL;

	if (triggers &&
		((plan->operation == CMD_INSERT && triggers->trig_insert_after_row) ||
		 (plan->operation == CMD_UPDATE && triggers->trig_update_after_row)))
		used = bms_make_singleton(0 - FirstLowInvalidHeapAttributeNumber);
	if (plan->withCheckOptionLists)
		pull_varattnos(list_nth(plan->withCheckOptionLists, subplan_index),
					   rtindex, &used);
	if (plan->returningLists)
		pull_varattnos(list_nth(plan->returningLists, subplan_index),
					   rtindex, &used);
	return remote_sql_retrieved_attrs(rel, used);
}

/* ---- do rows stay in their partition? ---- */

typedef struct NewValues
{
	List	   *targets;		/* TargetEntries, perhaps followed by others */
	List	   *attrs;			/* attnos of the columns they are for */
} NewValues;

static Node *
find_new_value(const NewValues *values, AttrNumber attnum)
{
	ListCell   *target;
	ListCell   *attr;

	forboth(target, values->targets, attr, values->attrs)
	{
		if (lfirst_int(attr) == attnum)
			return (Node *) lfirst_node(TargetEntry, target)->expr;
	}
	return NULL;
}

/* Mutator: puts the new values into a partition constraint. */
static Node *
substitute_new_values(Node *node, void *values)
{
	if (node && IsA(node, Var))
	{
		Node	   *value = find_new_value(values, ((Var *) node)->varattno);

		return copyObject(value ? value : node);
	}
	return expression_tree_mutator(node, substitute_new_values, values);
}

/* Do the new values meet the constraint, as far as planning can tell? */
static bool
is_constraint_met(PlannerInfo *root, List *quals, NewValues *values)
{
	Node	   *check = (Node *) make_ands_explicit(quals);

	check = eval_const_expressions(root, substitute_new_values(check, values));
	return IsA(check, Const) && !((Const *) check)->constisnull &&
		DatumGetBool(((Const *) check)->constvalue);
}

static bool
is_column(Node *node, Index rtindex, AttrNumber attnum)
{
	return IsA(node, Var) && ((Var *) node)->varno == rtindex &&
		((Var *) node)->varattno == attnum;
}

/*
 * Is the new value the one the column has?  Either it is the column, or the
 * rows are those where the column equals it.
 */
static bool
is_value_kept(PlannerInfo *root, Index rtindex, AttrNumber attnum, Node *value)
{
	ListCell   *cell;

	if (is_column(value, rtindex, attnum))
		return true;
	foreach(cell, find_base_rel(root, rtindex)->baserestrictinfo)
	{
		OpExpr	   *clause = (OpExpr *) lfirst_node(RestrictInfo, cell)->clause;

		if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
			!op_mergejoinable(clause->opno, exprType(linitial(clause->args))))
			continue;
		if ((is_column(linitial(clause->args), rtindex, attnum) &&
			 equal(lsecond(clause->args), value)) ||
			(is_column(lsecond(clause->args), rtindex, attnum) &&
			 equal(linitial(clause->args), value)))
			return true;
	}
	return false;
}

/*
 * May the UPDATE give a row a key that belongs to another partition?  A row
 * trigger that runs before may change any column.
 */
static bool
may_move_rows(PlannerInfo *root, Index rtindex, Relation rel)
{
	List	   *quals = RelationGetPartitionQual(rel);
	Bitmapset  *key = NULL;
	bool		is_changed = false;
	NewValues	values;
	ListCell   *attr;

	if (quals == NIL)
		return false;
	if (rel->trigdesc && rel->trigdesc->trig_update_before_row)
		return true;
	pull_varattnos((Node *) quals, 1, &key);
	get_translated_update_targetlist(root, rtindex,
									 &values.targets, &values.attrs);
	foreach(attr, values.attrs)
	{
		AttrNumber	attnum = lfirst_int(attr);

		if (bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, key) &&
			!is_value_kept(root, rtindex, attnum,
						   find_new_value(&values, attnum)))
			is_changed = true;
	}
	return is_changed && !is_constraint_met(root, quals, &values);
}

/* ---- row by row ---- */

/* In the order of enum ModifyPrivate. */
static List *
make_modify_private(char *sql, List *target_attrs, List *returning_attrs,
					bool may_move)
{
	List	   *items;

	items = list_make5(makeString(sql), target_attrs,
					   makeInteger(returning_attrs != NIL), returning_attrs,
					   makeInteger(may_move));
	Assert(list_length(items) == MODIFY_PRIVATE_LENGTH);
	return items;
}

List *
shardPlanForeignModify(PlannerInfo *root, ModifyTable *plan,
					   Index resultRelation, int subplan_index)
{
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);
	Relation	rel = table_open(rte->relid, NoLock);
	List	   *target_attrs = NIL;
	List	   *returning_attrs = returned_attrs(plan, rel, resultRelation,
												 subplan_index);
	RemoteInsert insert = {0};
	bool		may_move = false;
	Bitmapset  *updated;
	StringInfoData sql;

	initStringInfo(&sql);
	switch (plan->operation)
	{
		case CMD_INSERT:
			target_attrs = writable_attrs(rel);
			insert.rel = rel;
			insert.target_attrs = target_attrs;
			insert.nrows = 1;
			if (plan->onConflictAction != ONCONFLICT_NONE)
				insert.conflict = &remote_conflict_nothing;
			insert.returning_attrs = returning_attrs;
			remote_sql_insert(&sql, &insert);
			break;
		case CMD_UPDATE:
			may_move = may_move_rows(root, resultRelation, rel);
			updated = get_rel_all_updated_cols(root,
											   find_base_rel(root,
															 resultRelation));
			target_attrs = update_attrs(rel, updated);
			remote_sql_update(&sql, rel, target_attrs, returning_attrs);
			break;
		case CMD_DELETE:
			remote_sql_delete(&sql, rel, returning_attrs);
			break;
		default:
			elog(ERROR, "unexpected operation: %d", (int) plan->operation);
	}
	table_close(rel, NoLock);
	return make_modify_private(sql.data, target_attrs, returning_attrs,
							   may_move);
}

/* ---- direct ---- */

/* The scan that reads the rows of the table to be changed, or NULL. */
static ForeignScan *
find_target_scan(Plan *plan, Index rtindex)
{
	ListCell   *cell;

	if (IsA(plan, ForeignScan))
		return ((ForeignScan *) plan)->scan.scanrelid == rtindex ?
			(ForeignScan *) plan : NULL;
	if (IsA(plan, Result) && outerPlan(plan) && IsA(outerPlan(plan), Append))
		plan = outerPlan(plan);
	if (!IsA(plan, Append))
		return NULL;
	foreach(cell, ((Append *) plan)->appendplans)
	{
		Plan	   *child = lfirst(cell);

		if (IsA(child, ForeignScan) &&
			((ForeignScan *) child)->scan.scanrelid == rtindex)
			return (ForeignScan *) child;
	}
	return NULL;
}

/*
 * The new values as bare expressions, with their columns; false if the shard
 * cannot compute all of them.
 */
static bool
find_shippable_values(PlannerInfo *root, Index rtindex, const ShipScope *scope,
					  List **exprs, List **attrs)
{
	List	   *targets;
	ListCell   *target;
	ListCell   *attr;

	get_translated_update_targetlist(root, rtindex, &targets, attrs);
	*exprs = NIL;
	forboth(target, targets, attr, *attrs)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, target);

		if (lfirst_int(attr) <= InvalidAttrNumber)
			elog(ERROR, "cannot update system column %d of a foreign table",
				 lfirst_int(attr));
		if (!shippable_expr((Node *) entry->expr, scope))
			return false;
		*exprs = lappend(*exprs, entry->expr);
	}
	return *exprs != NIL;
}

/*
 * The scan returns the rows as changed, in which the expressions that were to
 * compute the change have no meaning and must not be evaluated.  What names
 * the table a row belongs to stays.
 */
static void
clear_target_list(Plan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		Node	   *expr = (Node *) entry->expr;

		if (IsA(expr, Var) &&
			((Var *) expr)->varattno == TableOidAttributeNumber)
			continue;
		entry->expr = (Expr *) makeNullConst(exprType(expr), exprTypmod(expr),
											 exprCollation(expr));
	}
}

/* In the order of enum DirectPrivate. */
static List *
make_direct_private(char *sql, const RemoteDirect *direct, bool sets_processed)
{
	List	   *items;

	items = list_make4(makeString(sql), makeInteger(direct->has_returning),
					   direct->returning_attrs, makeInteger(sets_processed));
	Assert(list_length(items) == DIRECT_PRIVATE_LENGTH);
	return items;
}

/* Turns the scan into one that changes the rows. */
static void
convert_scan(ForeignScan *scan, RemoteExprContext *context,
			 const RemoteDirect *direct, bool sets_processed)
{
	StringInfoData sql;

	initStringInfo(&sql);
	remote_sql_direct(&sql, context, direct);
	remote_expr_end(context);
	scan->operation = direct->operation;
	scan->resultRelation = scan->scan.scanrelid;
	scan->fdw_exprs = context->params;
	scan->fdw_private = make_direct_private(sql.data, direct, sets_processed);
	if (direct->has_returning)
		clear_target_list(&scan->scan.plan);

	/* rows come when the statement is done, not as they are asked for */
	scan->scan.plan.async_capable = false;
}

bool
shardPlanDirectModify(PlannerInfo *root, ModifyTable *plan,
					  Index resultRelation, int subplan_index)
{
	ForeignScan *scan = find_target_scan(outerPlan(plan), resultRelation);
	RemoteExprContext context = {root};
	RemoteDirect direct = {plan->operation};
	FdwRelInfo *info;
	ShipScope	scope;

	if ((plan->operation != CMD_UPDATE && plan->operation != CMD_DELETE) ||
		scan == NULL || scan->scan.plan.qual != NIL)
		return false;
	info = find_base_rel(root, resultRelation)->fdw_private;
	scope.relids = info->relids;
	scope.extensions = info->options->extensions;
	context.scope = &scope;
	if (plan->operation == CMD_UPDATE &&
		!find_shippable_values(root, resultRelation, &scope,
							   &direct.targets, &direct.target_attrs))
		return false;

	direct.rel = table_open(planner_rt_fetch(resultRelation, root)->relid,
							NoLock);
	if (plan->operation == CMD_UPDATE &&
		may_move_rows(root, resultRelation, direct.rel))
	{
		table_close(direct.rel, NoLock);
		return false;
	}
	direct.conds = info->planned_conds;
	direct.has_returning = plan->returningLists != NIL;
	direct.returning_attrs = returned_attrs(plan, direct.rel, resultRelation,
											subplan_index);
	convert_scan(scan, &context, &direct, plan->canSetTag);
	table_close(direct.rel, NoLock);
	return true;
}
