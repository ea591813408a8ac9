/*-------------------------------------------------------------------------
 *
 * coordinator.h
 *	  The branches of the current local transaction, and how it commits.
 *
 * The transaction callbacks live here.  The order of the steps and what a
 * crash after each leaves behind is told in doc/commit-protocol.md.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_COORDINATOR_H
#define SHARD_FDW_TXN_COORDINATOR_H

#include "remote/remote_conn.h"
#include "txn/branch.h"
#include "txn/decision.h"

/*
 * What the coordinator tells whoever settles transactions and counts: set
 * once by _PG_init(), so that this layer need not know the worker.  None may
 * raise but ensure_worker.
 */
typedef struct CoordinatorNotify
{
	/* a first transaction is about to be prepared: have a worker running */
	void		(*ensure_worker) (void);
	/* phase two was answered by all: the log row may go */
	void		(*settled_noerror) (uint64 xid, uint64 token);
	/* something was left behind on a shard: settle it now */
	void		(*wake_noerror) (void);
	/* a branch ended; delta has what was sent and received for it */
	void		(*count_branch_noerror) (Oid serverid,
										 const RemoteConnStats *delta,
										 bool was_prepared,
										 bool was_committed,
										 bool was_one_phase);
	/* a local transaction with branches ended */
	void		(*count_transaction_noerror) (CommitMethod method,
											  bool is_commit);
} CoordinatorNotify;

extern void coordinator_set_notify(const CoordinatorNotify *notify);

/* Registers the callbacks; called by _PG_init(). */
extern void coordinator_init(void);

/*
 * The branch on which the user's statements for the server run, made if the
 * transaction has none there yet; begins to open the connection but does not
 * wait.  Raises as remote_conn_create() does, and when an earlier connection
 * of this transaction to the shard has been lost.
 */
extern TxnBranch *coordinator_get_branch(Oid userid, Oid serverid);

/*
 * The same for a statement that is to write: from here on the server and the
 * user mapping cannot be dropped (J).  May wait for somebody who is dropping
 * them, and raises when they are gone.
 */
extern TxnBranch *coordinator_get_branch_to_write(Oid userid, Oid serverid);

/* A number for a local statement, for branch_queue(). */
extern uint64 coordinator_next_statement(void);

/*
 * The branches that have, or may have, a transaction on their shard; palloc'd
 * List of TxnBranch pointers.
 */
extern struct List *coordinator_begun_branches(void);

/* Does the open transaction have a branch on that connection? */
extern bool coordinator_is_in_use(const RemoteConn *conn);

#endif							/* SHARD_FDW_TXN_COORDINATOR_H */
