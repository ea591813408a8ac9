/*-------------------------------------------------------------------------
 *
 * scan_group.h
 *	  Which scans of a running plan send their queries together, and on what
 *	  terms.
 *
 * Core begins every node of a plan before it runs any.  Each foreign scan
 * (and each UPDATE or DELETE that runs on its shard) registers a ScanMember
 * when it is begun.  When the first row is asked of one of them, all members
 * of its group send what they have to send; so the shards work at the same
 * time under any kind of plan.  A group is what was planned for the same top
 * parents: the partitions of one table, or of one partitionwise join.
 *
 * Here it is also decided, once per execution of a plan, what the branch is
 * told about each member, and whether it has to share its connection with
 * another one in a way that calls for a cursor.
 *
 * A ScanMember is part of its owner's state and must live as long as the
 * EState, or until scan_group_leave().  scan_group_start() may raise, and
 * does not wait.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_SCAN_GROUP_H
#define SHARD_FDW_FDW_SCAN_GROUP_H

#include "lib/ilist.h"
#include "nodes/execnodes.h"

#include "txn/branch.h"

typedef struct ScanMember ScanMember;

/* Queues the member's first statements on its branch.  Must not wait. */
typedef void (*ScanMemberStart) (ScanMember *member);

/*
 * Has the member anything to send?  If not it counts as started, and has no
 * branch.
 */
typedef bool (*ScanMemberIsNeeded) (ScanMember *member);

struct ScanMember
{
	/* set by the owner before it registers */
	ForeignScanState *node;
	ScanMemberStart start;
	ScanMemberIsNeeded is_needed;	/* NULL: always */
	int			eflags;			/* given to the Begin callback */
	bool		locks_rows;
	bool		may_stop_early; /* not all rows will be asked for */
	bool		is_modify;		/* changes rows */

	/* set at registration */
	Oid			userid;
	Oid			serverid;
	int			owner_level;	/* nest level of the portal it runs in;
								 * lowered when that is merged into its parent */
	bool		has_exec_params;	/* what it sends depends on other nodes */
	Bitmapset  *exec_params;	/* ... through these parameters */

	/* set before start is called */
	TxnBranch  *branch;
	BranchUse	use;
	uint64		statement;
	bool		needs_cursor;

	/* set by scan_group_start(); cleared by the owner to be started anew */
	bool		is_started;

	/* private to scan_group.c */
	dlist_node	node_link;
	struct ScanSet *set;
	struct ScanPeers *peers;
	Bitmapset  *top_parents;
	bool		has_conflict;	/* with another scan on its connection */
	bool		may_be_rescanned;
	bool		is_below_append;
};

/* To be called once, when the library is loaded. */
extern void scan_group_init(void);

extern void scan_group_register(ScanMember *member);

/* Starts the member, if it is not started, and its group with it. */
extern void scan_group_start(ScanMember *member);

/* The member ends before its EState. */
extern void scan_group_leave(ScanMember *member);

/*
 * May the EState's plan still send the server a query, which would see what
 * has been written meanwhile?
 */
extern bool scan_group_may_see_writes(EState *estate, Oid userid,
									  Oid serverid);

/* The same of a query that reads the given table. */
extern bool scan_group_may_see_table(EState *estate, Oid userid, Oid serverid,
									 Oid relid);

/* The number of the local statement that the EState executes. */
extern uint64 scan_group_statement(EState *estate);

#endif							/* SHARD_FDW_FDW_SCAN_GROUP_H */
