/*-------------------------------------------------------------------------
 *
 * server_version.h
 *	  Is the server new enough?
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_SERVER_VERSION_H
#define SHARD_FDW_BASE_SERVER_VERSION_H

/*
 * Raises where the minor release of the server has a fault that the extension
 * cannot work around.  The one it was built with does not matter.
 */
extern void server_version_check(void);

#endif							/* SHARD_FDW_BASE_SERVER_VERSION_H */
