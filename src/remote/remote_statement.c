/*-------------------------------------------------------------------------
 *
 * remote_statement.c
 *	  The prepared statements of a connection.
 *
 * A text marked as reusable is sent as an unnamed statement the first time
 * and prepared the second time.  The table is bounded: the one unused for
 * longest makes room.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "remote/remote_internal.h"

/* prepared statements, and texts on their way, kept per connection */
#define MAX_STATEMENTS 250

static uint64
statement_key(const RemoteQuery *query)
{
	uint64		key;

	key = hash_bytes_extended((const unsigned char *) query->sql,
							  strlen(query->sql), 0);
	if (query->nparams > 0 && query->param_types)
		key = hash_combine64(key,
							 hash_bytes_extended((const unsigned char *)
												 query->param_types,
												 query->nparams * sizeof(Oid),
												 1));
	return key;
}

/*
 * Forgets texts that came once and not again for a while.  Statements with
 * literals in them are such, so many at a time go.
 */
static void
forget_unprepared(RemoteConn *conn)
{
	HASH_SEQ_STATUS status;
	RemoteStatement *statement;

	hash_seq_init(&status, conn->statements);
	while ((statement = hash_seq_search(&status)) != NULL)
	{
		if (!statement->is_prepared && statement->pending_segment == 0 &&
			statement->last_use + MAX_STATEMENTS / 2 < conn->use_clock)
			remote_statement_remove(conn, statement);
	}
}

static RemoteStatement *
make_statement(RemoteConn *conn, uint64 key, const char *sql)
{
	RemoteStatement *statement;

	/* within a transaction there may be no moment to look for a victim */
	if (++conn->next_statement % MAX_STATEMENTS == 0)
		forget_unprepared(conn);
	statement = hash_search(conn->statements, &key, HASH_ENTER, NULL);
	statement->sql = NULL;
	statement->number = conn->next_statement;
	statement->uses = 0;
	statement->is_prepared = false;
	statement->pending_segment = 0;
	statement->sql = MemoryContextStrdup(conn->context, sql);
	return statement;
}

/*
 * The entry of a text, made if need be; NULL for the rare other text with
 * the same key.
 */
RemoteStatement *
remote_statement_lookup(RemoteConn *conn, const RemoteQuery *query)
{
	uint64		key = statement_key(query);
	RemoteStatement *statement;

	if (conn->statements == NULL)
	{
		HASHCTL		ctl = {0};

		ctl.keysize = sizeof(uint64);
		ctl.entrysize = sizeof(RemoteStatement);
		ctl.hcxt = conn->context;
		conn->statements = hash_create("shard_fdw statements", 64, &ctl,
									   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	statement = hash_search(conn->statements, &key, HASH_FIND, NULL);
	if (statement == NULL)
		statement = make_statement(conn, key, query->sql);
	else if (strcmp(statement->sql, query->sql) != 0)
		return NULL;
	statement->uses++;
	statement->last_use = ++conn->use_clock;
	return statement;
}

void
remote_statement_name(const RemoteStatement *statement, char *buf)
{
	snprintf(buf, NAMEDATALEN, "shard_fdw_%u", statement->number);
}

/*
 * The one to give up, or NULL while there is room.  One that is being
 * prepared stays.
 */
RemoteStatement *
remote_statement_victim(RemoteConn *conn)
{
	HASH_SEQ_STATUS status;
	RemoteStatement *statement;
	RemoteStatement *oldest = NULL;

	if (conn->statements == NULL ||
		hash_get_num_entries(conn->statements) <= 2 * MAX_STATEMENTS)
		return NULL;
	forget_unprepared(conn);
	if (hash_get_num_entries(conn->statements) <= MAX_STATEMENTS)
		return NULL;
	hash_seq_init(&status, conn->statements);
	while ((statement = hash_seq_search(&status)) != NULL)
	{
		if (statement->pending_segment == 0 &&
			(oldest == NULL || statement->last_use < oldest->last_use))
			oldest = statement;
	}
	return oldest;
}

void
remote_statement_remove(RemoteConn *conn, RemoteStatement *statement)
{
	uint64		key = statement->key;
	char	   *sql = statement->sql;

	hash_search(conn->statements, &key, HASH_REMOVE, NULL);
	pfree(sql);
}

/*
 * The session is gone, and its statements with it.
 */
void
remote_statement_forget_all(RemoteConn *conn)
{
	HASH_SEQ_STATUS status;
	RemoteStatement *statement;

	conn->stale_statement = 0;
	if (conn->statements == NULL)
		return;
	hash_seq_init(&status, conn->statements);
	while ((statement = hash_seq_search(&status)) != NULL)
	{
		statement->is_prepared = false;
		statement->pending_segment = 0;
	}
}

/*
 * Those being prepared are on their way under their present name.
 */
void
remote_statement_rename_all(RemoteConn *conn)
{
	HASH_SEQ_STATUS status;
	RemoteStatement *statement;

	hash_seq_init(&status, conn->statements);
	while ((statement = hash_seq_search(&status)) != NULL)
	{
		if (statement->pending_segment != 0)
			continue;
		statement->is_prepared = false;
		statement->uses = 0;
		statement->number = ++conn->next_statement;
	}
}

void
remote_statement_retire(RemoteConn *conn, RemoteStatement *statement)
{
	/* it may have been retired by an earlier answer already */
	if (!statement->is_prepared)
		return;
	conn->stale_statement = statement->number;
	statement->is_prepared = false;
	statement->uses = 0;
	statement->number = ++conn->next_statement;
}
