/*-------------------------------------------------------------------------
 *
 * compat_port.h
 *	  What the client of this session has lent us, between versions of
 *	  PostgreSQL: see compat.h.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_COMPAT_PORT_H
#define SHARD_FDW_BASE_COMPAT_PORT_H

#include "pg_config.h"

/*
 * Port is laid out the same with and without GSSAPI, by promise of its
 * header; without it the headers of Kerberos are not needed.
 */
#undef ENABLE_GSS
#include "libpq/libpq-be.h"
#include "miscadmin.h"

/* missing where the server was built without GSSAPI, and in 15 */
extern bool be_gssapi_get_delegation(Port *port) __attribute__((weak));

/* Has the client delegated its Kerberos credentials? */
static inline bool
compat_has_delegated_credentials(void)
{
	return be_gssapi_get_delegation && MyProcPort &&
		be_gssapi_get_delegation(MyProcPort);
}

/*
 * The keys that the client's SCRAM authentication has left, of *length bytes;
 * until 17 is gone.
 */
static inline bool
compat_get_scram_keys(const uint8 **client_key, const uint8 **server_key,
					  int *length)
{
#if PG_VERSION_NUM >= 180000
	if (MyProcPort && MyProcPort->has_scram_keys)
	{
		*client_key = MyProcPort->scram_ClientKey;
		*server_key = MyProcPort->scram_ServerKey;
		*length = sizeof(MyProcPort->scram_ClientKey);
		return true;
	}
#endif
	return false;
}

#endif							/* SHARD_FDW_BASE_COMPAT_PORT_H */
