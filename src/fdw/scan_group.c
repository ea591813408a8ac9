/*-------------------------------------------------------------------------
 *
 * scan_group.c
 *	  Which scans of a running plan send their queries together, and on what
 *	  terms.
 *
 * There is one ScanSet per EState.  It hangs in a static list and goes with
 * the EState's query context, so nothing is left behind when the execution
 * ends with an error.
 *
 * A member's group is found in the plan that was executed: the relations of
 * its ForeignScan are followed through PlannedStmt.appendRelations to their
 * top parents.  Range table indexes are unique there, which those of the
 * planner are not (subqueries have their own).
 *
 * Scans that depend on parameters of other nodes are started alone, since
 * their parameters have values only when they are run.  So are scans below an
 * Append that will not be read to its end: the first children may be enough.
 *
 * Cursor or stream: a stream keeps its connection busy until it has been read
 * to the end.  The children of an Append are read one after the other, so the
 * streams of those that share a connection just line up.  Any other two scans
 * with the same connection may be read by turns; then both use cursors.  (If
 * this is ever wrong, the request engine spools the stream that is in the
 * way, which is slow but right.)
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/lsyscache.h"

#include "base/compat_executor.h"
#include "fdw/exec_drain.h"
#include "fdw/scan_group.h"
#include "txn/coordinator.h"

/* The members of one EState that share a connection. */
typedef struct ScanPeers
{
	dlist_node	link;
	Oid			userid;
	Oid			serverid;
	int			nmembers;
	bool		needs_flush;

	/* scratch of mark_conflicts() */
	uint64		round;			/* call that the fields below belong to */
	int			child;			/* child the peers were met in */
	bool		is_shared;		/* met in more than one */
} ScanPeers;

typedef struct ScanSet
{
	dlist_node	link;			/* in scan_sets */
	EState	   *estate;
	MemoryContext context;		/* the EState's query context */
	dlist_head	members;		/* in the order they were begun */
	dlist_head	peers;
	uint64		statement;		/* 0: not yet numbered */
	Index	   *parents;		/* of each range table entry, 0 for none */
	bool		is_planned;		/* terms have been decided */
	bool		is_plain_select;	/* changes and locks nothing */
	bool		is_read_only;	/* changes nothing */
	bool		may_write_between;	/* rows may go to shards while others come
									 * from them */
	bool		reads_first;	/* but not before all have come */
	uint64		round;			/* counts calls of mark_conflicts() */
	dlist_node *found_last;		/* by find_member() */
	MemoryContextCallback callback;
} ScanSet;

static dlist_head scan_sets = DLIST_STATIC_INIT(scan_sets);

/* ---- the sets ---- */

static void
forget_set(void *arg)
{
	ScanSet    *set = arg;

	dlist_delete(&set->link);
}

static ScanSet *
find_set(EState *estate)
{
	dlist_iter	iter;
	ScanSet    *set;

	dlist_foreach(iter, &scan_sets)
	{
		set = dlist_container(ScanSet, link, iter.cur);
		if (set->estate == estate)
			return set;
	}

	set = MemoryContextAllocZero(estate->es_query_cxt, sizeof(ScanSet));
	set->estate = estate;
	set->context = estate->es_query_cxt;
	dlist_init(&set->members);
	dlist_init(&set->peers);
	dlist_push_head(&scan_sets, &set->link);
	set->callback.func = forget_set;
	set->callback.arg = set;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &set->callback);
	return set;
}

uint64
scan_group_statement(EState *estate)
{
	ScanSet    *set = find_set(estate);

	if (set->statement == 0)
		set->statement = coordinator_next_statement();
	return set->statement;
}

static ScanPeers *
find_peers(ScanSet *set, Oid userid, Oid serverid)
{
	dlist_iter	iter;
	ScanPeers  *peers;

	dlist_foreach(iter, &set->peers)
	{
		peers = dlist_container(ScanPeers, link, iter.cur);
		if (peers->userid == userid && peers->serverid == serverid)
			return peers;
	}
	peers = MemoryContextAllocZero(set->context, sizeof(ScanPeers));
	peers->userid = userid;
	peers->serverid = serverid;
	dlist_push_tail(&set->peers, &peers->link);
	return peers;
}

/* ---- registration ---- */

/*
 * Finds what the parameters to send depend on.  A subplan among them may
 * depend on all the node depends on.
 */
static bool
note_exec_params(Node *node, ScanMember *member)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		member->has_exec_params = true;
		member->exec_params = bms_add_member(member->exec_params,
											 ((Param *) node)->paramid);
	}
	else if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
	{
		member->has_exec_params = true;
		member->exec_params = bms_add_members(member->exec_params,
											  member->node->ss.ps.plan->allParam);
	}
	return expression_tree_walker(node, note_exec_params, (void *) member);
}

static void
find_parents(ScanSet *set)
{
	PlannedStmt *stmt = set->estate->es_plannedstmt;
	ListCell   *lc;

	set->parents = MemoryContextAllocZero(set->context, sizeof(Index) *
										  (set->estate->es_range_table_size + 1));
	if (stmt == NULL)
		return;
	foreach(lc, stmt->appendRelations)
	{
		AppendRelInfo *appinfo = lfirst_node(AppendRelInfo, lc);

		if (appinfo->child_relid <= set->estate->es_range_table_size)
			set->parents[appinfo->child_relid] = appinfo->parent_relid;
	}
}

static Bitmapset *
find_top_parents(ScanSet *set, const Bitmapset *relids)
{
	Bitmapset  *top_parents = NULL;
	int			relid = -1;

	if (set->parents == NULL)
		find_parents(set);
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		Index		top = relid;

		while (top <= set->estate->es_range_table_size &&
			   set->parents[top] != 0)
			top = set->parents[top];
		top_parents = bms_add_member(top_parents, top);
	}
	return top_parents;
}

void
scan_group_register(ScanMember *member)
{
	EState	   *estate = member->node->ss.ps.state;
	ForeignScan *plan = (ForeignScan *) member->node->ss.ps.plan;
	ScanSet    *set = find_set(estate);
	MemoryContext old_context = MemoryContextSwitchTo(set->context);

	member->set = set;
	member->userid = compat_scan_userid(plan, estate);
	member->serverid = plan->fs_server;
	member->owner_level = GetCurrentTransactionNestLevel();
	note_exec_params((Node *) plan->fdw_exprs, member);
	member->top_parents = find_top_parents(set, plan->fs_relids);
	member->peers = find_peers(set, member->userid, member->serverid);
	member->peers->nmembers++;
	dlist_push_tail(&set->members, &member->node_link);
	MemoryContextSwitchTo(old_context);
}

void
scan_group_leave(ScanMember *member)
{
	if (member->set == NULL)
		return;
	dlist_delete(&member->node_link);
	member->set = NULL;
}

/*
 * A portal opened in a subtransaction that commits is the parent's from then
 * on, and so is what its scans send later.
 */
static void
lower_owner_levels(SubXactEvent event, SubTransactionId subid,
				   SubTransactionId parent_subid, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	dlist_iter	set;
	dlist_iter	node;

	if (event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	dlist_foreach(set, &scan_sets)
	{
		dlist_foreach(node, &dlist_container(ScanSet, link, set.cur)->members)
		{
			ScanMember *member = dlist_container(ScanMember, node_link, node.cur);

			member->owner_level = Min(member->owner_level, level - 1);
		}
	}
}

void
scan_group_init(void)
{
	RegisterSubXactCallback(lower_owner_levels, NULL);
}

/* ---- where the members stand in the plan ---- */

/*
 * Members stand in the set in the order of the plan, mostly, so the search
 * begins behind the one found last.
 */
static ScanMember *
find_member(ScanSet *set, const Plan *plan)
{
	dlist_node *start = set->found_last ? set->found_last :
	dlist_tail_node(&set->members);
	dlist_node *link = start;

	do
	{
		ScanMember *member;

		link = dlist_has_next(&set->members, link) ?
			dlist_next_node(&set->members, link) :
			dlist_head_node(&set->members);
		member = dlist_container(ScanMember, node_link, link);
		if (member->node->ss.ps.plan == plan)
		{
			set->found_last = link;
			return member;
		}
	} while (link != start);
	return NULL;
}

/*
 * children is a list of lists of members, found below different children of
 * one node: those that meet peers from another child are in conflict.
 */
static void
mark_conflicts(ScanSet *set, List *children)
{
	ListCell   *lc;
	ListCell   *lc2;

	if (list_length(children) < 2)
		return;
	set->round++;
	foreach(lc, children)
	{
		foreach(lc2, (List *) lfirst(lc))
		{
			ScanPeers  *peers = ((ScanMember *) lfirst(lc2))->peers;

			if (peers->round != set->round)
				peers->is_shared = false;
			else if (peers->child != foreach_current_index(lc))
				peers->is_shared = true;
			peers->round = set->round;
			peers->child = foreach_current_index(lc);
		}
	}
	foreach(lc, children)
	{
		foreach(lc2, (List *) lfirst(lc))
		{
			ScanMember *member = lfirst(lc2);

			if (member->peers->is_shared)
				member->has_conflict = true;
		}
	}
}

/*
 * The plans below a node, in the order they are run; in the place of a
 * foreign scan's outer plan, which runs only in rechecks, there is none.
 */
static List *
list_children(Plan *plan)
{
	List	   *children = NIL;

	switch (nodeTag(plan))
	{
		case T_Append:
			children = list_copy(((Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			children = list_copy(((MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			children = list_make1(((SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			children = list_copy(((CustomScan *) plan)->custom_plans);
			break;
		case T_ForeignScan:
			return NIL;
		default:
			break;
	}
	if (plan->lefttree)
		children = lappend(children, plan->lefttree);
	if (plan->righttree)
		children = lappend(children, plan->righttree);
	return children;
}

/*
 * Notes about the members below a plan node what its place tells; returns
 * them.  is_repeated: the node may be run more than once.
 */
static List *
place_members(ScanSet *set, Plan *plan, bool is_repeated, bool is_below_append)
{
	List	   *children;
	List	   *found = NIL;
	List	   *all = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (plan == NULL)
		return NIL;
	if (IsA(plan, ForeignScan))
	{
		ScanMember *member = find_member(set, plan);

		if (member == NULL)
			return NIL;
		member->may_be_rescanned = is_repeated;
		member->is_below_append = is_below_append;
		return list_make1(member);
	}

	children = list_children(plan);
	if (IsA(plan, Append))
		is_below_append = true;
	else if (IsA(plan, MergeAppend))
		is_below_append = false;
	foreach(lc, children)
	{
		Plan	   *child = lfirst(lc);
		bool		is_inner = child == plan->righttree &&
		(IsA(plan, NestLoop) || IsA(plan, RecursiveUnion));
		List	   *members = place_members(set, child, is_repeated || is_inner,
											is_below_append);

		found = lappend(found, members);
		all = list_concat(all, members);
	}
	if (!IsA(plan, Append))
		mark_conflicts(set, found);
	return all;
}

/*
 * Looks at the whole plan.  Parts outside the main tree (subplans and what
 * WITH computes) are taken to run at any time and any number of times.
 */
static void
place_all_members(ScanSet *set)
{
	PlannedStmt *stmt = set->estate->es_plannedstmt;
	List	   *parts;
	ListCell   *lc;

	if (stmt == NULL)
		return;
	parts = list_make1(place_members(set, stmt->planTree, false, false));
	foreach(lc, stmt->subplans)
		parts = lappend(parts, place_members(set, lfirst(lc), true, false));
	mark_conflicts(set, parts);
}

/* ---- terms ---- */

/*
 * May a relation the plan changes have rows on shards?  Partitions that rows
 * are routed to are not known yet.
 */
static bool
has_remote_target(const ScanSet *set)
{
	Bitmapset  *targets = compat_result_relations(set->estate->es_plannedstmt);
	int			rti = -1;

	while ((rti = bms_next_member(targets, rti)) >= 0)
	{
		char		relkind = exec_rt_fetch(rti, set->estate)->relkind;

		if (relkind == RELKIND_FOREIGN_TABLE ||
			relkind == RELKIND_PARTITIONED_TABLE)
			return true;
	}
	return false;
}

/* Local rows that have changed meanwhile are checked by running parts again. */
static bool
may_recheck_rows(const ModifyTable *modify, EState *estate)
{
	ListCell   *cell;

	if (modify->operation == CMD_INSERT)
		return false;
	foreach(cell, modify->resultRelations)
	{
		if (exec_rt_fetch(lfirst_int(cell), estate)->relkind !=
			RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/* See plan_drain.h; there may be a node above the change, see plan_returning.h. */
static bool
reads_before_writes(EState *estate)
{
	const PlannedStmt *stmt = estate->es_plannedstmt;
	const Plan *plan = stmt->planTree;

	if (IsA(plan, CustomScan) && ((CustomScan *) plan)->custom_plans != NIL)
		plan = linitial(((CustomScan *) plan)->custom_plans);
	return IsA(plan, ModifyTable) && exec_drain_is_below(plan) &&
		!stmt->hasModifyingCTE &&
		!may_recheck_rows((const ModifyTable *) plan, estate);
}

static void
describe_statement(ScanSet *set)
{
	const PlannedStmt *stmt = set->estate->es_plannedstmt;

	if (stmt == NULL)
		return;
	set->is_read_only = stmt->commandType == CMD_SELECT &&
		!stmt->hasModifyingCTE;
	set->is_plain_select = set->is_read_only && stmt->rowMarks == NIL;
	set->may_write_between = has_remote_target(set);
	set->reads_first = reads_before_writes(set->estate);
}

static void
decide_terms(ScanSet *set, ScanMember *member)
{
	bool		has_conflict = member->has_conflict || set->may_write_between;

	member->statement = scan_group_statement(set->estate);

	/* a stream that is sent again and again gives few rows each time */
	member->needs_cursor = !member->is_modify &&
		(member->may_stop_early ||
		 (has_conflict && !member->has_exec_params));

	if (member->is_modify || member->locks_rows || !set->is_read_only)
		member->use = BRANCH_USE_WRITE;
	else if (set->is_plain_select && member->peers->nmembers == 1 &&
			 !member->needs_cursor && !member->has_exec_params &&
			 !member->may_be_rescanned &&
			 (member->eflags & EXEC_FLAG_REWIND) == 0)
		member->use = BRANCH_USE_ALONE;
	else
		member->use = BRANCH_USE_READ;
}

/*
 * Decides for all members, at the first start of one; all have been begun by
 * then.
 */
static void
plan_set(ScanSet *set)
{
	MemoryContext old_context;
	MemoryContext scratch;
	dlist_iter	iter;

	if (set->is_planned)
		return;
	scratch = AllocSetContextCreate(CurrentMemoryContext, "shard_fdw scan group",
									ALLOCSET_SMALL_SIZES);
	old_context = MemoryContextSwitchTo(scratch);
	describe_statement(set);
	place_all_members(set);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);

	dlist_foreach(iter, &set->members)
		decide_terms(set, dlist_container(ScanMember, node_link, iter.cur));
	set->is_planned = true;
}

/* ---- starting ---- */

static bool
may_start_with_group(const ScanMember *member)
{
	return !member->is_started && !member->has_exec_params &&
		!(member->may_stop_early && member->is_below_append);
}

static void
find_branch(ScanMember *member)
{
	if (member->is_modify)
		member->branch = coordinator_get_branch_to_write(member->userid,
														 member->serverid);
	else
		member->branch = coordinator_get_branch(member->userid,
												member->serverid);
}

/*
 * The flag is set first: evaluating the parameters of a member may run other
 * parts of the plan.
 */
static void
start_one(ScanMember *member)
{
	member->is_started = true;
	member->peers->needs_flush = true;
	member->start(member);
}

/* Marks a member started that has nothing to send. */
static bool
is_idle(ScanMember *member)
{
	if (member->is_needed == NULL || member->is_needed(member))
		return false;
	member->is_started = true;
	return true;
}

static bool
is_in_same_start(const ScanMember *member, const ScanMember *other)
{
	return may_start_with_group(other) &&
		bms_equal(other->top_parents, member->top_parents);
}

/*
 * All connections begin to open before anything else is done.
 */
static void
start_group(ScanSet *set, const ScanMember *member)
{
	List	   *group = NIL;
	dlist_iter	iter;
	ListCell   *lc;

	dlist_foreach(iter, &set->members)
	{
		ScanMember *other = dlist_container(ScanMember, node_link, iter.cur);

		if (!is_in_same_start(member, other) || is_idle(other))
			continue;
		find_branch(other);
		group = lappend(group, other);
	}
	foreach(lc, group)
		start_one(lfirst(lc));
	foreach(lc, group)
	{
		ScanMember *other = lfirst(lc);

		if (other->peers->needs_flush)
			branch_flush(other->branch);
		other->peers->needs_flush = false;
	}
	list_free(group);
}

/*
 * A scan that is made again asks again only where parameters of other nodes
 * have changed; one that has nothing to send is never started.
 */
static bool
may_see_writes(const ScanMember *member, Oid userid, Oid serverid)
{
	return member->userid == userid && member->serverid == serverid &&
		(!member->is_started || member->has_exec_params);
}

bool
scan_group_may_see_writes(EState *estate, Oid userid, Oid serverid)
{
	ScanSet    *set = find_set(estate);
	dlist_iter	iter;

	if (set->reads_first)
		return false;
	dlist_foreach(iter, &set->members)
	{
		if (may_see_writes(dlist_container(ScanMember, node_link, iter.cur),
						   userid, serverid))
			return true;
	}
	return false;
}

/* A partitioned table stands for its only partition left, see plan_single.h. */
static bool
reads_table(const ScanMember *member, EState *estate, List *tables)
{
	const Bitmapset *relids =
	((ForeignScan *) member->node->ss.ps.plan)->fs_relids;
	int			rtindex = -1;

	while ((rtindex = bms_next_member(relids, rtindex)) >= 0)
	{
		if (list_member_oid(tables, exec_rt_fetch(rtindex, estate)->relid))
			return true;
	}
	return false;
}

bool
scan_group_may_see_table(EState *estate, Oid userid, Oid serverid, Oid relid)
{
	ScanSet    *set = find_set(estate);
	List	   *tables = list_make1_oid(relid);
	dlist_iter	iter;

	if (set->reads_first)
		return false;
	if (get_rel_relispartition(relid))
		tables = list_concat(tables, get_partition_ancestors(relid));

	dlist_foreach(iter, &set->members)
	{
		ScanMember *member = dlist_container(ScanMember, node_link, iter.cur);

		if (may_see_writes(member, userid, serverid) && !member->is_modify &&
			reads_table(member, estate, tables))
			return true;
	}
	return false;
}

void
scan_group_start(ScanMember *member)
{
	if (member->is_started)
		return;
	plan_set(member->set);
	if (may_start_with_group(member))
		start_group(member->set, member);
	else if (!is_idle(member))
	{
		find_branch(member);
		start_one(member);
		branch_flush(member->branch);
		member->peers->needs_flush = false;
	}
}
