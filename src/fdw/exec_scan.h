/*-------------------------------------------------------------------------
 *
 * exec_scan.h
 *	  What exec_async.c and fdw_explain.c need to know of a running scan.
 *
 * All take a ForeignScanState begun by shardBeginForeignScan().
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_EXEC_SCAN_H
#define SHARD_FDW_FDW_EXEC_SCAN_H

#include "nodes/execnodes.h"

/* How a remote query was run, for EXPLAIN ANALYZE. */
typedef struct ExecReport
{
	const char *way;
	bool		is_binary;		/* the format of the rows */
	uint64		trips;			/* times something was sent and awaited */
	uint64		rows;			/* received or, by a modification, changed;
								 * local conditions not applied */
	uint64		bytes;			/* received */
	uint64		spooled;		/* rows that waited in a temporary file */
	double		first_ms;		/* from sending to the first row, the first
								 * time; 0 if there was none */
	double		total_ms;		/* from sending to the end of the rows, or to
								 * the last that was wanted; all times */
} ExecReport;

/* Sends the query, and those of the scan's group, if it is not sent. */
extern void exec_scan_start(ForeignScanState *node);

/*
 * True when shardIterateForeignScan() would not wait.  The scan must have
 * been started.  Never waits, may raise.
 */
extern bool exec_scan_is_ready(ForeignScanState *node);

/*
 * While a scan is polled, shardIterateForeignScan() returns an empty slot
 * instead of waiting, and exec_scan_was_blocked() tells that it did.
 */
extern void exec_scan_set_polled(ForeignScanState *node, bool is_polled);
extern bool exec_scan_was_blocked(ForeignScanState *node);

/*
 * The socket on which the scan's next row will arrive; PGINVALID_SOCKET while
 * there is none to wait on, as the connection is being opened or was lost.
 */
extern pgsocket exec_scan_socket(ForeignScanState *node);

/* Waits until there is one, or the scan is ready. */
extern void exec_scan_wait_for_socket(ForeignScanState *node);

/* Core is about to wait for it. */
extern void exec_scan_note_outside_wait(ForeignScanState *node);

/* False when nothing was sent. */
extern bool exec_scan_report(ForeignScanState *node, ExecReport *report);

#endif							/* SHARD_FDW_FDW_EXEC_SCAN_H */
