/*-------------------------------------------------------------------------
 *
 * notify_watch.c
 *	  Has the current transaction notifications to send when it commits?
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "utils/fmgroids.h"

#include "base/compat.h"
#include "txn/notify_watch.h"

static object_access_hook_type previous_hook = NULL;
static bool is_pending = false;

void
notify_watch_note(void)
{
	is_pending = true;
}

bool
notify_watch_is_pending(void)
{
	return is_pending;
}

static void
note_function(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id,
			  void *arg)
{
	if (previous_hook)
		previous_hook(access, class_id, object_id, sub_id, arg);
	if (access == OAT_FUNCTION_EXECUTE && object_id == F_PG_NOTIFY)
		is_pending = true;
}

static void
forget(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			is_pending = false;
			break;
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

void
notify_watch_init(void)
{
	previous_hook = object_access_hook;
	object_access_hook = note_function;
	RegisterXactCallback(forget, NULL);
}
