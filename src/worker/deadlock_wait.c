/*-------------------------------------------------------------------------
 *
 * deadlock_wait.c
 *	  What a session does about deadlocks while it waits for shards.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "remote/remote_conn.h"
#include "remote/remote_watch.h"
#include "txn/coordinator.h"
#include "worker/deadlock_detector.h"
#include "worker/deadlock_shared.h"
#include "worker/deadlock_wait.h"

/* The wait that was entered last; it is there while is_entered. */
static DeadlockWait entered;
static bool is_entered = false;

/*
 * Where the session's process is not known, as behind a pooler, nothing can
 * be said of what it waits for.
 */
static void
add_conns(DeadlockWait *wait, List *begun, RemoteConn **conns, int nconns,
		  bool is_waited)
{
	ListCell   *cell;

	foreach(cell, begun)
	{
		const TxnBranch *branch = lfirst(cell);
		RemoteConn *conn = branch_conn(branch);
		DeadlockConn *item = &wait->conns[wait->nconns];

		if (remote_conn_is_among(conn, conns, nconns) != is_waited ||
			remote_conn_backend_pid(conn) == 0 ||
			wait->nconns == DEADLOCK_MAX_CONNS)
			continue;
		item->serverid = remote_conn_serverid(conn);
		item->userid = remote_conn_userid(conn);
		item->pid = remote_conn_backend_pid(conn);
		item->is_waited = is_waited;
		item->is_kept = branch_is_in_block(branch);
		wait->nconns++;
	}
}

static bool
is_as_entered(const DeadlockWait *wait)
{
	return is_entered && wait->needs_any == entered.needs_any &&
		wait->nconns == entered.nconns &&
		memcmp(wait->conns, entered.conns,
			   sizeof(DeadlockConn) * wait->nconns) == 0;
}

/*
 * Must not be called where an error cannot be raised, as in a critical
 * section; a verdict then stays until it can.
 */
static void
raise_if_victim(void)
{
	DeadlockVerdict verdict;

	if (InterruptHoldoffCount > 0 || CritSectionCount > 0 ||
		!deadlock_shared_is_victim(&verdict))
		return;
	remote_watch_end_noerror();
	ereport(ERROR,
			(errcode(ERRCODE_T_R_DEADLOCK_DETECTED),
			 errmsg("deadlock detected"),
			 errdetail_internal("%s", verdict.report),
			 verdict.is_own_doing ?
			 errhint("The transaction has several sessions on that server, by more than one user mapping or foreign server, and one of them waits for what another one has locked.") : 0));
}

static void
conn_is_open_noerror(const RemoteConn *conn)
{
	int			pid = remote_conn_backend_pid(conn);

	if (pid != 0)
		deadlock_shared_add_owned_noerror(remote_conn_serverid(conn), pid);
}

static void
conn_closes_noerror(const RemoteConn *conn)
{
	int			pid = remote_conn_backend_pid(conn);

	if (pid != 0)
		deadlock_shared_remove_owned_noerror(remote_conn_serverid(conn), pid);
}

static void
leave_noerror(void)
{
	is_entered = false;
	deadlock_shared_leave_noerror();
}

static void
wait_is_long(RemoteConn **conns, int nconns, bool needs_any)
{
	DeadlockWait wait;
	List	   *begun;

	/* no worker is started on a standby */
	if (RecoveryInProgress())
		return;
	begun = coordinator_begun_branches();
	memset(&wait, 0, sizeof(wait));
	wait.xact_start = GetCurrentTransactionStartTimestamp();
	wait.needs_any = needs_any && nconns > 1;
	add_conns(&wait, begun, conns, nconns, true);

	/* one of which nothing is known may be the one that answers */
	if (wait.nconns < (wait.needs_any ? nconns : 1))
	{
		leave_noerror();
		list_free(begun);
		return;
	}
	add_conns(&wait, begun, conns, nconns, false);
	list_free(begun);
	if (is_as_entered(&wait))
		raise_if_victim();
	else
	{
		entered = wait;
		is_entered = deadlock_shared_enter(&wait);
	}
	if (is_entered && deadlock_shared_needs_detector())
		deadlock_detector_start();
}

void
deadlock_wait_init(void)
{
	static const RemoteWatch watch = {
		.waits = wait_is_long,
		.waits_no_more_noerror = leave_noerror,
		.opened_noerror = conn_is_open_noerror,
		.closes_noerror = conn_closes_noerror
	};

	remote_watch_set(&watch);
}
