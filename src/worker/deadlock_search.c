/*-------------------------------------------------------------------------
 *
 * deadlock_search.c
 *	  From what sessions wait for and what shards say to verdicts.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/hsearch.h"

#include "worker/deadlock_graph.h"
#include "worker/deadlock_search.h"
#include "worker/deadlock_shared.h"

/* What tells nodes apart; no padding. */
typedef struct NodeKey
{
	int			cluster;
	int			pid;
	int			is_ours;		/* where a process id seems to be ours and is
								 * not, it is another session's */
} NodeKey;

typedef struct NodeEntry
{
	NodeKey		key;
	int			node;
} NodeEntry;

/* An edge, and what it was made of. */
typedef struct SeenEdge
{
	DeadlockEdge edge;
	const DeadlockLockWait *lock_wait;
} SeenEdge;

typedef struct Search
{
	HTAB	   *entries;
	const DeadlockWait **waits; /* by session */
	DeadlockSession *sessions;
	DeadlockNode *nodes;
	SeenEdge   *seen;			/* in the order of the edges */
	DeadlockEdge *edges;
	DeadlockGraph graph;
	int		   *workspace;
	int		   *cycle;
} Search;

/* ---- the graph ---- */

/*
 * The session's or the lock wait's node; it is made if there is none.
 */
static int
get_node(Search *search, int cluster, int pid, bool is_ours, bool *found)
{
	NodeKey		key = {cluster, pid, is_ours};
	NodeEntry  *entry = hash_search(search->entries, &key, HASH_ENTER, found);

	if (!*found)
	{
		entry->node = search->graph.nnodes++;
		search->nodes[entry->node].session = DEADLOCK_NO_SESSION;
		search->nodes[entry->node].is_waited = false;
		search->nodes[entry->node].is_kept = false;
	}
	return entry->node;
}

/*
 * Connections to a shard that does not answer are left out; where any
 * connection will do, the answer may come from there.
 */
static void
add_session(Search *search, const DeadlockWait *wait, const DeadlockSight *sight)
{
	int			number = search->graph.nsessions++;
	DeadlockSession *session = &search->sessions[number];
	int			node;
	bool		found;
	int			position;

	search->waits[number] = wait;
	session->first_node = search->graph.nnodes;
	session->started_at = wait->xact_start;
	session->is_immune = wait->token == 0;
	session->needs_any = wait->needs_any;
	node = get_node(search, DEADLOCK_HERE, wait->pid, true, &found);
	search->nodes[node].session = number;
	search->nodes[node].is_waited = wait->token == 0;
	search->nodes[node].is_kept = true;
	session->nnodes++;
	for (position = 0; position < wait->nconns; position++)
	{
		const DeadlockConn *conn = &wait->conns[position];
		int			cluster;

		if (deadlock_sight_find(sight, conn->serverid, &cluster))
			node = get_node(search, cluster, conn->pid, true, &found);
		else
			found = true;
		if (found)
		{
			session->goes_on |= wait->needs_any && conn->is_waited;
			continue;
		}
		search->nodes[node].session = number;
		search->nodes[node].is_waited = conn->is_waited;
		search->nodes[node].is_kept = conn->is_kept;
		session->nnodes++;
	}
}

static int
compare_edges(const void *left, const void *right)
{
	int			first = ((const SeenEdge *) left)->edge.waiter;
	int			second = ((const SeenEdge *) right)->edge.waiter;

	return first < second ? -1 : first > second;
}

static void
add_edges(Search *search, const DeadlockSight *sight)
{
	int			nedges = 0;
	int			edge;
	ListCell   *cell;

	foreach(cell, sight->lock_waits)
	{
		const DeadlockLockWait *wait = lfirst(cell);
		SeenEdge   *seen = &search->seen[nedges++];
		bool		found;

		seen->lock_wait = wait;
		seen->edge.waiter = get_node(search, wait->cluster, wait->pid,
									 wait->is_ours, &found);
		seen->edge.blocker = get_node(search, wait->cluster, wait->blocker,
									  wait->is_blocker_ours, &found);
	}
	qsort(search->seen, nedges, sizeof(SeenEdge), compare_edges);
	for (edge = 0; edge < nedges; edge++)
		search->edges[edge] = search->seen[edge].edge;
	search->graph.nedges = nedges;
}

static Search *
create_search(List *waits, const DeadlockSight *sight)
{
	Search	   *search = palloc0(sizeof(Search));
	int			max_edges = list_length(sight->lock_waits);
	int			max_nodes = 2 * max_edges;
	HASHCTL		control = {0};
	ListCell   *cell;

	foreach(cell, waits)
		max_nodes += ((const DeadlockWait *) lfirst(cell))->nconns + 1;
	control.keysize = sizeof(NodeKey);
	control.entrysize = sizeof(NodeEntry);
	control.hcxt = CurrentMemoryContext;
	search->entries = hash_create("shard_fdw deadlock nodes", 256, &control,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	search->waits = palloc0(sizeof(DeadlockWait *) * (list_length(waits) + 1));
	search->sessions = palloc0(sizeof(DeadlockSession) * (list_length(waits) + 1));
	search->nodes = palloc0(sizeof(DeadlockNode) * (max_nodes + 1));
	search->seen = palloc0(sizeof(SeenEdge) * (max_edges + 1));
	search->edges = palloc0(sizeof(DeadlockEdge) * (max_edges + 1));
	search->workspace = palloc(sizeof(int) *
							   (DEADLOCK_WORKSPACE(max_nodes, list_length(waits)) + 1));
	search->cycle = palloc(sizeof(int) * (max_nodes + 1));
	search->graph.sessions = search->sessions;
	search->graph.nodes = search->nodes;
	search->graph.edges = search->edges;
	foreach(cell, waits)
		add_session(search, lfirst(cell), sight);
	add_edges(search, sight);
	return search;
}

/* ---- two sights ---- */

static bool
is_same_wait(const DeadlockLockWait *wait, const DeadlockLockWait *other)
{
	return wait->cluster == other->cluster && wait->pid == other->pid &&
		wait->since == other->since && wait->blocker == other->blocker;
}

void
deadlock_search_keep_old(DeadlockSight *sight, const DeadlockSight *before)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, sight->lock_waits)
	{
		ListCell   *old;

		foreach(old, before->lock_waits)
		{
			if (is_same_wait(lfirst(cell), lfirst(old)))
				break;
		}
		if (old)
			kept = lappend(kept, lfirst(cell));
	}
	sight->lock_waits = kept;
}

List *
deadlock_search_old_waits(List *waits, List *before)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, waits)
	{
		ListCell   *old;

		foreach(old, before)
		{
			if (((const DeadlockWait *) lfirst(cell))->token ==
				((const DeadlockWait *) lfirst(old))->token)
				break;
		}
		if (old)
			kept = lappend(kept, lfirst(cell));
	}
	return kept;
}

/* ---- verdicts ---- */

/*
 * Processes of this server go by their number alone, as in other messages.
 */
static void
append_process(StringInfo text, const Search *search, int node, int pid,
			   const char *server_name)
{
	int			session = search->nodes[node].session;

	if (server_name == NULL)
		appendStringInfo(text, "rocess %d", pid);
	else if (session == DEADLOCK_NO_SESSION)
		appendStringInfo(text, "rocess %d of server \"%s\"", pid, server_name);
	else
		appendStringInfo(text, "rocess %d", search->waits[session]->pid);
}

static void
append_edge(StringInfo text, const Search *search, int edge)
{
	const SeenEdge *seen = &search->seen[edge];
	const DeadlockLockWait *wait = seen->lock_wait;

	appendStringInfoString(text, text->len > 0 ? "\nP" : "P");
	append_process(text, search, seen->edge.waiter, wait->pid,
				   wait->server_name);
	appendStringInfo(text, " waits for %s", wait->lock);
	if (wait->server_name)
		appendStringInfo(text, " on server \"%s\"", wait->server_name);
	appendStringInfoString(text, "; blocked by p");
	append_process(text, search, seen->edge.blocker, wait->blocker,
				   wait->server_name);
	appendStringInfoChar(text, '.');
}

static void
make_verdict(const Search *search, int nedges, DeadlockVerdict *verdict)
{
	StringInfoData text;
	int			position;
	int			length;

	initStringInfo(&text);
	for (position = 0; position < nedges; position++)
		append_edge(&text, search, search->cycle[position]);
	length = pg_mbcliplen(text.data, text.len, DEADLOCK_REPORT_LENGTH - 1);
	memset(verdict, 0, sizeof(DeadlockVerdict));
	memcpy(verdict->report, text.data, length);
	verdict->is_own_doing = nedges == 1;
	pfree(text.data);
}

bool
deadlock_search_has_any(List *waits, const DeadlockSight *sight)
{
	Search	   *search = create_search(waits, sight);

	return deadlock_graph_find(&search->graph, search->workspace,
							   search->cycle) > 0;
}

int
deadlock_search_end_all(List *waits, const DeadlockSight *sight)
{
	Search	   *search = create_search(waits, sight);
	int			ndeadlocks = 0;
	int			nedges;

	while ((nedges = deadlock_graph_find(&search->graph, search->workspace,
										 search->cycle)) > 0)
	{
		int			victim = deadlock_graph_victim(&search->graph,
												   search->cycle, nedges);
		DeadlockVerdict verdict;

		if (victim == DEADLOCK_NO_SESSION)
			break;				/* none of ours waits for a shard */
		make_verdict(search, nedges, &verdict);
		if (deadlock_shared_condemn(search->waits[victim]->token, &verdict))
			ndeadlocks++;
		search->sessions[victim].goes_on = true;
	}
	return ndeadlocks;
}
