/*-------------------------------------------------------------------------
 *
 * local_xact.c
 *	  What this server knows of one of its own transactions.
 *
 * A committing backend leaves the list of running transactions before it
 * sends COMMIT PREPARED, but holds the lock on its xid until it is done.
 * Looking at both keeps recovery from doing, beside it, what the backend is
 * about to do.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"

#include "base/compat_worker.h"
#include "txn/local_xact.h"

/*
 * Can the number belong to a transaction whose status is still kept?  A
 * number not handed out yet came from a server that is no more: from a time
 * after the backup this one was restored from, or from an xid that never
 * reached the WAL before a crash.
 */
static bool
is_within_range(uint64 full_xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	return full_xid < next && next - full_xid < ((uint64) 1 << 31) &&
		TransactionIdIsNormal((TransactionId) full_xid);
}

static bool
is_locked_by_other(TransactionId xid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_TRANSACTION(tag, xid);
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return false;
}

bool
local_xact_is_running(uint64 full_xid)
{
	TransactionId xid = (TransactionId) full_xid;

	return is_within_range(full_xid) &&
		(TransactionIdIsInProgress(xid) || is_locked_by_other(xid));
}

bool
local_xact_is_prepared(uint64 full_xid)
{
	TransactionId xid = (TransactionId) full_xid;

	return is_within_range(full_xid) && TransactionIdIsInProgress(xid) &&
		BackendXidGetPid(xid) == 0;
}

/*
 * The commit status, unless it has been cut off.
 */
static LocalXactStatus
kept_status(TransactionId xid)
{
	LocalXactStatus status;

	LWLockAcquire(XactTruncationLock, LW_SHARED);
	if (TransactionIdPrecedes(xid, compat_oldest_clog_xid()))
		status = LOCAL_XACT_UNKNOWN;
	else if (TransactionIdDidCommit(xid))
		status = LOCAL_XACT_COMMITTED;
	else
		status = LOCAL_XACT_ABORTED;
	LWLockRelease(XactTruncationLock);
	return status;
}

LocalXactStatus
local_xact_status(uint64 full_xid)
{
	if (!is_within_range(full_xid))
		return LOCAL_XACT_UNKNOWN;
	if (local_xact_is_running(full_xid))
		return LOCAL_XACT_IN_PROGRESS;
	return kept_status((TransactionId) full_xid);
}
