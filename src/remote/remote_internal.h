/*-------------------------------------------------------------------------
 *
 * remote_internal.h
 *	  What the modules of src/remote share, and nobody else sees.
 *
 * Who changes what: remote_conn.c opens and closes and alone changes
 * RemoteConn.state; remote_request.c, remote_send.c and remote_receive.c alone
 * change the FIFO and the state of requests; remote_wait.c alone waits;
 * remote_rows.c keeps the rows of a stream that nobody has taken yet.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_INTERNAL_H
#define SHARD_FDW_REMOTE_REMOTE_INTERNAL_H

#include "libpq-fe.h"

#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "storage/buffile.h"
#include "storage/latch.h"
#include "utils/hsearch.h"

#include "remote/remote_conn.h"
#include "remote/remote_options.h"
#include "remote/remote_request.h"

struct RemoteResult
{
	int			refcount;
	PGresult   *pgres;			/* NULL for a row that was copied or comes
								 * back from a spool */
	char	   *copied;			/* libpq's memory with the copied row */
	int			nfields;		/* of such a row; its values follow */
	char	  **values;			/* NULL is SQL NULL */
	int		   *lengths;
	const Oid  *types;
};

/* A prepared statement on the shard, or a text on its way to become one. */
typedef struct RemoteStatement
{
	uint64		key;			/* hash key: hash of text and types */
	char	   *sql;
	uint32		number;			/* its name is shard_fdw_<number> */
	uint32		uses;
	uint64		last_use;		/* value of RemoteConn.use_clock */
	bool		is_prepared;	/* the shard has confirmed it */
	uint64		pending_segment;	/* segment that prepares it, 0 if none */
} RemoteStatement;

typedef enum RemoteRequestKind
{
	REMOTE_KIND_QUERY,
	REMOTE_KIND_COPY,			/* COPY FROM STDIN, outside pipeline mode */
	REMOTE_KIND_PREPARE,		/* internal: Parse of a named statement */
	REMOTE_KIND_SYNC			/* internal: end of a segment */
} RemoteRequestKind;

/* The data of a COPY FROM STDIN. */
typedef struct RemoteCopy
{
	StringInfoData pending;		/* given by the owner, not yet to libpq */
	bool		is_open;		/* the shard takes data */
	bool		is_complete;	/* the owner has given all */
	bool		is_end_sent;	/* libpq has been told that there is no more */
} RemoteCopy;

/* The rows of a stream that come by COPY TO STDOUT. */
typedef struct RemoteCopyOut
{
	bool		is_used;		/* the query was sent as COPY */
	bool		is_open;		/* its rows are coming */
	bool		has_begun;		/* what goes before the first has been read */
	int			nfields;
	char	  **values;			/* for RemoteResult, of the row taken last */
	int		   *lengths;
} RemoteCopyOut;

/* What libpq gave for a row: one or the other. */
typedef struct RemoteHeldRow
{
	PGresult   *pgres;
	char	   *copied;
	int			size;			/* of copied */
} RemoteHeldRow;

/* Rows of a stream that have arrived and have not been taken. */
typedef struct RemoteRows
{
	RemoteHeldRow *held;		/* oldest first */
	int			nheld;
	int			max_held;		/* allocated size of held */
	int			next_held;		/* position in held of the next to take */
	Size		held_bytes;
	BufFile    *spool;			/* rows that came after the held ones */
	Oid		   *types;			/* of the columns of copied and spooled rows */
	uint64		spooled;		/* rows written to and not read from it */
	uint64		total_spooled;	/* rows ever written to it */
	int			read_file;
	off_t		read_offset;
	int			write_file;
	off_t		write_offset;
	MemoryContext row_context;	/* of the row read back last */
} RemoteRows;

struct RemoteRequest
{
	dlist_node	node;			/* in fifo until final, then in finished */
	RemoteConn *conn;
	MemoryContext context;
	RemoteRequestKind kind;
	RemoteRequestState state;
	RemoteRequestState outcome; /* state it will get with its last answer */
	int			owner_level;
	bool		is_released;
	bool		is_replayable;	/* may be sent again over a new connection */
	bool		is_setup;		/* of the engine, before what owners queue */
	bool		is_vital;		/* without it the session is of no use */
	RemoteQuery query;			/* deep copy */
	RemoteStatement *statement; /* what it prepares or executes, or NULL */
	RemoteRequestObserver observer;
	void	   *observer_arg;
	RemoteResult *result;
	char	   *culprit_sql;	/* of the statement that failed, if another */
	RemoteResult taken;			/* what remote_request_next() returned last */
	RemoteRows	rows;
	RemoteCopy	copy;
	RemoteCopyOut copy_out;
	uint64		nrows;
	uint64		nbytes;
};

struct RemoteConn
{
	MemoryContext context;
	Oid			userid;
	Oid			serverid;
	char	   *server_name;
	RemoteOptions *options;
	char	   *setup_sql;		/* see remote_conn_set_setup() */
	char	   *setup_answer;	/* see remote_conn_setup_answer() */

	RemoteConnState state;
	dlist_node	connecting_node;	/* in the list of those CONNECTING */
	PGconn	   *pg;				/* NULL when IDLE or LOST */
	int			backend_pid;	/* of the session when it came up */
	PostgresPollingStatusType poll_status;	/* while CONNECTING */
	TimestampTz connect_deadline;	/* 0: none */
	uint64		generation;		/* changes with every socket */
	WaitEventSet *wait_set;		/* latch and this socket, once READY */
	uint64		wait_set_generation;

	dlist_head	fifo;			/* requests not final, in order */
	dlist_head	finished;		/* final ones not released */
	int			nsent;			/* requests in state SENT */
	uint64		nfinal;			/* requests that got final so far */
	uint64		nnotices;		/* notices received so far */
	uint64		segment;		/* number of the segment being sent */
	bool		is_segment_open;	/* something sent since the last Sync */
	bool		is_replay_armed;	/* see remote_conn_allow_replay() */
	bool		has_unsent_output;	/* PQflush() said so */
	bool		has_unwaited_flush; /* for counting trips */
	bool		is_unanswered;	/* nothing can have arrived since something
								 * was sent, unless time has passed */
	RemoteResult *segment_error;	/* of the segment being answered */
	char	   *segment_error_sql;

	HTAB	   *statements;
	uint32		next_statement;
	uint32		stale_statement;	/* number of one to be deallocated, or 0 */
	uint64		use_clock;

	int			lost_sqlstate;	/* why it was lost */
	char	   *lost_message;
	char	   *lost_detail;
	char	   *lost_hint;
	TimestampTz last_activity;	/* last byte received, or last send */
	bool		is_seen_writing;	/* the shard was sending, when asked, and
									 * nothing has arrived since */
	RemoteConnStats stats;
};

/* ---- remote_result.c ---- */
extern RemoteResult *remote_result_create(PGresult *pgres);
extern RemoteResult *remote_result_share(RemoteResult *result);
extern void remote_result_unref(RemoteResult *result);
extern bool remote_result_is_fatal(const RemoteResult *result);

/* ---- remote_rows.c ---- */
extern void remote_rows_add(RemoteRequest *request, PGresult *pgres);
extern void remote_rows_add_copied(RemoteRequest *request, char *copied,
								   int size);
extern void remote_rows_set_types(RemoteRequest *request,
								  const PGresult *pgres);
extern bool remote_rows_is_empty(const RemoteRequest *request);
extern void remote_rows_take(RemoteRequest *request);
extern void remote_rows_take_copied(RemoteRequest *request, char *copied);
extern void remote_rows_untake(RemoteRequest *request);
extern void remote_rows_clear(RemoteRequest *request);

/* ---- remote_statement.c ---- */
extern RemoteStatement *remote_statement_lookup(RemoteConn *conn,
												const RemoteQuery *query);
extern void remote_statement_name(const RemoteStatement *statement, char *buf);
extern void remote_statement_forget_all(RemoteConn *conn);

/* The shard has lost them without the session having ended. */
extern void remote_statement_rename_all(RemoteConn *conn);

/* The statement is there and of no use: it gets a new name. */
extern void remote_statement_retire(RemoteConn *conn,
									RemoteStatement *statement);
extern RemoteStatement *remote_statement_victim(RemoteConn *conn);
extern void remote_statement_remove(RemoteConn *conn,
									RemoteStatement *statement);

/* ---- remote_conn.c ---- */

/* Drives CONNECTING as far as is possible without waiting. */
extern void remote_conn_poll(RemoteConn *conn);

/* All connections in state CONNECTING. */
extern dlist_head *remote_conn_connecting(void);

/*
 * The connection has failed: send again what may be, else all requests
 * become LOST.  message is libpq's text.
 */
extern void remote_conn_fail(RemoteConn *conn, int sqlstate,
							 const char *message, const char *detail,
							 const char *hint);

/* So that looking whether it has been closed can be spared. */
extern bool remote_conn_was_just_used(const RemoteConn *conn);

/* A second, private connection with the same parameters. */
extern RemoteConn *remote_conn_create_side(const RemoteConn *conn);

/* ---- remote_send.c ---- */
extern void remote_send_queued(RemoteConn *conn);

/* To be called when another request has become the first unanswered one. */
extern void remote_send_note_first(RemoteConn *conn);

/* ---- remote_request.c ---- */
extern RemoteRequest *remote_request_make(RemoteConn *conn,
										  RemoteRequestKind kind);
extern RemoteRequest *remote_request_first_unanswered(RemoteConn *conn);

/* The request is over; one that has been released is gone then. */
extern void remote_request_make_final(RemoteRequest *request,
									  RemoteRequestState state);
extern void remote_request_lose_all(RemoteConn *conn, bool keeps_replayable);
extern void remote_request_insert_setup(RemoteConn *conn, const char *sql,
										bool is_vital);
extern bool remote_conn_runs_only_orphans(RemoteConn *conn);
extern bool remote_request_is_satisfied(const RemoteRequest *request);

/* ---- remote_receive.c ---- */
extern void remote_request_receive(RemoteConn *conn, RemoteRequest *target);
extern void remote_request_receive_unasked(RemoteConn *conn);
extern bool remote_request_take_buffered(RemoteRequest *request);
extern void remote_request_count_rows(RemoteRequest *request, uint64 nrows,
									  uint64 nbytes);

/* ---- remote_copy.c ---- */

/* The COPY under way, during which nothing else can be sent; NULL if none. */
extern RemoteRequest *remote_copy_current(RemoteConn *conn);

/* Sends the statement, on a quiet connection; false when libpq refuses. */
extern bool remote_copy_start(RemoteConn *conn, RemoteRequest *request);

/* Gives libpq what there is; false when it refuses. */
extern bool remote_copy_push(RemoteConn *conn, RemoteRequest *request);

/* Looks whether the shard, which is taking data, has said anything. */
extern void remote_copy_listen(RemoteConn *conn, RemoteRequest *request);

/* The answer is complete: back to pipeline mode; false when libpq refuses. */
extern bool remote_copy_leave(RemoteConn *conn);

/* ---- remote_copy_out.c ---- */

/*
 * Is the request to be sent as COPY, once what was sent before it has been
 * answered?
 */
extern bool remote_copy_out_suits(const RemoteConn *conn,
								  const RemoteRequest *request);

/* Sends it; false when libpq refuses. */
extern bool remote_copy_out_start(RemoteConn *conn, RemoteRequest *request);

/* The shard is about to send rows. */
extern void remote_copy_out_open(RemoteRequest *request);

/* What remote_copy_out_read() got. */
typedef enum RemoteCopyOutStep
{
	REMOTE_COPY_OUT_ROW,
	REMOTE_COPY_OUT_NOTHING,	/* libpq has no whole row */
	REMOTE_COPY_OUT_END,
	REMOTE_COPY_OUT_FAILED		/* what came cannot be understood, or not be
								 * kept: libpq has a message then */
} RemoteCopyOutStep;

/*
 * The next row that libpq has; the memory is the caller's to free with
 * PQfreemem().
 */
extern RemoteCopyOutStep remote_copy_out_read(RemoteRequest *request,
											  char **copied, int *size);

/*
 * Points the result's values into the row, which must be one that was read,
 * and changes it, so this can be done once.  values and lengths have room for
 * the request's fields.
 */
extern void remote_copy_out_parse(const RemoteRequest *request, char *copied,
								  RemoteResult *result, char **values,
								  int *lengths);

/* ---- remote_wait.c ---- */

/* Everything that can be done for the connection without waiting. */
extern void remote_wait_advance(RemoteConn *conn, RemoteRequest *target);

/* The connection's socket is going away. */
extern void remote_wait_forget(RemoteConn *conn);

/* ---- remote_watch.c ---- */

/* For remote_conn.c: the connection is READY, or about to be closed. */
extern void remote_watch_opened_noerror(const RemoteConn *conn);
extern void remote_watch_closes_noerror(const RemoteConn *conn);

/* Is there anybody to tell of long waits? */
extern bool remote_watch_is_wanted(void);

/* When a wait that began then is long. */
extern TimestampTz remote_watch_due(TimestampTz since);

/*
 * Tells that the wait is for these connections, all or any of them; only where
 * somebody wants to know.  May raise.
 */
extern void remote_watch_tell(RemoteConn **conns, int nconns, bool needs_any);

#endif							/* SHARD_FDW_REMOTE_REMOTE_INTERNAL_H */
