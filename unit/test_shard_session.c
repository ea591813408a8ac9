/*-------------------------------------------------------------------------
 *
 * test_shard_session.c
 *	  What shards say of themselves, and what they might say instead.
 *	  Prints TAP.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#undef printf

#include "txn/shard_session.h"

static int	ntests = 0;
static int	nfailures = 0;

static void
ok(bool is_right, const char *what, const char *text)
{
	ntests++;
	if (!is_right)
		nfailures++;
	printf("%sok %d - %s %s\n", is_right ? "" : "not ", ntests, what, text);
}

static void
test_known(void)
{
	ShardSession session;

	session = shard_session_parse("18446744073709551615/ffffffff "
								  "1790000000123456 100");
	ok(session.history.system == PG_UINT64_MAX &&
	   session.history.timeline == 0xffffffff &&
	   session.start_time == UINT64CONST(1790000000123456) &&
	   session.max_prepared == 100, "everything is read", "");

	session = shard_session_parse("7500000000000000001/0 1790000000123456 0");
	ok(session.history.system == UINT64CONST(7500000000000000001) &&
	   session.history.timeline == 0 && session.max_prepared == 0,
	   "a standby that cannot prepare", "");
}

static void
test_unknown(void)
{
	static const char *const texts[] = {
		"", " ", "7/1", "7/1 ", "7/1 5", "7/1 5 ", "7/1 5 x", "7/1 x 3",
		"7/1 5 3 ", "7/1 5 3x", "7/1  3",
		"0000000000000000000000000000000000000000000000007/1 5 3"
	};
	int			i;

	for (i = 0; i < lengthof(texts); i++)
	{
		ShardSession session = shard_session_parse(texts[i]);

		ok(session.history.system == 0 && session.history.timeline == 0 &&
		   session.start_time == 0 && session.max_prepared == -1,
		   "no answer tells nothing:", texts[i]);
	}
}

/* The history is read by itself; what else there is does not depend on it. */
static void
test_odd_history(void)
{
	ShardSession session = shard_session_parse("7-1 5 3");

	ok(session.history.system == 0 && session.start_time == 5 &&
	   session.max_prepared == 3, "a history that cannot be read", "");
}

int
main(void)
{
	test_known();
	test_unknown();
	test_odd_history();
	printf("1..%d\n", ntests);
	return nfailures == 0 ? 0 : 1;
}
