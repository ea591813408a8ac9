/*-------------------------------------------------------------------------
 *
 * exec_async.c
 *	  Serving an asynchronous Append: rows in the order of their arrival.
 *
 * The scans of a group have all been sent when the first of them is run, so
 * nothing has to be started here; an asynchronous Append only spares the wait
 * for a slow shard while others have rows.
 *
 * A request is answered by running the scan's node with the scan polled: it
 * returns a row, the end, or nothing because it would have to wait.  Then the
 * request is pending, and core asks for a socket to wait on.  No state is kept
 * between those calls, so it does not matter whether core drains pending
 * requests before a rescan (newer minor releases do) or drops them.
 *
 * Scans that share a connection share its socket, which a wait event set can
 * hold only once: the first of them that is pending registers it, the others
 * look for their rows each time core gets ready to wait.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execAsync.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "storage/latch.h"

#include "fdw/exec_scan.h"
#include "fdw/fdw_handler.h"
#include "fdw/fdw_relinfo.h"
#include "remote/remote_request.h"

/*
 * Is the node one of our scans that can be polled?  A direct modification is
 * not, should core ever ask one.
 */
static bool
is_polled_scan(PlanState *node)
{
	ForeignScanState *scan = (ForeignScanState *) node;

	return IsA(node, ForeignScanState) &&
		scan->fdwroutine->ForeignAsyncRequest == shardForeignAsyncRequest &&
		((ForeignScan *) node->plan)->operation == CMD_SELECT;
}

/*
 * Answers the request with a row or the end, or leaves it pending.
 *
 * The node's real function is called: the wrapper around it would count the
 * time a second time, since core does that itself for requests.
 */
static void
answer(AsyncRequest *areq, bool may_wait)
{
	ForeignScanState *node = castNode(ForeignScanState, areq->requestee);
	bool		is_polled = !may_wait && is_polled_scan(areq->requestee);
	TupleTableSlot *slot;

	if (is_polled)
		exec_scan_set_polled(node, true);
	slot = areq->requestee->ExecProcNodeReal(areq->requestee);
	if (is_polled)
	{
		bool		was_blocked = exec_scan_was_blocked(node);

		exec_scan_set_polled(node, false);
		if (was_blocked && TupIsNull(slot))
		{
			ExecAsyncRequestPending(areq);
			return;
		}
	}
	ExecAsyncRequestDone(areq, TupIsNull(slot) ? NULL : slot);
}

/*
 * Answers a pending request while core prepares to wait; true when it is no
 * longer pending.  Core neither counts the row nor takes it by itself, and
 * would go to sleep if others have registered their sockets: the latch keeps
 * it awake.
 */
static bool
answer_pending(AsyncRequest *areq, bool may_wait)
{
	areq->callback_pending = false;
	answer(areq, may_wait);
	if (!areq->request_complete)
		return false;
	if (areq->requestee->instrument)
		InstrUpdateTupleCount(areq->requestee->instrument,
							  TupIsNull(areq->result) ? 0.0 : 1.0);
	ExecAsyncResponse(areq);
	SetLatch(MyLatch);
	return true;
}

/*
 * Does a request of the same Append that is asked earlier wait on the same
 * socket?
 */
static bool
is_socket_taken(const AsyncRequest *areq, const AppendState *append,
				pgsocket socket)
{
	int			index = -1;

	while ((index = bms_next_member(append->as_asyncplans, index)) >= 0 &&
		   index < areq->request_index)
	{
		const AsyncRequest *other = append->as_asyncrequests[index];

		if (other->callback_pending && is_polled_scan(other->requestee) &&
			exec_scan_socket((ForeignScanState *) other->requestee) == socket)
			return true;
	}
	return false;
}

bool
shardIsForeignPathAsyncCapable(ForeignPath *path)
{
	FdwRelInfo *info = path->path.parent->fdw_private;

	return info->options->is_async_capable;
}

/*
 * Is there nothing that could be done instead of waiting?  Core would make a
 * new wait event set for each wait.
 */
static bool
is_only_child(const AsyncRequest *areq)
{
	return IsA(areq->requestor, AppendState) &&
		((const AppendState *) areq->requestor)->as_nplans == 1;
}

void
shardForeignAsyncRequest(AsyncRequest *areq)
{
	if (is_polled_scan(areq->requestee))
		exec_scan_start((ForeignScanState *) areq->requestee);
	answer(areq, is_only_child(areq));
}

void
shardForeignAsyncConfigureWait(AsyncRequest *areq)
{
	ForeignScanState *node = castNode(ForeignScanState, areq->requestee);
	AppendState *append = castNode(AppendState, areq->requestor);
	pgsocket	socket;

	if (exec_scan_is_ready(node) && answer_pending(areq, false))
	{
		remote_request_end_outside_wait_noerror();
		return;
	}
	socket = exec_scan_socket(node);
	if (socket == PGINVALID_SOCKET)
	{
		/* still being opened, which takes more than waiting for input */
		exec_scan_wait_for_socket(node);
		if (exec_scan_is_ready(node))
		{
			answer_pending(areq, true);
			return;
		}
		socket = exec_scan_socket(node);
	}
	if (is_socket_taken(areq, append, socket))
		return;
	/* before that core only looks, and goes on with what is not asynchronous */
	if (append->as_syncdone)
		exec_scan_note_outside_wait(node);
	AddWaitEventToSet(append->as_eventset, WL_SOCKET_READABLE, socket, NULL,
					  areq);
}

void
shardForeignAsyncNotify(AsyncRequest *areq)
{
	remote_request_end_outside_wait_noerror();
	answer(areq, false);
}
