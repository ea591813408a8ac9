/*-------------------------------------------------------------------------
 *
 * shard_history.c
 *	  Which server a shard is, and which of its possible pasts it has had.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "txn/shard_history.h"

ShardHistory
shard_history_parse(const char *text)
{
	ShardHistory history = {0};
	const ShardHistory unknown = {0};
	char	   *end;

	history.system = strtou64(text, &end, 10);
	if (end == text ||*end != '/')
		return unknown;
	text = end + 1;

	history.timeline = (uint32) strtoul(text, &end, 16);
	return end == text ||*end != '\0' ? unknown : history;
}

bool
shard_history_is_other_server(const ShardHistory *then, const ShardHistory *now)
{
	return then->system != 0 && now->system != 0 && then->system != now->system;
}

bool
shard_history_has_branched(const ShardHistory *then, const ShardHistory *now)
{
	return then->timeline != 0 && now->timeline != 0 &&
		then->timeline != now->timeline;
}
