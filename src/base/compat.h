/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the supported versions of PostgreSQL.
 *
 * The only place that looks at PG_VERSION_NUM.  One block per symbol: the
 * newest behaviour under its normal name, or under a name of ours beginning
 * with compat_, older versions adapted to it, and the version from which the
 * block can go.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_COMPAT_H
#define SHARD_FDW_BASE_COMPAT_H

#include "pg_config.h"

/*
 * The lowest minor release that will do.  18: before 18.6 the plan of a change
 * gets the private data of other partitions once some are pruned at run time.
 * 15: before 15.2 generated columns of partitions are not known to the planner.
 */
#if PG_VERSION_NUM >= 190000
#define COMPAT_LOWEST_SERVER 190000
#elif PG_VERSION_NUM >= 180000
#define COMPAT_LOWEST_SERVER 180006
#elif PG_VERSION_NUM >= 170000
#define COMPAT_LOWEST_SERVER 170000
#elif PG_VERSION_NUM >= 160000
#define COMPAT_LOWEST_SERVER 160000
#else
#define COMPAT_LOWEST_SERVER 150002
#endif

/* varlena macros have a header of their own; until 15 is gone */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* PGDLLEXPORT makes a symbol visible by itself; until 15 is gone */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif

/* module magic with name and version; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define COMPAT_MODULE_MAGIC(name_, version_) \
	PG_MODULE_MAGIC_EXT(.name = (name_), .version = (version_))
#else
#define COMPAT_MODULE_MAGIC(name_, version_) PG_MODULE_MAGIC
#endif

/* a wait event set that lives as long as the session; until 16 is gone */
#if PG_VERSION_NUM >= 170000
#define compat_create_wait_event_set(nevents) CreateWaitEventSet(NULL, (nevents))
#else
#define compat_create_wait_event_set(nevents) \
	CreateWaitEventSet(TopMemoryContext, (nevents))
#endif

/* names of our own for wait events; until 16 is gone */
#if PG_VERSION_NUM >= 170000
#define compat_wait_event(name_) WaitEventExtensionNew(name_)
#else
#define compat_wait_event(name_) PG_WAIT_EXTENSION
#endif

/* partial sums of integers are serialized as 128 bits; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define COMPAT_SERIALIZES_INT128 true
#else
#define COMPAT_SERIALIZES_INT128 false
#endif

/* the id argument of a syscache callback; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define CompatSysCacheId SysCacheIdentifier
#else
#define CompatSysCacheId int
#endif

/* temporary files raise on failure and take void pointers; until 15 is gone */
#if PG_VERSION_NUM >= 160000
#define compat_buffile_write(file, ptr, size) BufFileWrite(file, ptr, size)
#define compat_buffile_read(file, ptr, size) \
	BufFileReadMaybeEOF(file, ptr, size, true)
#else
#define compat_buffile_write(file, ptr, size) \
	BufFileWrite(file, unconstify(void *, (const void *) (ptr)), size)
#define compat_buffile_read(file, ptr, size) BufFileRead(file, ptr, size)
#endif

/* delegated Kerberos credentials are an alternative; until 15 is gone */
#if PG_VERSION_NUM >= 160000
#define compat_connection_used_gssapi(pg) PQconnectionUsedGSSAPI(pg)
#define COMPAT_PASSWORD_REQUIRED \
	"password or GSSAPI delegated credentials required"
#define COMPAT_PASSWORD_UNUSED \
	"Non-superuser cannot connect if the server does not request a password or use GSSAPI with delegated credentials."
#else
#define compat_connection_used_gssapi(pg) ((void) (pg), false)
#define COMPAT_PASSWORD_REQUIRED "password is required"
#define COMPAT_PASSWORD_UNUSED \
	"Non-superuser cannot connect if the server does not request a password."
#endif

/* and so are the keys of the client's SCRAM authentication; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define COMPAT_PASSWORD_MISSING \
	"Non-superusers must delegate GSSAPI credentials, provide a password, or enable SCRAM pass-through in user mapping."
#elif PG_VERSION_NUM >= 160000
#define COMPAT_PASSWORD_MISSING \
	"Non-superusers must delegate GSSAPI credentials or provide a password in the user mapping."
#else
#define COMPAT_PASSWORD_MISSING \
	"Non-superusers must provide a password in the user mapping."
#endif

/*
 * Statistics that were made elsewhere; until 18 is gone.  values are those of
 * the columns of pg_stats from null_frac on, COMPAT_STATS_COLUMNS of them.
 */
#define COMPAT_STATS_COLUMNS 10
#if PG_VERSION_NUM >= 190000
#include "statistics/statistics.h"
#define compat_set_import_statistics(routine_, function_) \
	((routine_)->ImportForeignStatistics = (function_))

static inline bool
compat_import_relation_statistics(Relation rel, const NullableDatum *pages,
								  const NullableDatum *tuples)
{
	NullableDatum none = {0, true};
	NullableDatum zero = {0, false};

	return import_relation_statistics(rel, &none, pages, tuples, &zero, &zero);
}

static inline bool
compat_import_attribute_statistics(Relation rel, AttrNumber attnum,
								   const NullableDatum *values)
{
	NullableDatum none = {0, true};

	(void) delete_attribute_statistics(rel, attnum, false);
	return import_attribute_statistics(rel, attnum, false, &none, &values[0],
									   &values[1], &values[2], &values[3],
									   &values[4], &values[5], &values[6],
									   &values[7], &values[8], &values[9],
									   &none, &none, &none);
}
#else
#define compat_set_import_statistics(routine_, function_) ((void) (function_))
#define compat_import_relation_statistics(rel_, pages_, tuples_) \
	((void) (pages_), (void) (tuples_), false)
#define compat_import_attribute_statistics(rel_, attnum_, values_) \
	((void) (values_), false)
#endif

#endif							/* SHARD_FDW_BASE_COMPAT_H */
