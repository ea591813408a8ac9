/*-------------------------------------------------------------------------
 *
 * test_deadlock_graph.c
 *	  Who waits for whom: which graphs have a deadlock of ours, and whom it
 *	  hits.  Prints TAP.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#undef printf

#include "worker/deadlock_graph.h"

#define MAX_NODES 12
#define MAX_EDGES 12

/*
 * Nodes are given as text, a character each: a letter is the session, in upper
 * case where it waits for the node; a dot is a session of the shard that is
 * not ours.  Letters come in order, A first; their place in the alphabet is
 * also when their transaction started, unless "starts" says otherwise.
 */
typedef struct Case
{
	const char *name;
	const char *nodes;
	DeadlockEdge edges[MAX_EDGES];
	int			nedges;
	const char *starts;			/* a digit per session, or NULL */
	int			is_ended;		/* this session, if not 0, counted from 1 */
	int			cycle_length;	/* 0: none */
	char		victim;			/* '.': none is possible */
	const char *immune;			/* letters of sessions, or NULL */
	const char *alone;			/* digits of nodes whose statement runs
								 * outside a transaction block, or NULL */
	const char *any;			/* letters of sessions to which any of their
								 * nodes will do, or NULL */
} Case;

static const Case cases[] = {
	{"nobody waits", "aabb", {{0}}, 0, NULL, 0, 0},
	{"one waits for one", "AabB", {{0, 2}}, 1, NULL, 0, 0},
	{"two cross on two shards", "AabB", {{0, 2}, {3, 1}}, 2, NULL, 0, 2, 'B'},
	{"the other one is younger", "AabB", {{0, 2}, {3, 1}}, 2, "21", 0, 2, 'A'},
	{"the younger one has been ended", "AabB", {{0, 2}, {3, 1}}, 2, NULL, 2, 0},
	{"the older one has been ended", "AabB", {{0, 2}, {3, 1}}, 2, NULL, 1, 0},
	{"the answer is not waited for", "aabB", {{0, 2}, {3, 1}}, 2, NULL, 0, 0},
	{"two cross on one shard", "AB", {{0, 1}, {1, 0}}, 2, NULL, 0, 0},
	{"the same, and both are elsewhere, too", "AabB", {{0, 3}, {3, 0}}, 2,
	NULL, 0, 0},
	{"three in a ring", "AabBcC", {{0, 2}, {3, 4}, {5, 1}}, 3, NULL, 0, 3, 'C'},
	{"the oldest of three is the youngest", "AabBcC", {{0, 2}, {3, 4}, {5, 1}},
	3, "911", 0, 3, 'A'},
	{"a ring with a gap", "AabBcC", {{0, 2}, {3, 4}}, 2, NULL, 0, 0},
	{"for itself", "Aa", {{0, 1}}, 1, NULL, 0, 1, 'A'},
	{"for the very same", "Aa", {{0, 0}}, 1, NULL, 0, 0},
	{"for itself through a stranger", "Aa.", {{0, 2}, {2, 1}}, 2, NULL, 0, 2,
	'A'},
	{"through a stranger", "AabB.", {{0, 4}, {3, 1}, {4, 2}}, 3, NULL, 0, 3,
	'B'},
	{"a stranger who does not wait", "AabB.", {{0, 4}, {3, 1}}, 2, NULL, 0, 0},
	{"strangers among themselves", "A..", {{0, 1}, {1, 2}, {2, 1}}, 3, NULL, 0,
	0},
	{"a waits in two places, for two", "AAabB.", {{0, 5}, {1, 3}, {4, 2}}, 3,
	NULL, 0, 2, 'B'},
	{"in and out by one node is not ours alone", "AabBbC", {{0, 3}, {3, 5},
	{5, 1}}, 3, NULL, 0, 3, 'C'},
	{"the way back is short", "AabBcC", {{0, 2}, {0, 4}, {3, 4}, {5, 1}}, 4,
	NULL, 0, 2, 'C'},
	{"the younger one is immune", "AabB", {{0, 2}, {3, 1}}, 2, NULL, 0, 2, 'A',
	"B"},
	{"both are immune", "AabB", {{0, 2}, {3, 1}}, 2, NULL, 0, 2, '.', "AB"},
	{"what would close it lets go by itself", "AabB", {{0, 2}, {3, 1}}, 2,
	NULL, 0, 0, 0, NULL, "2"},
	{"the same at the other end", "AabB", {{0, 2}, {3, 1}}, 2, NULL, 0, 0, 0,
	NULL, "1"},
	{"waits itself, outside a block", "AabBcC", {{0, 3}, {3, 5}, {5, 1}}, 3,
	NULL, 0, 3, 'C', NULL, "3"},
	{"for what it lets go by itself", "Aa", {{0, 1}}, 1, NULL, 0, 0, 0, NULL,
	"1"},
	{"alone itself, and waits for others", "AabB", {{0, 2}, {3, 1}}, 2, NULL,
	0, 2, 'B', NULL, "03"},
	{"any will do, and one does not wait", "AAabB", {{1, 3}, {4, 2}}, 2, NULL,
	0, 0, 0, NULL, NULL, "A"},
	{"any will do, and there is one only", "AabB", {{0, 2}, {3, 1}}, 2, NULL,
	0, 2, 'B', NULL, NULL, "A"},
	{"any will do, and one waits for who goes on", "AAabBc", {{0, 5}, {1, 3},
	{4, 2}}, 3, NULL, 0, 0, 0, NULL, NULL, "A"},
	{"any will do, and all lead back", "AAabbB", {{0, 3}, {1, 4}, {5, 2}}, 3,
	NULL, 0, 2, 'B', NULL, NULL, "A"},
	{"the same through two", "AAabBcC", {{0, 3}, {1, 5}, {4, 2}, {6, 2}}, 4,
	NULL, 0, 2, 'B', NULL, NULL, "A"},
	{"one of the two has been ended", "AAabBcC", {{0, 3}, {1, 5}, {4, 2},
	{6, 2}}, 4, NULL, 3, 0, 0, NULL, NULL, "A"},
	{"any will do to both, and all lead back", "AAaabbBB", {{0, 4}, {1, 5},
	{6, 2}, {7, 3}}, 4, NULL, 0, 2, 'B', NULL, NULL, "AB"},
	{"any will do to both, and one goes on", "AAaabbBBB", {{0, 4}, {1, 5},
	{6, 2}, {7, 3}}, 4, NULL, 0, 0, 0, NULL, NULL, "AB"},
	{"any will do, and one leads back through a third", "AAaabbBBBcC", {{0, 4},
	{1, 5}, {6, 2}, {7, 3}, {8, 9}, {10, 3}}, 6, NULL, 0, 2, 'B', NULL, NULL,
	"B"},
	{"a cycle beside it is one still", "AAabBcCdD", {{0, 3}, {4, 2}, {6, 7},
	{8, 5}}, 4, NULL, 0, 2, 'D', NULL, NULL, "A"},
	{"beside a cycle, not in it", "AabBc", {{0, 2}, {3, 1}, {4, 1}}, 3, NULL,
	0, 2, 'B'},
};

static int	ntests = 0;
static int	nfailures = 0;

static void
ok(bool is_right, const char *what, const char *name)
{
	ntests++;
	if (!is_right)
		nfailures++;
	printf("%sok %d - %s: %s\n", is_right ? "" : "not ", ntests, name, what);
}

static int
make_nodes(const Case *test, DeadlockNode *nodes, DeadlockSession *sessions)
{
	int			nsessions = 0;
	int			node;

	for (node = 0; test->nodes[node] != '\0'; node++)
	{
		char		letter = test->nodes[node];
		int			number = (letter | 0x20) - 'a';

		nodes[node].session = letter == '.' ? DEADLOCK_NO_SESSION : number;
		nodes[node].is_waited = letter >= 'A' && letter <= 'Z';
		nodes[node].is_kept = test->alone == NULL ||
			strchr(test->alone, '0' + node) == NULL;
		if (letter == '.')
			continue;
		if (number == nsessions)
		{
			sessions[number].first_node = node;
			sessions[number].started_at = test->starts ?
				test->starts[number] : number;
			sessions[number].goes_on = test->is_ended == number + 1;
			sessions[number].needs_any = test->any &&
				strchr(test->any, 'A' + number);
			sessions[number].is_immune = test->immune &&
				strchr(test->immune, 'A' + number);
			nsessions++;
		}
		sessions[number].nnodes++;
	}
	return nsessions;
}

/*
 * Each edge begins where the one before it has led to, or at another node of
 * that session.
 */
static bool
is_cycle(const DeadlockGraph *graph, const int *cycle, int nedges)
{
	int			position;

	for (position = 0; position < nedges; position++)
	{
		int			to = graph->edges[cycle[position]].blocker;
		int			from = graph->edges[cycle[(position + 1) % nedges]].waiter;

		if (to != from &&
			(!graph->nodes[to].is_kept ||
			 graph->nodes[to].session == DEADLOCK_NO_SESSION ||
			 graph->nodes[to].session != graph->nodes[from].session ||
			 !graph->nodes[from].is_waited))
			return false;
	}
	return true;
}

static void
run(const Case *test)
{
	DeadlockNode nodes[MAX_NODES] = {{0}};
	DeadlockSession sessions[MAX_NODES] = {{0}};
	int			workspace[DEADLOCK_WORKSPACE(MAX_NODES, MAX_NODES)];
	int			cycle[MAX_NODES];
	DeadlockGraph graph = {0};
	int			nedges;

	graph.sessions = sessions;
	graph.nsessions = make_nodes(test, nodes, sessions);
	graph.nodes = nodes;
	graph.nnodes = strlen(test->nodes);
	graph.edges = test->edges;
	graph.nedges = test->nedges;
	nedges = deadlock_graph_find(&graph, workspace, cycle);
	ok(nedges == test->cycle_length, "the deadlock's length", test->name);
	if (nedges == 0 || nedges != test->cycle_length)
		return;
	ok(is_cycle(&graph, cycle, nedges), "it leads round", test->name);
	ok(deadlock_graph_victim(&graph, cycle, nedges) ==
	   (test->victim == '.' ? DEADLOCK_NO_SESSION : test->victim - 'A'),
	   "the victim", test->name);
}

int
main(void)
{
	int			number;

	for (number = 0; number < lengthof(cases); number++)
		run(&cases[number]);
	printf("1..%d\n", ntests);
	return nfailures > 0;
}
