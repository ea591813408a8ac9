/*-------------------------------------------------------------------------
 *
 * remote_result.c
 *	  What a shard answered: rows, a command tag or an error.
 *
 * Results are counted references, since the error of one statement is also
 * the reason why the rest of its segment was skipped.  They live in malloc'd
 * memory like the PGresult inside, so that no memory context can pull one
 * away from under the engine.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "remote/remote_internal.h"

/* bytes of a statement in a message; an INSERT of many rows has many more */
#define MAX_SQL_SHOWN 1000

RemoteResult *
remote_result_create(PGresult *pgres)
{
	RemoteResult *result;

	result = MemoryContextAllocZero(TopMemoryContext, sizeof(RemoteResult));
	result->refcount = 1;
	result->pgres = pgres;
	return result;
}

RemoteResult *
remote_result_share(RemoteResult *result)
{
	if (result)
		result->refcount++;
	return result;
}

void
remote_result_unref(RemoteResult *result)
{
	if (result == NULL || --result->refcount > 0)
		return;
	PQclear(result->pgres);
	pfree(result);
}

int
remote_result_nrows(const RemoteResult *result)
{
	return result->pgres ? PQntuples(result->pgres) : 1;
}

int
remote_result_nfields(const RemoteResult *result)
{
	return result->pgres ? PQnfields(result->pgres) : result->nfields;
}

bool
remote_result_is_null(const RemoteResult *result, int row, int col)
{
	if (result->pgres)
		return PQgetisnull(result->pgres, row, col) != 0;
	return result->values[col] == NULL;
}

char *
remote_result_value(const RemoteResult *result, int row, int col)
{
	if (result->pgres)
		return PQgetvalue(result->pgres, row, col);
	return result->values[col];
}

int
remote_result_length(const RemoteResult *result, int row, int col)
{
	if (result->pgres)
		return PQgetlength(result->pgres, row, col);
	return result->lengths[col];
}

char *
remote_result_field(const RemoteResult *result, int row, int col, int *length)
{
	if (result->pgres == NULL)
	{
		*length = result->lengths[col];
		return result->values[col];
	}
	*length = PQgetlength(result->pgres, row, col);
	if (*length == 0 && PQgetisnull(result->pgres, row, col))
		return NULL;
	return PQgetvalue(result->pgres, row, col);
}

Oid
remote_result_type(const RemoteResult *result, int col)
{
	return result->pgres ? PQftype(result->pgres, col) : result->types[col];
}

const char *
remote_result_tag(const RemoteResult *result)
{
	return result->pgres ? PQcmdStatus(result->pgres) : "";
}

uint64
remote_result_affected(const RemoteResult *result)
{
	const char *count = result->pgres ? PQcmdTuples(result->pgres) : "";

	return *count ? strtou64(count, NULL, 10) : 0;
}

int
remote_result_sqlstate(const RemoteResult *result)
{
	const char *state;

	if (result->pgres == NULL ||
		PQresultStatus(result->pgres) != PGRES_FATAL_ERROR)
		return 0;
	state = PQresultErrorField(result->pgres, PG_DIAG_SQLSTATE);
	if (state == NULL || strlen(state) != 5)
		return ERRCODE_CONNECTION_FAILURE;
	return MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
}

const char *
remote_result_message(const RemoteResult *result)
{
	const char *message = NULL;

	if (result->pgres)
	{
		message = PQresultErrorField(result->pgres, PG_DIAG_MESSAGE_PRIMARY);
		if (message == NULL)
			message = PQresultErrorMessage(result->pgres);
	}
	return message ? message : "";
}

/*
 * An error of level FATAL or PANIC ends the session.
 */
bool
remote_result_is_fatal(const RemoteResult *result)
{
	const char *severity;

	if (result->pgres == NULL ||
		PQresultStatus(result->pgres) != PGRES_FATAL_ERROR)
		return false;
	severity = PQresultErrorField(result->pgres,
								  PG_DIAG_SEVERITY_NONLOCALIZED);
	return severity != NULL &&
		(strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

/*
 * A conflict target is passed on as it is, and the user looks for the missing
 * index here.
 */
static const char *
hint_of_ours(const RemoteResult *result, const char *sql)
{
	if (remote_result_sqlstate(result) == ERRCODE_INVALID_COLUMN_REFERENCE &&
		sql && strstr(sql, " ON CONFLICT ("))
		return "The remote table needs a unique index on these columns.";
	return NULL;
}

/*
 * The names that programs look at to know what was violated; 0, as what sets a
 * field of a report returns.
 */
static int
set_names(const RemoteResult *result)
{
	static const int fields[] = {
		PG_DIAG_SCHEMA_NAME, PG_DIAG_TABLE_NAME, PG_DIAG_COLUMN_NAME,
		PG_DIAG_DATATYPE_NAME, PG_DIAG_CONSTRAINT_NAME
	};
	int			position;

	for (position = 0; result->pgres && position < lengthof(fields); position++)
	{
		const char *name = PQresultErrorField(result->pgres, fields[position]);

		if (name)
			(void) err_generic_string(fields[position], name);
	}
	return 0;
}

void
remote_result_report(int elevel, const RemoteResult *result,
					 const char *server, const char *sql,
					 const char *our_hint)
{
	const char *detail = NULL;
	const char *hint = NULL;
	const char *context = NULL;
	int			length = 0;

	if (sql)
	{
		length = strlen(sql);
		if (length > MAX_SQL_SHOWN)
			length = pg_mbcliplen(sql, length, MAX_SQL_SHOWN);
	}
	if (result->pgres)
	{
		detail = PQresultErrorField(result->pgres, PG_DIAG_MESSAGE_DETAIL);
		hint = PQresultErrorField(result->pgres, PG_DIAG_MESSAGE_HINT);
		context = PQresultErrorField(result->pgres, PG_DIAG_CONTEXT);
		if (hint == NULL)
			hint = hint_of_ours(result, sql);
	}
	if (hint == NULL)
		hint = our_hint;
	ereport(elevel,
			errcode(remote_result_sqlstate(result)),
			errmsg_internal("%s", pchomp(remote_result_message(result))),
			detail ? errdetail_internal("%s", detail) : 0,
			hint ? errhint("%s", hint) : 0,
			context ? errcontext("%s", context) : 0,
			set_names(result),
			sql ? errcontext("remote SQL on server \"%s\": %.*s%s", server,
							 length, sql, sql[length] ? "..." : "") : 0);
}
