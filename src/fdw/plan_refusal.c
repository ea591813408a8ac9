/*-------------------------------------------------------------------------
 *
 * plan_refusal.c
 *	  Why a step of a query is not left to a shard, for EXPLAIN.
 *
 * What is refused is found out anew, by the rules of the modules that refuse:
 * that way these need not carry reasons along, and planning costs nothing
 * where nobody asks.  The planner's hooks tell of what our own callbacks do not
 * hear of, such as joins of tables of different servers.
 *
 * A step is told of at the scans that are its input: those are in the plan,
 * the step itself is not a scan.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/ruleutils.h"

#include "base/compat_planner.h"
#include "base/settings.h"
#include "fdw/fdw_handler.h"
#include "fdw/partial_agg.h"
#include "fdw/plan_order.h"
#include "fdw/plan_refusal.h"

static set_join_pathlist_hook_type next_join_hook = NULL;
static create_upper_paths_hook_type next_upper_hook = NULL;

/* ---- texts ---- */

/* Walker: something that cannot be printed, as only the planner knows it? */
static bool
has_planner_node(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	return IsA(node, PlaceHolderVar) || IsA(node, RestrictInfo) ||
		expression_tree_walker(node, has_planner_node, arg);
}

static char *
describe_expr(PlannerInfo *root, Node *expr)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	List	   *names = NIL;
	ListCell   *cell;

	if (has_planner_node(expr, NULL))
		return pstrdup("an expression");
	statement->rtable = root->parse->rtable;
	foreach(cell, statement->rtable)
		names = lappend(names,
						lfirst_node(RangeTblEntry, cell)->eref->aliasname);
	return deparse_expression(expr,
							  deparse_context_for_plan_tree(statement, names),
							  false, false);
}

static char *
describe_rel(PlannerInfo *root, Relids relids)
{
	StringInfoData buf;
	int			rtindex = -1;

	initStringInfo(&buf);
	while ((rtindex = bms_next_member(relids, rtindex)) >= 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(rtindex, root);

		if (rte->rtekind == RTE_JOIN)
			continue;
		appendStringInfo(&buf, "%s%s", buf.len > 0 ? ", " : "",
						 rte->eref->aliasname);
	}
	return buf.data;
}

static List *
add_line(List *lines, const char *step, const char *reason)
{
	char	   *line = psprintf("%s (%s)", step, reason);
	ListCell   *cell;

	foreach(cell, lines)
	{
		if (strcmp(lfirst(cell), line) == 0)
			return lines;
	}
	return lappend(lines, line);
}

/* "WHERE a = b" and why; nothing for an expression that is not refused. */
static List *
add_expr_line(PlannerInfo *root, List *lines, const char *clause, Node *expr,
			  const ShipScope *scope)
{
	const char *reason = shippable_expr_refusal(expr, scope);

	if (reason == NULL)
		return lines;
	return add_line(lines, psprintf("%s %s", clause, describe_expr(root, expr)),
					reason);
}

/* ---- joins ---- */

static const char *
join_kind(JoinType jointype)
{
	switch (jointype)
	{
		case JOIN_LEFT:
		case JOIN_RIGHT:
			return "outer join";
		case JOIN_FULL:
			return "full join";
		case JOIN_SEMI:
			return "semijoin";
		case JOIN_ANTI:
			return "antijoin";
		default:
			return "join";
	}
}

/* The reasons that have to do with one side of the join. */
static const char *
refusal_of_side(const FdwRelInfo *side, JoinType jointype)
{
	if (side->local_conds != NIL)
		return "a condition is checked before it";
	if (side->is_grouped)
		return "of groups";
	if (jointype == JOIN_FULL && side->exists != NIL)
		return "of a semijoin";
	return NULL;
}

/* Tells the side that is ours of a join of both, neither of them an Append. */
static void
note_join(PlannerInfo *root, RelOptInfo *side, RelOptInfo *other,
		  JoinType jointype, List *conds)
{
	FdwRelInfo *info = side->fdw_private;
	FdwRelInfo *other_info = other->fdw_private;
	ShipScope	scope = {bms_union(side->relids, other->relids),
	info->options->extensions};
	char	   *step = psprintf("%s with %s", join_kind(jointype),
								describe_rel(root, other->relids));
	const char *reason;
	bool		is_told = false;
	ListCell   *cell;

	if (other_info == NULL)
		reason = "not a table on a server, or not as a remote query";
	else if (info->serverid != other_info->serverid)
		reason = "different servers";
	else if (side->userid != other->userid)
		reason = "different users";
	else
		reason = refusal_of_side(info, jointype);
	if (reason == NULL && other_info)
		reason = refusal_of_side(other_info, jointype);
	if (reason == NULL)
	{
		foreach(cell, conds)
		{
			Node	   *clause = (Node *) lfirst_node(RestrictInfo, cell)->clause;

			info->refused = add_expr_line(root, info->refused,
										  psprintf("%s on", step), clause,
										  &scope);
			is_told |= !shippable_expr(clause, &scope);
		}
		if (is_told)
			return;
		reason = "its rows or their use here do not allow it";
	}
	info->refused = add_line(info->refused, step, reason);
}

/* The partitions of a table, or the relation itself, if ours. */
static List *
ours_of(RelOptInfo *rel)
{
	List	   *found = NIL;
	int			part = -1;

	if (rel->fdwroutine != NULL && rel->fdw_private != NULL &&
		rel->fdwroutine->GetForeignPlan == shardGetForeignPlan)
		return list_make1(rel);
	if (rel->part_rels == NULL)
		return NIL;
	while ((part = bms_next_member(rel->live_parts, part)) >= 0)
	{
		if (rel->part_rels[part])
			found = list_concat(found, ours_of(rel->part_rels[part]));
	}
	return found;
}

static void
note_join_side(PlannerInfo *root, RelOptInfo *side, RelOptInfo *other,
			   JoinType jointype, List *conds)
{
	bool		is_partitioned = side->fdw_private == NULL;
	List	   *ours = ours_of(side);
	ListCell   *cell;

	if (!is_partitioned && other->part_scheme == NULL)
	{
		if (ours != NIL)
			note_join(root, side, other, jointype, conds);
		return;
	}
	foreach(cell, ours)
	{
		FdwRelInfo *info = ((RelOptInfo *) lfirst(cell))->fdw_private;

		info->refused = add_line(info->refused,
								 psprintf("%s with %s", join_kind(jointype),
										  describe_rel(root, other->relids)),
								 ours_of(other) == NIL ?
								 "not a table on a server" :
								 "not on the partition keys");
	}
}

/* Hook: the paths of a join have been made. */
static void
hear_of_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
			 RelOptInfo *innerrel, JoinType jointype,
			 JoinPathExtraData *extra)
{
	if (next_join_hook)
		next_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!setting_explain_pushdown || joinrel->fdw_private != NULL ||
		joinrel->part_scheme != NULL || joinrel->consider_partitionwise_join ||
		jointype == JOIN_UNIQUE_OUTER || jointype == JOIN_UNIQUE_INNER)
		return;
	note_join_side(root, outerrel, innerrel, jointype,
				   extra->restrictlist);
	note_join_side(root, innerrel, outerrel, jointype,
				   extra->restrictlist);
}

/* ---- groups ---- */

typedef struct AggSearch
{
	PlannerInfo *root;
	FdwRelInfo *input;
	ShipScope	scope;			/* aggregates allowed */
	bool		is_partial;
} AggSearch;

/* Walker: tells of the aggregates that are not for the shard. */
static bool
note_aggregates(Node *node, void *arg)
{
	AggSearch  *search = arg;
	FdwRelInfo *input = search->input;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, note_aggregates, arg);
	input->refused = add_expr_line(search->root, input->refused, "aggregate",
								   node, &search->scope);
	if (search->is_partial && shippable_expr(node, &search->scope) &&
		!partial_agg_is_shippable((Aggref *) node, &search->scope))
		input->refused = add_line(input->refused,
								  psprintf("aggregate %s",
										   describe_expr(search->root, node)),
								  "not computed in parts");
	return false;
}

static void
note_group_columns(PlannerInfo *root, FdwRelInfo *input,
				   const PathTarget *target)
{
	ShipScope	scope = fdw_relinfo_scope(input);
	ListCell   *cell;

	foreach(cell, target->exprs)
	{
		Index		ref = get_pathtarget_sortgroupref(target,
													  foreach_current_index(cell));

		if (ref != 0 &&
			get_sortgroupref_clause_noerr(ref, root->parse->groupClause))
			input->refused = add_expr_line(root, input->refused, "GROUP BY",
										   lfirst(cell), &scope);
	}
}

void
plan_refusal_note_grouping(PlannerInfo *root, FdwRelInfo *input,
						   const PathTarget *target, List *having,
						   bool is_partial)
{
	AggSearch	search = {root, input};
	const char *step = root->parse->hasAggs ? "aggregation" : "grouping";
	int			nlines;

	if (!setting_explain_pushdown)
		return;
	search.scope = fdw_relinfo_scope(input);
	search.scope.has_aggregates = true;
	search.is_partial = is_partial;
	nlines = list_length(input->refused);
	note_group_columns(root, input, target);
	(void) note_aggregates((Node *) target->exprs, &search);
	(void) note_aggregates((Node *) having, &search);
	if (input->local_conds != NIL)
		input->refused = add_line(input->refused, step,
								  "a condition is checked before it");
	else if (list_length(input->refused) == nlines)
		input->refused = add_line(input->refused, step,
								  "an expression over it is not for the server");
}

/* Of groups that go across partitions the shards may not have been asked. */
static void
note_unasked_grouping(PlannerInfo *root, RelOptInfo *input_rel)
{
	const char *reason;
	ListCell   *cell;

	reason = root->parse->groupingSets != NIL ? "grouping sets" :
		root->hasNonPartialAggs ? "an aggregate cannot be computed in parts" :
		"not by the partition keys";
	foreach(cell, ours_of(input_rel))
	{
		FdwRelInfo *info = ((RelOptInfo *) lfirst(cell))->fdw_private;

		if (!info->was_grouping_tried)
			info->refused = add_line(info->refused, root->parse->hasAggs ?
									 "aggregation" : "grouping", reason);
	}
}

/* Windows and DISTINCT are for a query of one server, and all or nothing. */
static void
note_step(RelOptInfo *input_rel, const char *step)
{
	const FdwRelInfo *whole = input_rel->fdw_private;
	const char *reason;
	ListCell   *cell;

	reason = whole == NULL ? "not all rows are on one server" :
		whole->local_conds != NIL || whole->local_having != NIL ?
		"a condition is checked before it" :
		"a part is not for the server";
	foreach(cell, ours_of(input_rel))
	{
		FdwRelInfo *info = ((RelOptInfo *) lfirst(cell))->fdw_private;

		info->refused = add_line(info->refused, step, reason);
	}
}

/*
 * Hook: paths have been made for a step.
 */
static void
hear_of_upper(PlannerInfo *root, UpperRelationKind stage,
			  RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	if (next_upper_hook)
		next_upper_hook(root, stage, input_rel, output_rel, extra);
	if (!setting_explain_pushdown || output_rel->fdw_private != NULL)
		return;
	if (stage == UPPERREL_GROUP_AGG && input_rel->fdw_private == NULL)
		note_unasked_grouping(root, input_rel);
	else if (stage == UPPERREL_WINDOW)
		note_step(input_rel, "window functions");
	else if (stage == UPPERREL_DISTINCT)
		note_step(input_rel, root->parse->hasDistinctOn ? "DISTINCT ON" :
				  "DISTINCT");
}

void
plan_refusal_init(void)
{
	next_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = hear_of_join;
	next_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = hear_of_upper;
}

/* ---- a scan ---- */

/* An expression of the relation that the key sorts by, or NULL. */
static Node *
sort_expr(RelOptInfo *rel, const FdwRelInfo *info, PathKey *pathkey)
{
	ListCell   *cell;

	foreach(cell, compat_ec_members(pathkey->pk_eclass, rel->relids))
	{
		EquivalenceMember *member = lfirst(cell);

		if (!member->em_is_const &&
			bms_is_subset(member->em_relids, info->relids))
			return (Node *) member->em_expr;
	}
	return NULL;
}

static List *
add_order_lines(PlannerInfo *root, RelOptInfo *rel, List *lines)
{
	const FdwRelInfo *info = rel->fdw_private;
	ShipScope	scope = fdw_relinfo_scope(info);
	ListCell   *cell;

	scope.has_aggregates = info->is_grouped;
	foreach(cell, root->sort_pathkeys)
	{
		PathKey    *pathkey = lfirst_node(PathKey, cell);
		Node	   *expr;
		const char *reason;

		if (plan_order_find_keys(root, rel, list_make1(pathkey), NULL))
			continue;
		expr = sort_expr(rel, info, pathkey);
		if (expr == NULL)
		{
			lines = add_line(lines, "ORDER BY", "not of columns of the server");
			continue;
		}
		reason = shippable_expr_refusal(expr, &scope);
		if (reason == NULL)
			reason = info->is_grouped ? "not a result of the remote query" :
				"its collation or operator may sort differently there";
		lines = add_line(lines,
						 psprintf("ORDER BY %s", describe_expr(root, expr)),
						 reason);
	}
	return lines;
}

/* Is it up to this relation in what order and number the query's rows come? */
static bool
is_whole_query(PlannerInfo *root, RelOptInfo *rel)
{
	Relids		covered = rel->top_parent_relids ? rel->top_parent_relids :
	rel->relids;

	return root->parse->commandType == CMD_SELECT &&
		bms_is_subset(root->all_baserels, covered);
}

List *
plan_refusal_lines(PlannerInfo *root, RelOptInfo *rel,
				   const ForeignPath *path, List *local_exprs)
{
	const FdwRelInfo *info = rel->fdw_private;
	ShipScope	scope;
	List	   *lines;
	List	   *strings = NIL;
	ListCell   *cell;

	if (!setting_explain_pushdown)
		return NIL;
	scope = fdw_relinfo_scope(info);
	scope.has_aggregates = info->is_grouped;
	lines = list_copy(info->refused);
	foreach(cell, local_exprs)
		lines = add_expr_line(root, lines,
							  info->is_grouped ? "HAVING" : "condition",
							  lfirst(cell), &scope);
	if (is_whole_query(root, rel))
	{
		if (root->sort_pathkeys != NIL && path->path.pathkeys == NIL)
			lines = add_order_lines(root, rel, lines);
		if (root->parse->limitCount != NULL &&
			plan_order_limit(path) == PLAN_LIMIT_NONE)
		{
			const char *reason = plan_order_refusal(root, rel, info);

			lines = add_line(lines, "LIMIT", reason ? reason :
							 "the rows are sorted here");
		}
	}
	foreach(cell, lines)
		strings = lappend(strings, makeString(lfirst(cell)));
	return strings;
}
