/*-------------------------------------------------------------------------
 *
 * remote_cache.c
 *	  The connections of this backend, one per user mapping.
 *
 * The key is the mapping and the user: one PUBLIC mapping may serve users to
 * whom different password rules apply, and a connection made for one of them
 * must not be handed to another.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "remote/remote_cache.h"
#include "remote/remote_internal.h"

typedef struct CacheKey
{
	Oid			umid;
	Oid			userid;
} CacheKey;

typedef struct CacheEntry
{
	CacheKey	key;
	Oid			serverid;
	uint32		server_hash;	/* for matching invalidations */
	uint32		mapping_hash;
	bool		is_valid;
	RemoteConn *conn;
} CacheEntry;

static HTAB *cache = NULL;

/* an entry may be invalid */
static bool has_invalid = false;

static void
invalidate(Datum arg, CompatSysCacheId cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS status;
	CacheEntry *entry;

	if (cache == NULL)
		return;
	hash_seq_init(&status, cache);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (hashvalue == 0 ||
			(cacheid == FOREIGNSERVEROID && entry->server_hash == hashvalue) ||
			(cacheid == USERMAPPINGOID && entry->mapping_hash == hashvalue))
			entry->is_valid = false;
		has_invalid |= !entry->is_valid;
	}
}

void
remote_cache_init(void)
{
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, invalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, invalidate, (Datum) 0);
}

static void
create_cache(void)
{
	HASHCTL		ctl = {0};

	ctl.keysize = sizeof(CacheKey);
	ctl.entrysize = sizeof(CacheEntry);
	ctl.hcxt = TopMemoryContext;
	cache = hash_create("shard_fdw connections", 16, &ctl,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
drop_entry(CacheEntry *entry)
{
	CacheKey	key = entry->key;

	if (entry->conn)
		remote_conn_free_noerror(entry->conn);
	hash_search(cache, &key, HASH_REMOVE, NULL);
}

static CacheEntry *
make_entry(const CacheKey *key, Oid serverid)
{
	RemoteConn *conn = remote_conn_create(key->userid, serverid);
	CacheEntry *entry = hash_search(cache, key, HASH_ENTER, NULL);

	entry->conn = conn;
	entry->serverid = serverid;
	entry->is_valid = true;
	entry->server_hash = GetSysCacheHashValue1(FOREIGNSERVEROID,
											   ObjectIdGetDatum(serverid));
	entry->mapping_hash = GetSysCacheHashValue1(USERMAPPINGOID,
												ObjectIdGetDatum(key->umid));
	return entry;
}

RemoteConn *
remote_cache_get(Oid userid, Oid serverid, bool is_new_transaction)
{
	UserMapping *user = GetUserMapping(userid, serverid);
	CacheKey	key;
	CacheEntry *entry;

	if (cache == NULL)
		create_cache();
	key.umid = user->umid;
	key.userid = userid;
	entry = hash_search(cache, &key, HASH_FIND, NULL);
	if (entry && is_new_transaction &&
		(!entry->is_valid ||
		 (!remote_conn_was_just_used(entry->conn) &&
		  remote_conn_is_closed_by_peer(entry->conn))))
	{
		drop_entry(entry);
		entry = NULL;
	}
	if (entry == NULL)
		entry = make_entry(&key, serverid);
	return entry->conn;
}

static CacheEntry *
find_entry(const RemoteConn *conn)
{
	HASH_SEQ_STATUS status;
	CacheEntry *entry;

	if (cache == NULL)
		return NULL;
	hash_seq_init(&status, cache);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->conn == conn)
		{
			hash_seq_term(&status);
			return entry;
		}
	}
	return NULL;
}

void
remote_cache_discard_noerror(RemoteConn *conn)
{
	CacheEntry *entry = find_entry(conn);

	if (entry)
		drop_entry(entry);
}

void
remote_cache_end_use_noerror(RemoteConn *conn)
{
	CacheEntry *entry = find_entry(conn);

	if (entry && (!entry->is_valid || !conn->options->keep_connection ||
				  conn->state == REMOTE_CONN_LOST))
		drop_entry(entry);
}

void
remote_cache_drop_invalid_noerror(void)
{
	HASH_SEQ_STATUS status;
	CacheEntry *entry;

	if (!has_invalid)
		return;
	has_invalid = false;
	hash_seq_init(&status, cache);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (!entry->is_valid)
			drop_entry(entry);
	}
}

List *
remote_cache_list(void)
{
	HASH_SEQ_STATUS status;
	CacheEntry *entry;
	List	   *items = NIL;

	if (cache == NULL)
		return NIL;
	hash_seq_init(&status, cache);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		RemoteCacheItem *item = palloc(sizeof(RemoteCacheItem));

		item->conn = entry->conn;
		item->serverid = entry->serverid;
		item->umid = entry->key.umid;
		item->userid = entry->key.userid;
		item->is_valid = entry->is_valid;
		items = lappend(items, item);
	}
	return items;
}
