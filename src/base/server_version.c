/*-------------------------------------------------------------------------
 *
 * server_version.c
 *	  Is the server new enough?
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "base/compat.h"
#include "base/server_version.h"

void
server_version_check(void)
{
	int			running = atoi(GetConfigOption("server_version_num", false,
											   false));

	if (running < COMPAT_LOWEST_SERVER)
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("shard_fdw needs PostgreSQL %d.%d or a later minor release",
					   COMPAT_LOWEST_SERVER / 10000,
					   COMPAT_LOWEST_SERVER % 10000),
				errdetail("This server is version %d.%d.",
						  running / 10000, running % 10000));
}
