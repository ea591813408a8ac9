/*-------------------------------------------------------------------------
 *
 * deadlock_graph.h
 *	  Who waits for whom, over all shards: is there a deadlock, and who is to
 *	  end it?
 *
 * Nodes are sessions on shards.  Those that work for one session of the
 * coordinator belong together: what any of them holds is let go only when the
 * coordinator's session goes on, unless its statement runs outside a
 * transaction block; and that needs all nodes which the session waits for, or
 * any one of them.  Edges are waits for locks, on one shard each.
 *
 * A deadlock of ours is a cycle that comes into a session of the coordinator
 * by one of its nodes and leaves it by another.  Others are on one shard,
 * whose own detector ends them.  A session to which any node will do can only
 * be part of one when it has such a cycle for each of them.
 *
 * Pure: includes c.h at most, allocates nothing, raises nothing.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_DEADLOCK_GRAPH_H
#define SHARD_FDW_WORKER_DEADLOCK_GRAPH_H

#define DEADLOCK_NO_SESSION (-1)

typedef struct DeadlockNode
{
	int			session;		/* DEADLOCK_NO_SESSION: not one of ours */
	bool		is_waited;		/* its session waits for its answer */
	bool		is_kept;		/* what it holds is let go only when its
								 * session goes on, not when its statement
								 * ends */
} DeadlockNode;

typedef struct DeadlockEdge
{
	int			waiter;			/* a node */
	int			blocker;
} DeadlockEdge;

typedef struct DeadlockSession
{
	int			first_node;		/* its nodes are next to one another */
	int			nnodes;
	int64		started_at;		/* its transaction */
	bool		is_immune;		/* cannot get the error */
	bool		needs_any;		/* any node that it waits for will do */
	bool		goes_on;		/* it does not really wait, or will get an
								 * error */
} DeadlockSession;

typedef struct DeadlockGraph
{
	const DeadlockSession *sessions;
	int			nsessions;
	const DeadlockNode *nodes;
	int			nnodes;
	const DeadlockEdge *edges;	/* ordered by waiter */
	int			nedges;
} DeadlockGraph;

/* Elements of the workspace of deadlock_graph_find(). */
#define DEADLOCK_WORKSPACE(nnodes, nsessions) (3 * (nnodes) + (nsessions))

/*
 * Finds a deadlock.  Returns the number of its edges, 0 if there is none, and
 * in cycle, which has room for one per node, their positions in the order of
 * waiting.
 */
extern int	deadlock_graph_find(const DeadlockGraph *graph, int *workspace,
								int *cycle);

/*
 * Which session of a deadlock is to get the error: of those that can, the one
 * whose transaction is the youngest; DEADLOCK_NO_SESSION if none can.
 */
extern int	deadlock_graph_victim(const DeadlockGraph *graph, const int *cycle,
								  int nedges);

#endif							/* SHARD_FDW_WORKER_DEADLOCK_GRAPH_H */
