/*-------------------------------------------------------------------------
 *
 * deadlock_graph.c
 *	  Who waits for whom, over all shards.
 *
 * The search goes breadth first, so that what is reported is short, from each
 * node that a session of the coordinator waits for to the other nodes of that
 * session.
 *
 * Sessions to which any node will do are first all taken to be stuck.  One that
 * is not led back to from each of its nodes may go on, and then counts no more,
 * which may let others go on.  Those that remain are stuck indeed: whichever of
 * them went on first would need one of its nodes, and so all along the way back
 * to itself to have gone on before it.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "worker/deadlock_graph.h"

#define NONE (-1)

typedef struct Search
{
	const DeadlockGraph *graph;
	int			start;			/* the node it began at */
	int			goal;			/* the session to come back to */
	int			found;			/* a node of it, or NONE */
	int		   *reached_by;		/* by node: an edge, NONE: not reached */
	int		   *reached_from;	/* by node: the one that was looked at then,
								 * NONE: the start */
	int		   *queue;			/* of nodes */
	int			nqueued;
	int		   *goes_on;		/* by session: it is not stuck */
} Search;

/*
 * The first edge that the node has, or would have.
 */
static int
first_edge(const DeadlockGraph *graph, int node)
{
	int			low = 0;
	int			high = graph->nedges;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (graph->edges[middle].waiter < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Reaches all that the node waits for; from is the node being looked at.
 */
static void
follow_edges(Search *search, int node, int from)
{
	const DeadlockGraph *graph = search->graph;
	int			edge;

	for (edge = first_edge(graph, node);
		 edge < graph->nedges && graph->edges[edge].waiter == node; edge++)
	{
		int			blocker = graph->edges[edge].blocker;

		if (search->reached_by[blocker] != NONE)
			continue;
		search->reached_by[blocker] = edge;
		search->reached_from[blocker] = from;
		if (graph->nodes[blocker].session != search->goal ||
			!graph->nodes[blocker].is_kept)
			search->queue[search->nqueued++] = blocker;
		else if (blocker != search->start)
		{
			search->found = blocker;
			return;
		}
	}
}

/*
 * What keeps a node from letting go: its own waits, or those of its session.
 */
static void
look_at(Search *search, int node)
{
	const DeadlockGraph *graph = search->graph;
	const DeadlockSession *session;
	int			position;

	if (graph->nodes[node].session == DEADLOCK_NO_SESSION)
	{
		follow_edges(search, node, node);
		return;
	}
	session = &graph->sessions[graph->nodes[node].session];
	if (search->goes_on[graph->nodes[node].session])
		return;
	if (!graph->nodes[node].is_kept)
	{
		follow_edges(search, node, node);
		return;
	}
	for (position = 0; position < session->nnodes && search->found == NONE;
		 position++)
	{
		int			other = session->first_node + position;

		if (graph->nodes[other].is_waited)
			follow_edges(search, other, node);
	}
}

static void
search_from(Search *search, int node)
{
	const DeadlockGraph *graph = search->graph;
	int			nlooked_at = 0;
	int			position;

	search->start = node;
	search->goal = graph->nodes[node].session;
	search->found = NONE;
	search->nqueued = 0;
	for (position = 0; position < graph->nnodes; position++)
		search->reached_by[position] = NONE;
	follow_edges(search, node, NONE);
	while (search->found == NONE && nlooked_at < search->nqueued)
		look_at(search, search->queue[nlooked_at++]);
}

/*
 * The edges that led from the start to what was found.
 */
static int
read_cycle(const Search *search, int *cycle)
{
	int			nedges = 0;
	int			node;
	int			position;

	for (node = search->found; node != NONE; node = search->reached_from[node])
		nedges++;
	position = nedges;
	for (node = search->found; node != NONE; node = search->reached_from[node])
		cycle[--position] = search->reached_by[node];
	return nedges;
}

/*
 * Is there a way back to the session from each node that it waits for?
 */
static bool
is_led_back_to(Search *search, const DeadlockSession *session)
{
	int			position;

	for (position = 0; position < session->nnodes; position++)
	{
		int			node = session->first_node + position;

		if (!search->graph->nodes[node].is_waited)
			continue;
		search_from(search, node);
		if (search->found == NONE)
			return false;
	}
	return true;
}

static void
find_those_that_go_on(Search *search)
{
	const DeadlockGraph *graph = search->graph;
	bool		is_changed = true;
	int			number;

	for (number = 0; number < graph->nsessions; number++)
		search->goes_on[number] = graph->sessions[number].goes_on;
	while (is_changed)
	{
		is_changed = false;
		for (number = 0; number < graph->nsessions; number++)
		{
			const DeadlockSession *session = &graph->sessions[number];

			if (search->goes_on[number] || !session->needs_any ||
				is_led_back_to(search, session))
				continue;
			search->goes_on[number] = true;
			is_changed = true;
		}
	}
}

int
deadlock_graph_find(const DeadlockGraph *graph, int *workspace, int *cycle)
{
	Search		search = {.graph = graph};
	int			node;

	search.reached_by = workspace;
	search.reached_from = workspace + graph->nnodes;
	search.queue = workspace + 2 * graph->nnodes;
	search.goes_on = workspace + 3 * graph->nnodes;
	find_those_that_go_on(&search);
	for (node = 0; node < graph->nnodes; node++)
	{
		int			session = graph->nodes[node].session;

		if (session == DEADLOCK_NO_SESSION || !graph->nodes[node].is_waited ||
			search.goes_on[session])
			continue;
		search_from(&search, node);
		if (search.found != NONE)
			return read_cycle(&search, cycle);
	}
	return 0;
}

int
deadlock_graph_victim(const DeadlockGraph *graph, const int *cycle, int nedges)
{
	int			victim = DEADLOCK_NO_SESSION;
	int			position;

	for (position = 0; position < nedges; position++)
	{
		int			waiter = graph->edges[cycle[position]].waiter;
		int			session = graph->nodes[waiter].session;

		if (session == DEADLOCK_NO_SESSION ||
			graph->sessions[session].is_immune)
			continue;
		if (victim == DEADLOCK_NO_SESSION ||
			graph->sessions[session].started_at >
			graph->sessions[victim].started_at)
			victim = session;
	}
	return victim;
}
