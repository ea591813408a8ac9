/*-------------------------------------------------------------------------
 *
 * plan_estimate.c
 *	  Estimates asked of shards, for tables with use_remote_estimate.
 *
 * The planner works through the partitions of a table one after the other,
 * and wants the estimate of one before it looks at the next.  To ask each
 * shard in its turn would take a trip for each partition.  But what is asked
 * of one partition is asked of all: the query is the same but for the names.
 * So when the first of them, which is called the leader here, is to be
 * estimated, its query is written down once more for each of its siblings;
 * all are sent together and the answers kept.  When the planner gets to a
 * sibling its query, found by its text, has been answered.
 *
 * Siblings are the leaves below the same top parent, or, for a join, what is
 * at the same place below the top parents of all its tables.  Where they are
 * many only some are asked, and the others get the mean: estimates of the
 * partitions of a table are much alike, and the shards' time is not for
 * planning.
 *
 * Values that are not known while planning are sent as an expression that the
 * shard's planner does not look through.
 *
 * The answers are good for one run of the planner.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat_planner.h"
#include "fdw/fdw_handler.h"
#include "fdw/plan_estimate.h"
#include "fdw/plan_single.h"
#include "fdw/remote_select.h"
#include "fdw/remote_sql.h"
#include "fdw/table_cache.h"
#include "txn/coordinator.h"

/* of one question no more siblings are asked than this */
#define MAX_ASKED 128

/* What is to be estimated. */
typedef struct Question
{
	PlannerInfo *root;
	const FdwRelInfo *info;
	const PathTarget *target;
	List	   *param_conds;
	RemoteTail	tail;
	Oid			userid;
} Question;

typedef struct AnswerKey
{
	Oid			serverid;
	Oid			userid;
	const char *sql;
} AnswerKey;

typedef struct Answer
{
	AnswerKey	key;			/* must be first */
	RemoteRequest *request;		/* until it is answered */
	PlanEstimate estimate;
	bool		has_mean;		/* it was a leader's */
	PlanEstimate mean;			/* of those asked with it */
} Answer;

/* the answers of a run of the planner, in its memory */
static const PlannerGlobal *current_run = NULL;
static HTAB *current_answers = NULL;

/* ---- the answers kept ---- */

static uint32
hash_answer_key(const void *key, Size size)
{
	const AnswerKey *answer_key = key;

	return hash_combine(hash_bytes((const unsigned char *) answer_key->sql,
								   strlen(answer_key->sql)),
						hash_combine(answer_key->serverid,
									 answer_key->userid));
}

static int
compare_answer_keys(const void *left, const void *right, Size size)
{
	const AnswerKey *a = left;
	const AnswerKey *b = right;

	return a->serverid != b->serverid || a->userid != b->userid ||
		strcmp(a->sql, b->sql) != 0;
}

/* Callback: the memory of a run is going. */
static void
forget_run(void *arg)
{
	if (current_run == arg)
		current_run = NULL;
}

/*
 * A run of the planner within another one takes the place of its answers,
 * which have to be asked for again then.
 */
static HTAB *
answers_of_run(PlannerInfo *root)
{
	HASHCTL		control = {0};
	MemoryContextCallback *callback;

	if (current_run == root->glob)
		return current_answers;
	control.keysize = sizeof(AnswerKey);
	control.entrysize = sizeof(Answer);
	control.hash = hash_answer_key;
	control.match = compare_answer_keys;
	control.hcxt = root->planner_cxt;
	current_answers = hash_create("shard_fdw estimates", 64, &control,
								  HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
								  HASH_CONTEXT);
	callback = MemoryContextAlloc(root->planner_cxt,
								  sizeof(MemoryContextCallback));
	callback->func = forget_run;
	callback->arg = root->glob;
	MemoryContextRegisterResetCallback(root->planner_cxt, callback);
	current_run = root->glob;
	return current_answers;
}

/* ---- the text ---- */

/* The columns of one table that have the names of those of another. */
static List *
map_attrs(List *attrs, Oid from, Oid to)
{
	List	   *mapped = NIL;
	ListCell   *cell;

	if (from == to)
		return attrs;
	foreach(cell, attrs)
	{
		AttrNumber	attnum = lfirst_int(cell);

		mapped = lappend_int(mapped, attnum < 0 ? attnum :
							 get_attnum(to, get_attname(from, attnum, false)));
	}
	return mapped;
}

static void
append_table_query(StringInfo buf, RemoteExprContext *context,
				   const Question *question)
{
	const FdwRelInfo *info = question->info;
	Index		rtindex = bms_singleton_member(info->relids);
	Relation	own = table_open(plan_single_relid(question->root, rtindex),
								 NoLock);
	List	   *attrs = remote_sql_retrieved_attrs(own, info->attrs_used);
	List	   *conds = list_concat_copy(question->param_conds,
										 info->remote_conds);
	Relation	named;
	Oid			relid;

	(void) remote_expr_attno(context, rtindex, InvalidAttrNumber, &relid);
	named = table_open(relid, NoLock);
	remote_sql_select(buf, context, named,
					  map_attrs(attrs, RelationGetRelid(own), relid),
					  extract_actual_clauses(conds, false));
	remote_select_append_tail(buf, context, &question->tail);
	table_close(named, NoLock);
	table_close(own, NoLock);
}

/*
 * The query of the relation itself, or, with stand_ins, of a sibling.
 */
static char *
make_sql(const Question *question, const Oid *stand_ins)
{
	const FdwRelInfo *info = question->info;
	ShipScope	scope = fdw_relinfo_scope(info);
	RemoteExprContext context = {question->root, &scope};
	StringInfoData sql;

	context.is_estimate = true;
	context.stand_ins = stand_ins;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "EXPLAIN ");
	if (info->outer == NULL && !info->has_tlist)
		append_table_query(&sql, &context, question);
	else
		remote_select_append(&sql, &context, info,
							 remote_select_tlist(info, question->target,
												 extract_actual_clauses(info->local_conds,
																		false)),
							 &question->tail);
	remote_expr_end(&context);
	return sql.data;
}

/* ---- siblings ---- */

/* The table that has the table as a partition, or inherits it to it, topmost. */
static Index
top_parent(PlannerInfo *root, Index rtindex)
{
	AppendRelInfo *appinfo;

	while (root->append_rel_array != NULL &&
		   (appinfo = root->append_rel_array[rtindex]) != NULL &&
		   planner_rt_fetch(appinfo->parent_relid, root)->rtekind == RTE_RELATION)
		rtindex = appinfo->parent_relid;
	return rtindex;
}

/* Are questions about the table for its shard? */
static bool
is_askable(PlannerInfo *root, Index rtindex)
{
	RelOptInfo *rel = root->simple_rel_array[rtindex];

	return rel != NULL && rel->fdwroutine != NULL &&
		rel->fdwroutine->GetForeignPlan == shardGetForeignPlan;
}

/* The leaves below a table's topmost parent, in the order of expansion. */
static List *
find_leaves(PlannerInfo *root, Index rtindex)
{
	Index		parent = top_parent(root, rtindex);
	List	   *leaves = NIL;
	ListCell   *cell;

	if (parent == rtindex)
		return list_make1_int(rtindex);
	foreach(cell, root->append_rel_list)
	{
		Index		child = lfirst_node(AppendRelInfo, cell)->child_relid;

		if (planner_rt_fetch(child, root)->relkind == RELKIND_FOREIGN_TABLE &&
			top_parent(root, child) == parent)
			leaves = lappend_int(leaves, child);
	}
	return leaves;
}

static int
list_position(List *list, int member)
{
	ListCell   *cell;

	foreach(cell, list)
	{
		if (lfirst_int(cell) == member)
			return foreach_current_index(cell);
	}
	return -1;
}

/* A relation and its siblings. */
typedef struct Family
{
	int			nmembers;		/* 1: it has no siblings */
	int			self;
	int			ntables;
	Index	   *tables;			/* of the relation itself */
	List	  **leaves;			/* of each table's parent */
} Family;

static void
find_family(const Question *question, Family *family)
{
	PlannerInfo *root = question->root;
	int			rtindex = -1;

	family->nmembers = 1;
	family->self = 0;
	family->ntables = 0;
	family->tables = palloc(sizeof(Index) *
							bms_num_members(question->info->relids));
	family->leaves = palloc(sizeof(List *) *
							bms_num_members(question->info->relids));
	while ((rtindex = bms_next_member(question->info->relids, rtindex)) >= 0)
	{
		List	   *leaves = find_leaves(root, rtindex);
		int			position = list_position(leaves, rtindex);

		family->tables[family->ntables] = rtindex;
		family->leaves[family->ntables++] = leaves;
		if (family->ntables == 1)
		{
			family->nmembers = list_length(leaves);
			family->self = position;
		}
		else if (list_length(leaves) != family->nmembers ||
				 position != family->self)
			family->nmembers = 1;
	}
	if (family->nmembers == 1 || family->self < 0)
	{
		family->nmembers = 1;
		family->self = 0;
	}
}

/*
 * The tables of a member by the range table indexes of the relation's own,
 * and their server; NULL if there can be no such query, or it is not to be
 * estimated by its shard.
 */
static Oid *
find_stand_ins(const Question *question, const Family *family, int member,
			   Oid *serverid)
{
	PlannerInfo *root = question->root;
	Oid		   *stand_ins = palloc0(sizeof(Oid) * root->simple_rel_array_size);
	bool		is_wanted = false;
	int			table;

	*serverid = InvalidOid;
	for (table = 0; table < family->ntables; table++)
	{
		Index		leaf = list_nth_int(family->leaves[table], member);
		Oid			relid = planner_rt_fetch(leaf, root)->relid;
		Oid			server;

		if (!is_askable(root, leaf))
			return NULL;
		server = root->simple_rel_array[leaf]->serverid;
		if (OidIsValid(*serverid) && *serverid != server)
			return NULL;
		*serverid = server;
		is_wanted |= table_cache_options(relid)->use_remote_estimate;
		stand_ins[family->tables[table]] = relid;
	}
	return is_wanted ? stand_ins : NULL;
}

/* ---- asking ---- */

/* Sends the question unless it was asked before. */
static Answer *
ask(HTAB *answers, Oid serverid, Oid userid, const char *sql, List **asked)
{
	AnswerKey	key = {serverid, userid, sql};
	RemoteQuery query = {0};
	RemoteRequest *request;
	Answer	   *answer;
	TxnBranch  *branch;

	answer = hash_search(answers, &key, HASH_FIND, NULL);
	if (answer)
		return answer;
	branch = coordinator_get_branch(userid, serverid);
	query.sql = sql;
	request = branch_queue(branch, &query, BRANCH_USE_ALONE,
						   coordinator_next_statement(),
						   GetCurrentTransactionNestLevel());
	branch_flush(branch);
	answer = hash_search(answers, &key, HASH_ENTER, NULL);
	answer->request = request;
	answer->has_mean = false;
	*asked = lappend(*asked, answer);
	return answer;
}

/* The first line of a plan ends with the estimates of the whole. */
static void
read_estimate(const RemoteResult *result, PlanEstimate *estimate)
{
	const char *found = NULL;
	const char *next;

	if (remote_result_nrows(result) > 0 && remote_result_nfields(result) == 1)
	{
		next = remote_result_value(result, 0, 0);
		while ((next = strstr(next, "(cost=")) != NULL)
			found = next++;
	}
	if (found == NULL ||
		sscanf(found, "(cost=%lf..%lf rows=%lf width=%d)", &estimate->startup,
			   &estimate->total, &estimate->rows, &estimate->width) != 4)
		ereport(ERROR,
				errcode(ERRCODE_FDW_ERROR),
				errmsg("could not interpret the server's estimate"));
	estimate->rows = clamp_row_est(estimate->rows);
}

static void
receive(List *asked)
{
	RemoteRequest **requests = palloc(sizeof(RemoteRequest *) *
									  Max(list_length(asked), 1));
	int			nrequests = 0;
	ListCell   *cell;

	foreach(cell, asked)
		requests[nrequests++] = ((Answer *) lfirst(cell))->request;
	if (nrequests > 0)
		remote_request_finish_all(requests, nrequests, 0);
	foreach(cell, asked)
	{
		Answer	   *answer = lfirst(cell);

		read_estimate(remote_request_finish(answer->request),
					  &answer->estimate);
		remote_request_release(answer->request);
		answer->request = NULL;
	}
	pfree(requests);
}

static void
set_mean(Answer *leader, List *members)
{
	int			count = list_length(members);
	double		width = 0;
	ListCell   *cell;

	memset(&leader->mean, 0, sizeof(leader->mean));
	foreach(cell, members)
	{
		const PlanEstimate *estimate = &((Answer *) lfirst(cell))->estimate;

		leader->mean.rows += estimate->rows / count;
		leader->mean.startup += estimate->startup / count;
		leader->mean.total += estimate->total / count;
		width += estimate->width;
	}
	leader->mean.rows = clamp_row_est(leader->mean.rows);
	leader->mean.width = (int) (width / count);
	leader->has_mean = true;
}

/*
 * Asks about the relation and its siblings, or some of them.
 */
static Answer *
ask_family(HTAB *answers, const Question *question, const Family *family,
		   const char *own_sql)
{
	int			step = (family->nmembers + MAX_ASKED - 1) / MAX_ASKED;
	Oid			serverid = question->info->serverid;
	List	   *asked = NIL;
	List	   *members = NIL;
	Answer	   *leader = NULL;
	Answer	   *own;
	int			member;

	own = ask(answers, serverid, question->userid, own_sql, &asked);
	for (member = 0; member < family->nmembers; member += step)
	{
		Oid		   *stand_ins = find_stand_ins(question, family, member,
											   &serverid);
		Answer	   *answer = own;

		if (stand_ins == NULL && member != 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		if (stand_ins != NULL && member != family->self)
			answer = ask(answers, serverid, question->userid,
						 make_sql(question, stand_ins), &asked);
		if (member == 0)
			leader = answer;
		members = lappend(members, answer);
	}
	receive(asked);
	set_mean(leader, members);
	return own;
}

/*
 * Those that were not asked together with their leader get the mean.
 */
static const PlanEstimate *
answer_question(const Question *question)
{
	HTAB	   *answers = answers_of_run(question->root);
	char	   *sql = make_sql(question, NULL);
	AnswerKey	key = {question->info->serverid, question->userid, sql};
	Family		family;
	Answer	   *answer = hash_search(answers, &key, HASH_FIND, NULL);
	Oid		   *stand_ins;

	if (answer)
		return &answer->estimate;
	find_family(question, &family);
	if (family.nmembers > 1 && family.self != 0 &&
		(stand_ins = find_stand_ins(question, &family, 0,
									&key.serverid)) != NULL)
	{
		key.sql = make_sql(question, stand_ins);
		answer = hash_search(answers, &key, HASH_FIND, NULL);
		if (answer && answer->has_mean)
			return &answer->mean;
	}
	return &ask_family(answers, question, &family, sql)->estimate;
}

static bool
estimate_question(Question *question, PlanEstimate *estimate)
{
	MemoryContext old_context;
	Index		rtindex = bms_next_member(question->info->relids, -1);

	question->userid = compat_rel_userid(question->root,
										 find_base_rel(question->root,
													   rtindex));
	if (!OidIsValid(question->userid))
		question->userid = GetUserId();

	/* under GEQO the memory at hand is shorter-lived than the answers */
	old_context = MemoryContextSwitchTo(question->root->planner_cxt);
	*estimate = *answer_question(question);
	MemoryContextSwitchTo(old_context);
	return true;
}

bool
plan_estimate_rel(PlannerInfo *root, const FdwRelInfo *info,
				  const PathTarget *target, List *param_conds,
				  PlanEstimate *estimate)
{
	Question	question = {root, info, target, param_conds};

	return info->options->use_remote_estimate &&
		info->values_relids == NULL &&
		estimate_question(&question, estimate);
}

bool
plan_estimate_path(PlannerInfo *root, RelOptInfo *rel,
				   const PathTarget *target, List *pathkeys,
				   PlanLimit limit, PlanEstimate *estimate)
{
	Question	question = {root, rel->fdw_private, target};

	if (!question.info->options->use_remote_estimate ||
		question.info->values_relids != NULL ||
		(pathkeys == NIL && limit == PLAN_LIMIT_NONE) ||
		!plan_order_find_keys(root, rel, pathkeys, &question.tail.sort_keys))
		return false;
	if (limit != PLAN_LIMIT_NONE)
		plan_order_set_limit(root, limit, &question.tail);
	return estimate_question(&question, estimate);
}
