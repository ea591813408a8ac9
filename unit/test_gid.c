/*-------------------------------------------------------------------------
 *
 * test_gid.c
 *	  Names of prepared transactions: what is written is read back, and
 *	  nothing else is read at all.
 *
 * Prints TAP.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#undef printf

#include "txn/gid.h"

static int	ntests = 0;
static int	nfailures = 0;

static void
ok(bool is_right, const char *name, const char *detail)
{
	ntests++;
	if (!is_right)
		nfailures++;
	printf("%sok %d - %s%s%s\n", is_right ? "" : "not ", ntests, name,
		   detail[0] ? ": " : "", detail);
}

static const Gid sample = {
	.identity = UINT64CONST(0x0123456789abcdef),
	.database = 16384,
	.incarnation = UINT64CONST(1790000000123456),
	.xid = UINT64CONST(4294967999),
	.token = UINT64CONST(0xfedcba9876543210),
	.branch = 2,
	.server = 16400,
	.user = 10
};

#define SAMPLE_TEXT \
	"sfdw1_0123456789abcdef_16384_1790000000123456_4294967999_" \
	"fedcba9876543210_2_16400_10"

static bool
is_same(const Gid *a, const Gid *b)
{
	return a->identity == b->identity && a->database == b->database &&
		a->incarnation == b->incarnation && a->xid == b->xid && a->token == b->token && a->branch == b->branch &&
		a->server == b->server && a->user == b->user;
}

static void
test_format(void)
{
	char		buffer[GID_MAX_LENGTH + 1];

	gid_format(&sample, buffer);
	ok(strcmp(buffer, SAMPLE_TEXT) == 0, "the sample is written as documented",
	   buffer);
	gid_format_incarnation(&sample, buffer);
	ok(strcmp(buffer, "sfdw1_0123456789abcdef_16384_1790000000123456") == 0,
	   "the incarnation is the first part of it", buffer);
}

/* every combination of the ends of each field's range */
static void
test_round_trip(void)
{
	static const uint64 wide[] = {0, 1, 9, 10, UINT64CONST(0xffffffff),
		UINT64CONST(0x100000000), UINT64CONST(0x7fffffffffffffff),
	UINT64CONST(0xffffffffffffffff)};
	static const uint32 narrow[] = {0, 1, 10, 0x7fffffff, 0xffffffff};
	int			nwide = sizeof(wide) / sizeof(wide[0]);
	int			nnarrow = sizeof(narrow) / sizeof(narrow[0]);
	size_t		longest = 0;
	int			nwrong = 0;
	int			w,
				n;

	for (w = 0; w < nwide * nwide * nwide; w++)
	{
		for (n = 0; n < nnarrow * nnarrow; n++)
		{
			Gid			gid;
			Gid			back;
			char		buffer[1024];

			memset(&back, 0x55, sizeof(back));
			gid.identity = wide[w % nwide];
			gid.incarnation = wide[(w + n) % nwide];
			gid.xid = wide[w / nwide % nwide];
			gid.token = wide[w / nwide / nwide];
			gid.database = narrow[n % nnarrow];
			gid.branch = narrow[n / nnarrow];
			gid.server = narrow[(n + 1) % nnarrow];
			gid.user = narrow[(n + w) % nnarrow];
			gid_format(&gid, buffer);
			longest = Max(longest, strlen(buffer));
			if (!gid_parse(buffer, &back) || !is_same(&gid, &back))
				nwrong++;
		}
	}
	ok(nwrong == 0, "all combinations of extreme values come back", "");
	ok(longest <= GID_MAX_LENGTH, "the longest name fits", "");
}

static void
test_hostile(void)
{
	static const char *const names[] = {
		"",
		"sfdw1",
		"sfdw1_",
		"order-17",
		"1_2_3_4",
		"shard_a",
		" " SAMPLE_TEXT,
		SAMPLE_TEXT " ",
		SAMPLE_TEXT "_",
		SAMPLE_TEXT "_1",
		SAMPLE_TEXT "\n",
		/* another tag */
		"SFDW1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		"sfdw2_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		"sfdw1p_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		"sfdw10_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		/* hex digits in the wrong case, number or alphabet */
		"sfdw1_0123456789ABCDEF_1_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2_Fedcba9876543210_0_3_4",
		"sfdw1_123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		"sfdw1_00123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdeg_1_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0x23456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		/* numbers strtoul() would take */
		"sfdw1_0123456789abcdef_01_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_02_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_00_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_+3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_-4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_ 3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_0x4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4e0",
		"sfdw1_0123456789abcdef_1_09_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_-9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9.5_2_fedcba9876543210_0_3_4",
		/* out of range */
		"sfdw1_0123456789abcdef_1_18446744073709551616_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_4294967296_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_18446744073709551616_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_99999999999999999999_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_4294967296_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_42949672950_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4294967299",
		/* empty and missing fields */
		"sfdw1__1_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef__9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9__fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2__0_3_4",
		"sfdw1_0123456789abcdef_1__2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210__3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3",
		/* other separators, quotes, wildcards, other alphabets */
		"sfdw1-0123456789abcdef_1_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_4'",
		"sfdw1_0123456789abcdef_%_9_2_fedcba9876543210_0_3_4",
		"sfdw1_0123456789abcdef_1_9_2_fedcba9876543210_0_3_\331\243"
	};
	int			name;

	for (name = 0; name < (int) (sizeof(names) / sizeof(names[0])); name++)
	{
		Gid			gid;

		ok(!gid_parse(names[name], &gid), "refused", "");
	}
}

/* no prefix of a name is a name, and no changed byte leaves it the same */
static void
test_mutations(void)
{
	char		buffer[sizeof(SAMPLE_TEXT)];
	int			length = strlen(SAMPLE_TEXT);
	int			nwrong = 0;
	int			position;
	int			byte;
	Gid			gid;

	for (position = 0; position < length; position++)
	{
		strcpy(buffer, SAMPLE_TEXT);
		buffer[position] = '\0';

		/* the last field may lose digits and still be a number */
		if (gid_parse(buffer, &gid) && position < length - 1)
			nwrong++;
	}
	ok(nwrong == 0, "no prefix without the last field is taken", "");

	nwrong = 0;
	for (position = 0; position < length; position++)
	{
		for (byte = 1; byte < 256; byte++)
		{
			char		again[GID_MAX_LENGTH + 1];

			strcpy(buffer, SAMPLE_TEXT);
			buffer[position] = (char) byte;
			if (!gid_parse(buffer, &gid))
				continue;
			gid_format(&gid, again);
			if (strcmp(again, buffer) != 0)
				nwrong++;
		}
	}
	ok(nwrong == 0, "whatever is taken is written back to the byte", "");
}

static void
test_ours(void)
{
	ok(gid_is_ours(&sample, sample.identity, sample.database), "ours", "");
	ok(!gid_is_ours(&sample, sample.identity + 1, sample.database),
	   "another coordinator's", "");
	ok(!gid_is_ours(&sample, sample.identity, sample.database + 1),
	   "another database's", "");
}

static void
test_one_phase(void)
{
	OnePhaseToken token = {
		.identity = 1,
		.database = 0xffffffff,
		.server = 0,
		.user = 7,
		.remote_xid = PG_UINT64_MAX,
		.start_time = UINT64CONST(1790000000123456),
		.system = UINT64CONST(7500000000000000001)
	};
	OnePhaseToken back;
	char		buffer[GID_MAX_LENGTH + 1];
	Gid			gid;

	one_phase_token_format(&token, buffer);
	ok(strcmp(buffer, "sfdw1p_0000000000000001_4294967295_0_7_"
			  "18446744073709551615_1790000000123456_7500000000000000001") == 0,
	   "a one-phase token is written as documented", buffer);
	ok(one_phase_token_parse(buffer, &back) &&
	   back.identity == token.identity && back.database == token.database &&
	   back.server == token.server && back.user == token.user &&
	   back.remote_xid == token.remote_xid &&
	   back.start_time == token.start_time && back.system == token.system,
	   "a one-phase token comes back", "");
	ok(!gid_parse(buffer, &gid), "a one-phase token is no gid", "");
	ok(!one_phase_token_parse(SAMPLE_TEXT, &back), "a gid is no one-phase token",
	   "");
	buffer[strlen(buffer) - 1] = 'x';
	ok(!one_phase_token_parse(buffer, &back), "a damaged token is refused", "");
}

int
main(void)
{
	test_format();
	test_round_trip();
	test_hostile();
	test_mutations();
	test_ours();
	test_one_phase();
	printf("1..%d\n", ntests);
	return nfailures == 0 ? 0 : 1;
}
