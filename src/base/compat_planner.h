/*-------------------------------------------------------------------------
 *
 * compat_planner.h
 *	  What differs between the supported versions in the planner's interface.
 *
 * The rules are those of compat.h: one block per symbol, the newest behaviour
 * under a name beginning with compat_, and the version from which the block
 * can go.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_COMPAT_PLANNER_H
#define SHARD_FDW_BASE_COMPAT_PLANNER_H

#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "base/compat.h"

/* a path for a foreign table, no node of it disabled; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_create_foreignscan_path(root_, rel_, rows_, startup_, total_, \
									   pathkeys_, outer_, restrictinfo_, \
									   private_) \
	create_foreignscan_path((root_), (rel_), NULL, (rows_), 0, (startup_), \
							(total_), (pathkeys_), (outer_), NULL, \
							(restrictinfo_), (private_))
#elif PG_VERSION_NUM >= 170000
#define compat_create_foreignscan_path(root_, rel_, rows_, startup_, total_, \
									   pathkeys_, outer_, restrictinfo_, \
									   private_) \
	create_foreignscan_path((root_), (rel_), NULL, (rows_), (startup_), \
							(total_), (pathkeys_), (outer_), NULL, \
							(restrictinfo_), (private_))
#else
#define compat_create_foreignscan_path(root_, rel_, rows_, startup_, total_, \
									   pathkeys_, outer_, restrictinfo_, \
									   private_) \
	create_foreignscan_path((root_), (rel_), NULL, (rows_), (startup_), \
							(total_), (pathkeys_), (outer_), NULL, (private_))
#endif

/* the same for joins; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_create_foreign_join_path(root_, rel_, rows_, startup_, total_, \
										pathkeys_, outer_, epq_path_, \
										private_) \
	create_foreign_join_path((root_), (rel_), NULL, (rows_), 0, (startup_), \
							 (total_), (pathkeys_), (outer_), (epq_path_), \
							 NIL, (private_))
#elif PG_VERSION_NUM >= 170000
#define compat_create_foreign_join_path(root_, rel_, rows_, startup_, total_, \
										pathkeys_, outer_, epq_path_, \
										private_) \
	create_foreign_join_path((root_), (rel_), NULL, (rows_), (startup_), \
							 (total_), (pathkeys_), (outer_), (epq_path_), \
							 NIL, (private_))
#else
#define compat_create_foreign_join_path(root_, rel_, rows_, startup_, total_, \
										pathkeys_, outer_, epq_path_, \
										private_) \
	create_foreign_join_path((root_), (rel_), NULL, (rows_), (startup_), \
							 (total_), (pathkeys_), (outer_), (epq_path_), \
							 (private_))
#endif

/* the same for what is made of scans and joins; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_create_foreign_upper_path(root_, rel_, target_, rows_, \
										 startup_, total_, pathkeys_, \
										 private_) \
	create_foreign_upper_path((root_), (rel_), (target_), (rows_), 0, \
							  (startup_), (total_), (pathkeys_), NULL, NIL, \
							  (private_))
#elif PG_VERSION_NUM >= 170000
#define compat_create_foreign_upper_path(root_, rel_, target_, rows_, \
										 startup_, total_, pathkeys_, \
										 private_) \
	create_foreign_upper_path((root_), (rel_), (target_), (rows_), \
							  (startup_), (total_), (pathkeys_), NULL, NIL, \
							  (private_))
#else
#define compat_create_foreign_upper_path(root_, rel_, target_, rows_, \
										 startup_, total_, pathkeys_, \
										 private_) \
	create_foreign_upper_path((root_), (rel_), (target_), (rows_), \
							  (startup_), (total_), (pathkeys_), NULL, \
							  (private_))
#endif

/*
 * The members of an equivalence class, with those of the given children among
 * them; until 17 is gone.
 */
#if PG_VERSION_NUM >= 180000
static inline List *
compat_ec_members(EquivalenceClass *ec, Relids child_relids)
{
	EquivalenceMemberIterator iterator;
	EquivalenceMember *member;
	List	   *members = NIL;

	setup_eclass_member_iterator(&iterator, ec, child_relids);
	while ((member = eclass_member_iterator_next(&iterator)) != NULL)
		members = lappend(members, member);
	return members;
}
#else
#define compat_ec_members(ec_, child_relids_) ((ec_)->ec_members)
#endif

/* the operator a pathkey sorts a type by; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_pathkey_operator(pathkey_, type_) \
	get_opfamily_member_for_cmptype((pathkey_)->pk_opfamily, (type_), (type_), \
									(pathkey_)->pk_cmptype)
#else
#define compat_pathkey_operator(pathkey_, type_) \
	get_opfamily_member((pathkey_)->pk_opfamily, (type_), (type_), \
						(pathkey_)->pk_strategy)
#endif

/* planner() and its hook have one more argument; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define COMPAT_PLANNER_ARGS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params, ExplainState *es
#define compat_call_planner(planner_) \
	(planner_) (parse, query_string, cursor_options, bound_params, es)
#else
#define COMPAT_PLANNER_ARGS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params
#define compat_call_planner(planner_) \
	(planner_) (parse, query_string, cursor_options, bound_params)
#endif

/* the user a table is read for, InvalidOid the current one; until 15 is gone */
#if PG_VERSION_NUM >= 160000
#define compat_rel_userid(root_, rel_) ((rel_)->userid)
#else
#define compat_rel_userid(root_, rel_) \
	(planner_rt_fetch((rel_)->relid, (root_))->checkAsUser)
#endif

/* nothing to switch any more; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_is_backslash_literal() true
#else
#define compat_is_backslash_literal() standard_conforming_strings
#endif

/* Vars that stand for the old or new row in RETURNING; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_var_is_plain(var_) \
	((var_)->varreturningtype == VAR_RETURNING_DEFAULT)
#define compat_var_is_old(var_) ((var_)->varreturningtype == VAR_RETURNING_OLD)
#define compat_is_returning_expr(node_) IsA((node_), ReturningExpr)
#else
#define compat_var_is_plain(var_) true
#define compat_var_is_old(var_) false
#define compat_is_returning_expr(node_) false
#endif

/* where core notes that a window function ends early; until 16 is gone */
#if PG_VERSION_NUM >= 170000
#define compat_window_has_run_condition(clause_, function_) \
	((function_)->runCondition != NIL)
#else
#define compat_window_has_run_condition(clause_, function_) \
	((clause_)->runCondition != NIL)
#endif

/* IGNORE NULLS of a window function; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_window_ignores_nulls(function_) \
	((function_)->ignore_nulls != NO_NULLTREATMENT)
#else
#define compat_window_ignores_nulls(function_) false
#endif

/* 16 has permissions apart from range table entries; 18 has virtual columns. */
#if PG_VERSION_NUM >= 160000
#define compat_has_other_user(query_, rte_) \
	((rte_)->perminfoindex != 0 && \
	 OidIsValid(getRTEPermissionInfo((query_)->rteperminfos, \
									 (RangeTblEntry *) (rte_))->checkAsUser))

/*
 * Makes an entry one of another table, without permissions to be checked; what
 * is changed stays known.  The planner wants permissions for each table, the
 * executor none that are empty.
 */
static inline void
compat_set_unchecked_table(Query *query, RangeTblEntry *rte, Oid relid)
{
	Bitmapset  *updated = rte->perminfoindex == 0 ? NULL :
	getRTEPermissionInfo(query->rteperminfos, rte)->updatedCols;

	rte->relid = relid;
	rte->perminfoindex = 0;
	addRTEPermissionInfo(&query->rteperminfos, rte)->updatedCols =
		bms_copy(updated);
}

static inline void
compat_remove_empty_permissions(PlannedStmt *stmt)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, stmt->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		RTEPermissionInfo *info;

		if (rte->perminfoindex == 0)
			continue;
		info = getRTEPermissionInfo(stmt->permInfos, rte);
		rte->perminfoindex = 0;
		if (info->requiredPerms == 0)
			continue;
		kept = lappend(kept, info);
		rte->perminfoindex = list_length(kept);
	}
	stmt->permInfos = kept;
}
#else
#define compat_has_other_user(query_, rte_) OidIsValid((rte_)->checkAsUser)
#define compat_remove_empty_permissions(stmt_) ((void) 0)
#define compat_set_unchecked_table(query_, rte_, relid_) \
	((rte_)->relid = (relid_), (rte_)->requiredPerms = 0, \
	 (rte_)->selectedCols = NULL)
#endif

/* a list until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_add_result_relation(stmt_, rtindex_) \
	((stmt_)->resultRelationRelids = \
	 bms_add_member((stmt_)->resultRelationRelids, (rtindex_)))
#else
#define compat_add_result_relation(stmt_, rtindex_) \
	((stmt_)->resultRelations = \
	 lappend_int((stmt_)->resultRelations, (rtindex_)))
#endif

#if PG_VERSION_NUM >= 180000
#define compat_has_virtual_columns(tupdesc_) \
	((tupdesc_)->constr && (tupdesc_)->constr->has_generated_virtual)
#else
#define compat_has_virtual_columns(tupdesc_) false
#endif

#endif							/* SHARD_FDW_BASE_COMPAT_PLANNER_H */
