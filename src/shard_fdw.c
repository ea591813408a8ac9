/*-------------------------------------------------------------------------
 *
 * shard_fdw.c
 *	  Loading the library: settings, callbacks, hooks and workers.
 *
 * The one file that may include from every folder; it has no logic.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "base/server_version.h"
#include "base/settings.h"
#include "fdw/exec_drain.h"
#include "fdw/exec_hooks.h"
#include "fdw/exec_returning.h"
#include "fdw/plan_hook.h"
#include "fdw/plan_refusal.h"
#include "fdw/plan_single.h"
#include "fdw/scan_group.h"
#include "remote/remote_cache.h"
#include "sqlapi/drop_guard.h"
#include "sqlapi/utility_hook.h"
#include "txn/coordinator.h"
#include "txn/notify_watch.h"
#include "worker/worker_launch.h"
#include "worker/worker_stats.h"

COMPAT_MODULE_MAGIC("shard_fdw", SHARD_FDW_VERSION);

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	server_version_check();
	settings_define();
	remote_cache_init();
	coordinator_init();
	notify_watch_init();
	coordinator_set_notify(worker_notify());
	worker_launch_init();
	drop_guard_init();
	utility_hook_init();
	scan_group_init();
	exec_drain_init();
	exec_hooks_init();
	exec_returning_init();
	plan_hook_init();
	plan_single_init();
	plan_refusal_init();
}
