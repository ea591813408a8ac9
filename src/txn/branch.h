/*-------------------------------------------------------------------------
 *
 * branch.h
 *	  Our transaction on one shard.
 *
 * A branch mirrors the local transaction on one connection: it begins it
 * together with its first statement, follows savepoints lazily, knows from
 * the shard whether it wrote, and ends it.  It knows neither other branches
 * nor the log.  coordinator.h hands branches out; plans and tuples are
 * unknown here.
 *
 * Memory: TopTransactionContext.  Functions may raise unless they end in
 * _noerror; only branch_next(), branch_finish() and branch_stop_orphans() wait.
 * Steps of the end of a transaction are queued here and awaited by the
 * coordinator, for all branches at once.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_BRANCH_H
#define SHARD_FDW_TXN_BRANCH_H

#include "remote/remote_conn.h"
#include "remote/remote_request.h"
#include "txn/gid.h"
#include "txn/shard_session.h"

typedef struct TxnBranch TxnBranch;

typedef enum BranchState
{
	BRANCH_IDLE,				/* no transaction on the shard; until a
								 * statement needs one */
	BRANCH_OPEN,				/* BEGIN is queued or done; until the end of
								 * the local transaction, or its failure */
	BRANCH_BROKEN,				/* what the shard's transaction looks like is
								 * not known; until abort */
	BRANCH_LOST,				/* the connection was lost; until abort, or
								 * until the level it began in is rolled back */
	BRANCH_PREPARING,			/* PREPARE TRANSACTION queued; until its
								 * answer */
	BRANCH_PREPARED,			/* until COMMIT or ROLLBACK PREPARED is
								 * answered */
	BRANCH_COMMITTING,			/* one-phase COMMIT queued; until its answer */
	BRANCH_ENDED				/* final */
} BranchState;

/* What a statement does on the shard. */
typedef enum BranchUse
{
	BRANCH_USE_ALONE,			/* reads, is the only user of the shard in its
								 * local statement: may run without a block */
	BRANCH_USE_READ,			/* reads; shares one snapshot with the other
								 * reads of its local statement */
	BRANCH_USE_CLOSE,			/* ends a cursor of the branch */
	BRANCH_USE_WRITE			/* writes, locks rows, or may be followed by
								 * something that does */
} BranchUse;

/* What the shard said about our transaction, with a statement's answer. */
typedef struct BranchFactsFromShard
{
	uint64		xid;			/* 0: nothing written so far */
	ShardSession session;		/* all unknown until the first answer */
} BranchFactsFromShard;

/* ---- for statements ---- */

/*
 * Queues a statement on the branch, with whatever must precede it (BEGIN,
 * SAVEPOINT) and the question whether the shard has assigned an xid, as one
 * segment.  Nothing is sent before somebody waits or flushes.
 *
 * statement tells local statements apart (any number, not reused within the
 * transaction); reads with the same one see the same snapshot of the shard.
 * owner_level is the nest level the caller's state belongs to.
 *
 * Raises when the branch has been lost, or its transaction has failed.
 */
extern RemoteRequest *branch_queue(TxnBranch *branch, const RemoteQuery *query,
								   BranchUse use, uint64 statement,
								   int owner_level);

/*
 * Writes that a statement has put off are queued by these two, and by
 * branch_set_flush_put_off()'s function, called whenever something else is
 * about to be queued on the branch: by then they must be done, in the state
 * that owner_level had before any level below it began, and under the
 * lock_timeout that held then.  The function is told for which statement that
 * is.
 *
 * Nothing can be sent while a COPY is under way, so it has to be ended before
 * anything else is queued.
 */
typedef void (*BranchFlushPutOff) (TxnBranch *branch, uint64 statement);

/* Whose writes they are. */
typedef struct BranchWriter
{
	uint64		statement;
	int			owner_level;
	int			lock_timeout;	/* core's setting when the statement began */
} BranchWriter;

extern void branch_set_flush_put_off(BranchFlushPutOff flush);
extern RemoteRequest *branch_queue_put_off(TxnBranch *branch,
										   const RemoteQuery *query,
										   const BranchWriter *writer);
extern RemoteRequest *branch_queue_copy(TxnBranch *branch, const char *sql,
										const BranchWriter *writer);

/*
 * remote_request_next() for a streaming request of branch_queue().  A
 * statement that ran without a block and failed before its first row for a
 * reason that can be helped is sent again, and *request becomes the new one:
 * where it turns out to write (the shard refuses, since such statements are
 * READ ONLY), in the branch; where its prepared statement was lost or has
 * become invalid; and as text where the shard has no binary form of a type.
 * In a block the second is done for a statement before which there is nothing
 * that would get lost with the block.
 */
extern RemoteResult *branch_next(TxnBranch *branch, RemoteRequest **request);

/* The same for remote_request_finish(). */
extern RemoteResult *branch_finish(TxnBranch *branch, RemoteRequest **request);

/*
 * Tells that cursors have been opened on, or closed in, the branch: while
 * there is one the branch's snapshot is not exchanged.
 */
extern void branch_count_cursor(TxnBranch *branch, int change);

/*
 * To be called when requests of the branch have been released unfinished.
 * Waits a moment for their ends; what is still running then is stopped where
 * the shard's block has only read and can be replaced by another one.
 * is_ending: it need not be replaced.  May raise for interrupts.
 */
extern void branch_stop_orphans(TxnBranch *branch, bool is_ending);

/* A number for a cursor, unique in this session. */
extern uint32 branch_next_cursor_number(TxnBranch *branch);

/* Begins to open the connection, or hands what is queued to the network. */
extern void branch_flush(TxnBranch *branch);

extern RemoteConn *branch_conn(const TxnBranch *branch);

/* ---- for the coordinator ---- */

/* A branch that has not begun, on a connection nobody else uses. */
extern TxnBranch *branch_create(RemoteConn *conn);

extern BranchState branch_state(const TxnBranch *branch);
extern const BranchFactsFromShard *branch_facts(const TxnBranch *branch);

/* Has something been sent that may have written? */
extern bool branch_may_have_written(const TxnBranch *branch);

/* Is, or may there be, a transaction of ours on the shard? */
extern bool branch_has_begun(const TxnBranch *branch);

/*
 * Is it in a transaction block there?  A statement that runs alone is not: what
 * it has locked is let go when it ends.
 */
extern bool branch_is_in_block(const TxnBranch *branch);

/* Raises what keeps the branch from committing, if anything does. */
extern void branch_check_usable(const TxnBranch *branch);

/*
 * Sees to it that the shard is asked once more where not every statement was
 * followed by an answered question; returns the question that is to be
 * awaited before branch_facts() is believed, NULL for none.  While one is
 * outstanding another may have become necessary: call again.
 */
extern RemoteRequest *branch_start_probe_if_needed(TxnBranch *branch);

/* Queue the steps of the end.  The answer is theirs to interpret. */
extern RemoteRequest *branch_start_prepare(TxnBranch *branch, const Gid *gid);
extern RemoteRequest *branch_start_commit(TxnBranch *branch);
extern RemoteRequest *branch_start_commit_prepared(TxnBranch *branch);
extern RemoteRequest *branch_start_rollback_prepared(TxnBranch *branch);
extern RemoteRequest *branch_start_rollback(TxnBranch *branch);

/* The step last queued has got its answer: move the state on accordingly. */
extern void branch_note_answer_noerror(TxnBranch *branch);

/* The last of these; NULL when none was queued. */
extern RemoteRequest *branch_end_request(const TxnBranch *branch);

/* The name it was prepared under, or is being; "" if never. */
extern const char *branch_gid(const TxnBranch *branch);

/*
 * Follow the local savepoints.  When an abort has been started, what is still
 * running for the level is to be stopped first.
 */
extern void branch_subcommit(TxnBranch *branch, int level); /* guarded */
extern void branch_start_subabort_noerror(TxnBranch *branch, int level);
extern void branch_subabort_noerror(TxnBranch *branch, int level);

/* What has been sent and received since the branch was made. */
extern RemoteConnStats branch_stats(const TxnBranch *branch);

#endif							/* SHARD_FDW_TXN_BRANCH_H */
