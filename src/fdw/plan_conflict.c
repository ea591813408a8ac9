/*-------------------------------------------------------------------------
 *
 * plan_conflict.c
 *	  ON CONFLICT with a conflict target, past a planner that looks for a
 *	  unique index here.
 *
 * The planner is shown ON CONFLICT DO UPDATE without a target, for which it
 * needs no index.  SET and WHERE stay where they are, and are processed as
 * usual.  The target, which it would drop, goes through as junk entries at the
 * end of SET, also where the action is to do nothing.
 *
 * Afterwards the action is again what the user said, so that EXPLAIN shows it
 * and statement triggers fire.  Core does nothing else about it for a row of
 * a foreign table.  The whole clause is kept in the private list of the
 * plan's result relation; that of a partitioned table is nobody else's.
 *
 * A partition that is no foreign table would need a unique index, which the
 * partitioned table cannot have, so that all partitions have to be ours.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "fdw/plan_conflict.h"
#include "fdw/plan_hook.h"
#include "fdw/remote_conflict.h"

/* names of the junk entries */
#define TARGET_ELEMENT "shard_fdw conflict target"
#define TARGET_WHERE "shard_fdw conflict target predicate"

/* ---- whose partitions are they? ---- */

typedef struct Census
{
	bool		has_ours;
	Oid			other;			/* a partition that is not ours */
} Census;

static void
count_table(Oid relid, char relkind, Census *census)
{
	Relation	rel;
	PartitionDesc desc;
	int			part;

	if (relkind == RELKIND_FOREIGN_TABLE &&
		plan_hook_is_our_foreign_table(relid))
		census->has_ours = true;
	else if (relkind != RELKIND_PARTITIONED_TABLE)
		census->other = relid;
	else
	{
		rel = table_open(relid, AccessShareLock);
		desc = RelationGetPartitionDesc(rel, true);
		for (part = 0; part < desc->nparts; part++)
			count_table(desc->oids[part], get_rel_relkind(desc->oids[part]),
						census);
		table_close(rel, NoLock);
	}
}

static bool
is_for_shards(const RangeTblEntry *target)
{
	Census		census = {false, InvalidOid};

	count_table(target->relid, target->relkind, &census);
	if (census.has_ours && OidIsValid(census.other))
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("ON CONFLICT with a conflict target is not supported on partitioned table \"%s\"",
					   get_rel_name(target->relid)),
				errdetail("Partition \"%s\" is not on a shard, others are.",
						  get_rel_name(census.other)),
				errhint("Insert into the partition, or use ON CONFLICT DO NOTHING without a conflict target."));
	return census.has_ours;
}

/* ---- before planning ---- */

/*
 * Row-level security, and in newer minor releases a view that selects rows,
 * would have to look at the row that is in the way.
 */
static void
check_checks(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->withCheckOptions)
	{
		WCOKind		kind = lfirst_node(WithCheckOption, cell)->kind;

		if (kind > WCO_RLS_MERGE_DELETE_CHECK)
			ereport(ERROR,
					errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("ON CONFLICT DO UPDATE is not supported on tables on shards through a view with a condition"),
					errhint("Insert into the table of the view."));
		if (kind != WCO_VIEW_CHECK)
			ereport(ERROR,
					errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("ON CONFLICT DO UPDATE is not supported on tables on shards with row-level security"));
	}
}

/* Walker: does RETURNING want the row as it was? */
static bool
wants_old_row(Node *node, void *arg)
{
	if (node && IsA(node, Var))
		return compat_var_is_old((Var *) node);
	return expression_tree_walker(node, wants_old_row, arg);
}

static void
check_update(const Query *query)
{
	check_checks(query);
	if (wants_old_row((Node *) query->returningList, NULL))
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("RETURNING of old values is not supported for ON CONFLICT DO UPDATE on tables on shards"));
}

static TargetEntry *
make_junk(Node *expr, const char *name)
{
	return makeTargetEntry((Expr *) expr, 0, pstrdup(name), true);
}

/*
 * Leaves of the clause what can be planned.  SET is processed in every version
 * where the action is to update.
 */
static void
hide_clause(OnConflictExpr *clause)
{
	ListCell   *cell;

	foreach(cell, clause->arbiterElems)
		clause->onConflictSet = lappend(clause->onConflictSet,
										make_junk(lfirst(cell),
												  TARGET_ELEMENT));
	if (clause->arbiterWhere)
		clause->onConflictSet = lappend(clause->onConflictSet,
										make_junk(clause->arbiterWhere,
												  TARGET_WHERE));
	clause->action = ONCONFLICT_UPDATE;
	clause->arbiterElems = NIL;
	clause->arbiterWhere = NULL;
}

/* A clause that names a constraint names one of this server. */
static bool
hide_in_query(Query *query)
{
	OnConflictExpr *clause = query->onConflict;

	if (query->commandType != CMD_INSERT || clause == NULL ||
		clause->arbiterElems == NIL || OidIsValid(clause->constraint) ||
		(clause->action != ONCONFLICT_NOTHING &&
		 clause->action != ONCONFLICT_UPDATE) ||
		!is_for_shards(rt_fetch(query->resultRelation, query->rtable)))
		return false;
	if (clause->action == ONCONFLICT_UPDATE)
		check_update(query);
	hide_clause(clause);
	return true;
}

bool
plan_conflict_hide(Query *query)
{
	bool		is_hidden = hide_in_query(query);
	ListCell   *cell;

	if (!query->hasModifyingCTE)
		return is_hidden;
	foreach(cell, query->cteList)
	{
		Query	   *cte = (Query *) lfirst_node(CommonTableExpr, cell)->ctequery;

		if (IsA(cte, Query) && hide_in_query(cte))
			is_hidden = true;
	}
	return is_hidden;
}

/* ---- after planning ---- */

/* Mutator: the numbers that the planner gave become those of the clause. */
static Node *
renumber_tables(Node *node, void *arg)
{
	if (node && IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = var->varno == INNER_VAR ?
			REMOTE_CONFLICT_EXCLUDED : REMOTE_CONFLICT_TABLE;
		return (Node *) var;
	}
	return expression_tree_mutator(node, renumber_tables, arg);
}

static bool
is_named(const TargetEntry *entry, const char *name)
{
	return entry->resjunk && entry->resname &&
		strcmp(entry->resname, name) == 0;
}

/* Takes the clause together from what the planner has left of it. */
static OnConflictExpr *
collect_clause(const ModifyTable *plan)
{
	OnConflictExpr *clause = makeNode(OnConflictExpr);
	int			column = 0;
	ListCell   *cell;

	foreach(cell, plan->onConflictSet)
	{
		TargetEntry *entry;

		entry = (TargetEntry *) renumber_tables(lfirst(cell), NULL);
		if (is_named(entry, TARGET_ELEMENT))
			clause->arbiterElems = lappend(clause->arbiterElems, entry->expr);
		else if (is_named(entry, TARGET_WHERE))
			clause->arbiterWhere = (Node *) entry->expr;
		else if (!entry->resjunk)
		{
			entry->resno = list_nth_int(plan->onConflictCols, column++);
			clause->onConflictSet = lappend(clause->onConflictSet, entry);
		}
	}
	clause->onConflictWhere = renumber_tables(plan->onConflictWhere, NULL);
	clause->action = clause->onConflictSet != NIL ? ONCONFLICT_UPDATE :
		ONCONFLICT_NOTHING;
	return clause;
}

static List *
list_own_entries(List *targets)
{
	List	   *own = NIL;
	ListCell   *cell;

	foreach(cell, targets)
	{
		if (!is_named(lfirst(cell), TARGET_ELEMENT) &&
			!is_named(lfirst(cell), TARGET_WHERE))
			own = lappend(own, lfirst(cell));
	}
	return own;
}

static void
restore_clause(ModifyTable *plan)
{
	List	   *own = list_own_entries(plan->onConflictSet);
	OnConflictExpr *clause;
	ListCell   *private;

	if (list_length(own) == list_length(plan->onConflictSet))
		return;
	clause = collect_clause(plan);
	plan->onConflictSet = own;
	plan->onConflictAction = clause->action;
	private = list_head(plan->fdwPrivLists);
	lfirst(private) = lappend((List *) lfirst(private), clause);
}

void
plan_conflict_restore(PlannedStmt *stmt)
{
	ListCell   *cell;

	if (IsA(stmt->planTree, ModifyTable))
		restore_clause((ModifyTable *) stmt->planTree);
	foreach(cell, stmt->subplans)
	{
		Plan	   *plan = lfirst(cell);

		if (plan && IsA(plan, ModifyTable))
			restore_clause((ModifyTable *) plan);
	}
}

const OnConflictExpr *
plan_conflict_clause(const ModifyTable *plan)
{
	List	   *private;
	Node	   *last = NULL;

	if (plan == NULL || plan->operation != CMD_INSERT ||
		plan->onConflictAction == ONCONFLICT_NONE)
		return NULL;
	private = linitial(plan->fdwPrivLists);
	if (private != NIL)
		last = llast(private);
	return last && IsA(last, OnConflictExpr) ? (OnConflictExpr *) last : NULL;
}
