/*-------------------------------------------------------------------------
 *
 * remote_request.h
 *	  The request engine: statements go out in pipelines, answers come back
 *	  in order and find their owner, whoever happens to be waiting.
 *
 * A connection has a FIFO of requests.  Queueing never waits: while the
 * connection is still being opened requests just line up.  A *segment* is
 * what stands between two Syncs: when a statement fails, the shard skips the
 * rest of its segment.  Requests go to the network when somebody waits, or
 * on remote_flush_noerror().
 *
 * COPY FROM STDIN is a request of its own kind: libpq cannot do it in a
 * pipeline, so it is sent once nothing else is outstanding, and what is queued
 * behind it is sent when it has ended.  Its data may be given from the moment
 * it is queued.  A stream of very many rows is asked for with COPY TO STDOUT
 * if it finds itself alone on the connection; its owner sees no difference.
 *
 * There is no "in use by another scan" state.  When a caller waits for a
 * request that stands behind others, their answers are kept: the rows of a
 * streaming request up to work_mem in memory and then in a temporary file.
 *
 * Ownership: a request belongs to the engine's memory and stays valid until
 * its owner calls remote_request_release(), or until the (sub)transaction
 * level given at queueing ends by abort, whichever comes first; then the
 * answer, when it comes, is thrown away.  Texts and parameters are copied.
 *
 * This is the only module that waits.  Every wait serves all connections
 * concerned, reacts to interrupts unless told not to, and ends with an error
 * when the connection is lost.  Functions ending in _noerror never raise and
 * are all that may be called after the local commit.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_REQUEST_H
#define SHARD_FDW_REMOTE_REMOTE_REQUEST_H

#include "datatype/timestamp.h"
#include "remote/remote_result.h"

typedef struct RemoteConn RemoteConn;
typedef struct RemoteRequest RemoteRequest;

/* A statement to be sent. */
typedef struct RemoteQuery
{
	const char *sql;			/* one statement, parameters as $1, $2, ... */
	int			nparams;
	const Oid  *param_types;	/* NULL or 0: the shard infers the type */
	const char *const *param_values;	/* NULL is SQL NULL */
	const int  *param_lengths;	/* needed where the format is binary */
	const int  *param_formats;	/* 0 text, 1 binary; NULL: all text */
	bool		binary_result;
	bool		is_stream;		/* hand out rows as they come */
	bool		is_reusable;	/* the same text is likely to come again, so
								 * it is worth a prepared statement */
	bool		is_bulk;		/* a stream of so many binary rows that it is
								 * worth a COPY */
} RemoteQuery;

typedef enum RemoteRequestState
{
	REMOTE_REQUEST_QUEUED,		/* until it is handed to libpq */
	REMOTE_REQUEST_SENT,		/* until its last answer arrives */
	REMOTE_REQUEST_DONE,		/* final: the shard reported success */
	REMOTE_REQUEST_FAILED,		/* final: the shard reported an error */
	REMOTE_REQUEST_SKIPPED,		/* final: an earlier statement of the segment
								 * failed */
	REMOTE_REQUEST_LOST			/* final: the connection was lost, or never
								 * came up, before the answer arrived */
} RemoteRequestState;

/*
 * Called once when a request gets into a final state, before any waiter
 * returns.  Must not raise, wait or queue.
 */
typedef void (*RemoteRequestObserver) (RemoteRequest *request, void *arg);

/* ---- queueing ---- */

/*
 * Puts a statement at the end of the connection's FIFO.  owner_level is the
 * transaction nest level whose abort orphans the request; 0 for requests
 * that outlive transactions.
 */
extern RemoteRequest *remote_request_queue(RemoteConn *conn,
										   const RemoteQuery *query,
										   int owner_level);

/* The same for a text without parameters whose rows are not streamed. */
extern RemoteRequest *remote_request_queue_sql(RemoteConn *conn,
											   const char *sql,
											   int owner_level);

/*
 * Moves a request that has not been handed to libpq yet to the end of the
 * FIFO; false when it has been.
 */
extern bool remote_request_requeue(RemoteRequest *request);

/* Ends the segment.  Nothing is executed for good before its Sync. */
extern void remote_request_queue_sync(RemoteConn *conn);

/*
 * Puts COPY ... FROM STDIN at the end of the FIFO, as a segment of its own; it
 * ends the one before.
 */
extern RemoteRequest *remote_request_queue_copy(RemoteConn *conn,
												const char *sql,
												int owner_level);

extern void remote_request_set_observer(RemoteRequest *request,
										RemoteRequestObserver observer,
										void *arg);

/* ---- looking ---- */

extern RemoteRequestState remote_request_state(const RemoteRequest *request);
extern bool remote_request_is_final(const RemoteRequest *request);
extern RemoteConn *remote_request_conn(const RemoteRequest *request);
extern const RemoteQuery *remote_request_query(const RemoteRequest *request);
extern int	remote_request_owner_level(const RemoteRequest *request);

/*
 * The last answer: the tag of a finished command, all rows of a finished
 * request that is not a stream, or the error; for a skipped request the
 * error that made the shard skip it.  NULL when there is none.
 */
extern RemoteResult *remote_request_result(const RemoteRequest *request);

/*
 * Did it fail, executed through a prepared statement of an earlier request,
 * because that is lost or may not fit the tables any more?  The statement has
 * been forgotten then, and the request may succeed when it is made again.
 */
extern bool remote_request_is_outdated(const RemoteRequest *request);

/* Rows and bytes of row data received so far. */
extern uint64 remote_request_rows(const RemoteRequest *request);
extern uint64 remote_request_bytes(const RemoteRequest *request);

/* Do its rows come, or have they come, by COPY? */
extern bool remote_request_is_copied(const RemoteRequest *request);

/* Of the rows, those that went to a temporary file. */
extern uint64 remote_request_spooled_rows(const RemoteRequest *request);

/* ---- waiting ---- */

/*
 * The next rows of a streaming request, NULL after the last.  What is
 * returned is valid until the next call for the same request.  Raises when
 * the statement fails or the connection is lost.
 */
extern RemoteResult *remote_request_next(RemoteRequest *request);

/*
 * Reads what has arrived, without waiting; true when remote_request_next()
 * would not wait (a row is there, or the end, or an error to raise).
 */
extern bool remote_request_is_ready(RemoteRequest *request);

/*
 * Waits until the request is final and returns its result; raises when it is
 * not DONE.  Rows of a stream that nobody has taken are kept.
 */
extern RemoteResult *remote_request_finish(RemoteRequest *request);

/*
 * Waits until all of the requests are final, or the deadline (0: none) has
 * passed; true when all are final.  Raises only for interrupts.
 */
extern bool remote_request_finish_all(RemoteRequest **requests, int nrequests,
									  TimestampTz deadline);

/*
 * The same without raising; needs a deadline.  Interrupts stay pending; with
 * stops_on_interrupt a cancel or terminate request ends the wait.
 */
extern bool remote_request_finish_all_noerror(RemoteRequest **requests,
											  int nrequests,
											  TimestampTz deadline,
											  bool stops_on_interrupt);

/*
 * Waits until remote_request_next() would not have to, without raising for
 * what the shard answers.
 */
extern void remote_request_wait(RemoteRequest *request);

/*
 * Waits until at least one of the connections has made progress (a request
 * got final, rows arrived, the connection came up or was lost), the latch
 * was set or the deadline has passed.  For loops that serve many shards.
 */
extern void remote_wait_any(RemoteConn **conns, int nconns,
							TimestampTz deadline);

/*
 * Hands to the network whatever is queued and may be sent without waiting,
 * and reads what has arrived.
 */
extern void remote_flush_noerror(RemoteConn *conn);

/*
 * The socket to wait on for the request's connection, for core's asynchronous
 * execution; PGINVALID_SOCKET while the connection is not up, or has output
 * left to send.
 */
extern pgsocket remote_request_socket(const RemoteRequest *request);

/*
 * Waits until there is that socket, or remote_request_next() would not wait.
 */
extern void remote_request_wait_for_socket(RemoteRequest *request);

/*
 * Core is about to wait for that socket, and perhaps others, until one has
 * something to read.  To be called each time it is, since long waits are
 * looked at (remote_watch.h); may raise.  The other one says that the wait is
 * over.
 */
extern void remote_request_note_outside_wait(RemoteRequest *request);
extern void remote_request_end_outside_wait_noerror(void);

/* ---- the data of a COPY ---- */

/*
 * Hands over a part of the data; it is copied.  Never waits.  False when the
 * request takes no more: it has failed, or will be DONE with what was given
 * so far, and the rest needs another request.
 */
extern bool remote_copy_put(RemoteRequest *request, const char *data,
							Size size);

/* Should more be given?  It always may, but then it is kept in memory. */
extern bool remote_copy_has_room(const RemoteRequest *request);

/* There are no more data.  The answer is awaited as that of others. */
extern void remote_copy_end(RemoteRequest *request);

/*
 * Waits until the request has room or is final, while all of the requests,
 * of which it is one, go on.  Raises only for interrupts.
 */
extern void remote_copy_wait(RemoteRequest *request, RemoteRequest **requests,
							 int nrequests);

/* ---- ending ---- */

/*
 * Raises what made the request fail, be it an earlier one that has not been
 * released; the request must be final, not DONE.
 */
extern void remote_request_report(int elevel, const RemoteRequest *request);

/*
 * Gives the request up.  If it is not final yet its answer will be thrown
 * away when it comes; an observer still learns how it ended.
 */
extern void remote_request_release(RemoteRequest *request);

/* Takes all observers off: what they look at is about to go. */
extern void remote_request_forget_observers_noerror(RemoteConn *conn);

/*
 * Gives up all requests of the connection whose owner level is at least the
 * given one, and lowers nothing else.  Those that have not been sent never
 * will be; with level 0 they will, what ends a transaction being among them.
 */
extern void remote_request_orphan_level_noerror(RemoteConn *conn, int level);

/* Requests of level + 1 now belong to level.  Called on subcommit. */
extern void remote_request_lower_level_noerror(RemoteConn *conn, int level);

/*
 * Forgets what has not been handed to libpq yet, and closes the segment that
 * was begun.  The requests become SKIPPED without an error.
 */
extern void remote_request_drop_unsent_noerror(RemoteConn *conn);

/*
 * Asks the shard to stop what it runs for us, then reads until nothing is
 * outstanding, all within the deadline.  False when it did not work, and
 * then the connection has been closed, so that the shard notices by itself.
 * More than one connection is worked on at the same time.
 */
extern bool remote_cancel_all_noerror(RemoteConn **conns, int nconns,
									  TimestampTz deadline);

/*
 * Asks the shard to stop what it runs for us if our transaction there has not
 * written, and reads until nothing is outstanding.  True when it was stopped;
 * then a block it ran in has failed.  Where the shard did not stop within the
 * deadline the connection has been closed.
 */
extern bool remote_cancel_reader_noerror(RemoteConn *conn,
										 TimestampTz deadline);

/*
 * Reads, for no longer than the deadline, what has lost its owner; true when
 * something is still running and nothing on the connection has an owner.
 */
extern bool remote_conn_drain_orphans(RemoteConn *conn, TimestampTz deadline);

/*
 * True when the first unanswered statement that had an owner of level 1 or
 * more has lost it.
 */
extern bool remote_conn_runs_orphan(RemoteConn *conn);

/* True when nothing is queued, and nothing sent is unanswered. */
extern bool remote_conn_is_quiet(RemoteConn *conn);

#endif							/* SHARD_FDW_REMOTE_REMOTE_REQUEST_H */
