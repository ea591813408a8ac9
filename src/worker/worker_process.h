/*-------------------------------------------------------------------------
 *
 * worker_process.h
 *	  What our background processes have in common.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_WORKER_WORKER_PROCESS_H
#define SHARD_FDW_WORKER_WORKER_PROCESS_H

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"

/* To be called in every turn of the main loop; ends the process if asked to. */
static inline void
worker_take_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

#endif							/* SHARD_FDW_WORKER_WORKER_PROCESS_H */
