/*-------------------------------------------------------------------------
 *
 * remote_window.h
 *	  The text of a window function call.
 *
 * Appends to the buffer, adds parameters to the context, never waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_REMOTE_WINDOW_H
#define SHARD_FDW_FDW_REMOTE_WINDOW_H

#include "lib/stringinfo.h"

#include "fdw/fdw_relinfo.h"
#include "fdw/remote_expr.h"

/* The call without its window, as an aggregate of the function's name. */
extern Aggref *remote_window_call(const WindowFunc *function);

/* The call with its window, which is one of those given, FdwWindows. */
extern void remote_window_append(StringInfo buf, RemoteExprContext *context,
								 const WindowFunc *function, List *windows);

#endif							/* SHARD_FDW_FDW_REMOTE_WINDOW_H */
