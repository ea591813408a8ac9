/*-------------------------------------------------------------------------
 *
 * text_only.c
 *	  Queries whose rows this session has found to have to come as text.
 *
 * Only hash values are kept.  When there are very many the set starts anew,
 * which costs each of the forgotten ones one query more.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "fdw/text_only.h"

#define MAX_QUERIES 10000

static HTAB *queries = NULL;

static uint64
query_key(Oid serverid, const char *sql)
{
	return hash_bytes_extended((const unsigned char *) sql, strlen(sql),
							   serverid);
}

void
text_only_add(Oid serverid, const char *sql)
{
	uint64		key = query_key(serverid, sql);

	if (queries && hash_get_num_entries(queries) >= MAX_QUERIES)
	{
		hash_destroy(queries);
		queries = NULL;
	}
	if (queries == NULL)
	{
		HASHCTL		ctl = {0};

		ctl.keysize = sizeof(uint64);
		ctl.entrysize = sizeof(uint64);
		ctl.hcxt = TopMemoryContext;
		queries = hash_create("shard_fdw text-only queries", 64, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(queries, &key, HASH_ENTER, NULL);
}

bool
text_only_contains(Oid serverid, const char *sql)
{
	uint64		key;

	if (queries == NULL)
		return false;
	key = query_key(serverid, sql);
	return hash_search(queries, &key, HASH_FIND, NULL) != NULL;
}
