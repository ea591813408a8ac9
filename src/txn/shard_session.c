/*-------------------------------------------------------------------------
 *
 * shard_session.c
 *	  What a shard says of itself when a session with it begins.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "txn/shard_session.h"

/* longest text of a ShardHistory: 20 digits, a slash, 8 digits */
#define HISTORY_MAX_LENGTH 32

ShardSession
shard_session_parse(const char *text)
{
	const ShardSession unknown = {.max_prepared = -1};
	ShardSession session;
	const char *rest = strchr(text, ' ');
	char		history[HISTORY_MAX_LENGTH + 1];
	char	   *end;

	if (rest == NULL || rest - text >HISTORY_MAX_LENGTH)
		return unknown;
	memcpy(history, text, rest - text);
	history[rest - text] = '\0';
	session.history = shard_history_parse(history);
	rest++;

	session.start_time = strtou64(rest, &end, 10);
	if (end == rest || *end != ' ')
		return unknown;
	rest = end + 1;

	session.max_prepared = (int) strtol(rest, &end, 10);
	if (end == rest || *end != '\0')
		return unknown;
	return session;
}
