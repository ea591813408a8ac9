/*-------------------------------------------------------------------------
 *
 * shippable.h
 *	  May an object of this database be named in a statement for a shard?
 *
 * Yes for what every PostgreSQL server has, with the same oid, from initdb
 * on, and for the members of extensions that the server's option
 * "extensions" vouches for.  Knows nothing of expressions and paths; whether
 * a function's result depends on the session is asked elsewhere.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_SHIPPABLE_H
#define SHARD_FDW_FDW_SHIPPABLE_H

#include "nodes/pg_list.h"

/* Is it one of the objects built into every server? */
extern bool shippable_is_builtin(Oid objectid);

/*
 * Does the shard have the object?  classid is the catalog it is in,
 * extensions the oids from FdwTableOptions.  Reads catalogs, remembers the
 * answers for the session.
 */
extern bool shippable_is_shippable(Oid objectid, Oid classid,
								   List *extensions);

#endif							/* SHARD_FDW_FDW_SHIPPABLE_H */
