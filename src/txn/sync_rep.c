/*-------------------------------------------------------------------------
 *
 * sync_rep.c
 *	  Has the WAL reached the synchronous standbys?
 *
 * Whether standbys are configured is asked twice: the setting as this process
 * has read it, and the flag that the checkpointer keeps for everybody.  They
 * differ for a moment after a reload, and after a start until the
 * checkpointer has come round; then the careful answer is taken.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"

#include "txn/sync_rep.h"

XLogRecPtr
sync_rep_position_noerror(void)
{
	return GetFlushRecPtr(NULL);
}

static bool
is_confirmed(XLogRecPtr lsn, int mode)
{
	bool		is_defined = SyncRepStandbyNames && SyncRepStandbyNames[0] != '\0';
	XLogRecPtr	confirmed;

	if (max_wal_senders == 0)
		return true;
	LWLockAcquire(SyncRepLock, LW_SHARED);
	if ((WalSndCtl->sync_standbys_status & SYNC_STANDBY_DEFINED) != 0)
		is_defined = true;
	confirmed = WalSndCtl->lsn[mode];
	LWLockRelease(SyncRepLock);
	return !is_defined || confirmed >= lsn;
}

bool
sync_rep_is_confirmed_noerror(XLogRecPtr lsn)
{
	if (synchronous_commit <= SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
		return true;
	if (synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE)
		return is_confirmed(lsn, SYNC_REP_WAIT_WRITE);
	if (synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_APPLY)
		return is_confirmed(lsn, SYNC_REP_WAIT_APPLY);
	return is_confirmed(lsn, SYNC_REP_WAIT_FLUSH);
}

bool
sync_rep_is_flushed_noerror(XLogRecPtr lsn)
{
	return is_confirmed(lsn, SYNC_REP_WAIT_FLUSH);
}
