/*-------------------------------------------------------------------------
 *
 * test_decision.c
 *	  The full product of the decisions' inputs against tables of rules that
 *	  were written from the protocol, not from the code.
 *
 * A rule says for each fact yes, no or either ('1', '0', '-'), and what must
 * come out.  For each combination of facts exactly one rule must hold, so a
 * gap or a contradiction in the tables is a failure too.  Prints TAP.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#undef printf

#include "txn/decision.h"

typedef struct Rule
{
	const char *facts;			/* one character a fact */
	int			outcome;
	const char *reason;
} Rule;

static int	ntests = 0;
static int	nfailures = 0;

static void
ok(bool is_right, const char *facts, const char *reason)
{
	ntests++;
	if (!is_right)
		nfailures++;
	printf("%sok %d - %s %s\n", is_right ? "" : "not ", ntests, facts, reason);
}

static bool
rule_holds(const Rule *rule, const char *facts)
{
	int			fact;

	for (fact = 0; facts[fact] != '\0'; fact++)
	{
		if (rule->facts[fact] != '-' && rule->facts[fact] != facts[fact])
			return false;
	}
	return rule->facts[fact] == '\0';
}

/* the one rule for these facts; NULL when there is none or more than one */
static const Rule *
find_rule(const Rule *rules, int nrules, const char *facts)
{
	const Rule *found = NULL;
	int			rule;

	for (rule = 0; rule < nrules; rule++)
	{
		if (!rule_holds(&rules[rule], facts))
			continue;
		if (found)
			return NULL;
		found = &rules[rule];
	}
	return found;
}

static void
check(const Rule *rules, int nrules, const char *facts, int outcome)
{
	const Rule *rule = find_rule(rules, nrules, facts);

	ok(rule && rule->outcome == outcome, facts,
	   rule ? rule->reason : "no rule, or more than one");
}

/*
 * prepared, incarnation alive, running, logged, safe, remote committed,
 * remote known, remote in progress, remote is another server, its history has
 * branched
 */
static const Rule branch_rules[] = {
	{"--1-------", BRANCH_ACTION_WAIT, "C: never act against a live transaction"},
	{"110-------", BRANCH_ACTION_WAIT, "F: nor against another incarnation's"},
	{"1000------", BRANCH_ACTION_ROLLBACK, "A: ended and not logged is aborted"},
	{"10010-----", BRANCH_ACTION_WAIT, "B: a standby may still lose the decision"},
	{"10011-----", BRANCH_ACTION_COMMIT, "A: logged is committed"},
	{"0-00------", BRANCH_ACTION_FORGET, "nothing there and nothing owed"},
	{"0-01--0---", BRANCH_ACTION_ASK, "D: gone is not yet past"},
	{"0-01--1-1-", BRANCH_ACTION_WAIT, "D: another server knows nothing of it"},
	{"0-01-11-00", BRANCH_ACTION_FORGET, "D: gone, and the shard says committed"},
	{"0-01-11-01", BRANCH_ACTION_LOST, "D: another one may have got its xid"},
	{"0-01-0100-", BRANCH_ACTION_LOST, "D: gone, and the shard did not commit"},
	{"0-01-0110-", BRANCH_ACTION_WAIT, "D: the shard has not ended it yet"}
};

static void
test_branch_action(void)
{
	int			combination;

	for (combination = 0; combination < 1024; combination++)
	{
		char text[	11];
		int			fact;
		BranchFacts facts;

		for (fact = 0; fact < 10; fact++)
			text[		fact] = (combination & (1 << fact)) ? '1' : '0';
		text[		10] = '\0';
		facts.is_prepared = text[0] == '1';
		facts.is_incarnation_alive = text[1] == '1';
		facts.is_running = text[2] == '1';
		facts.is_logged = text[3] == '1';
		facts.is_decision_safe = text[4] == '1';
		facts.is_remote_committed = text[5] == '1';
		facts.is_remote_known = text[6] == '1';
		facts.is_remote_in_progress = text[7] == '1';
		facts.is_remote_other_server = text[8] == '1';
		facts.is_remote_branched = text[9] == '1';

		check(branch_rules, lengthof(branch_rules), text,
			  decision_branch_action(&facts));
	}
}

/*
 * writers 0, 1, 2, 9; local writes, notifications, serializable, user's
 * prepare, enabled
 */
static const Rule commit_rules[] = {
	{"0-----", COMMIT_METHOD_NONE, "nobody wrote"},
	{"1---1-", COMMIT_METHOD_TWO_PHASE, "PREPARE TRANSACTION"},
	{"2---1-", COMMIT_METHOD_TWO_PHASE, "PREPARE TRANSACTION"},
	{"9---1-", COMMIT_METHOD_TWO_PHASE, "PREPARE TRANSACTION"},
	{"1---00", COMMIT_METHOD_ONE_PHASE, "switched off"},
	{"2---00", COMMIT_METHOD_ONE_PHASE, "switched off"},
	{"9---00", COMMIT_METHOD_ONE_PHASE, "switched off"},
	{"100001", COMMIT_METHOD_ONE_PHASE, "one shard and nothing else"},
	{"11--01", COMMIT_METHOD_TWO_PHASE, "one shard and local writes"},
	{"101-01", COMMIT_METHOD_TWO_PHASE, "sending notifications may fail late"},
	{"100101", COMMIT_METHOD_TWO_PHASE, "the local commit may fail late"},
	{"2---01", COMMIT_METHOD_TWO_PHASE, "several shards"},
	{"9---01", COMMIT_METHOD_TWO_PHASE, "several shards"}
};

static void
test_commit_method(void)
{
	static const char writers[] = "0129";
	int			combination;

	for (combination = 0; combination < 128; combination++)
	{
		char text[	7];
		int			fact;
		CommitFacts facts;

		text[		0] = writers[combination & 3];

		for (fact = 0; fact < 5; fact++)
			text[		1 + fact] = (combination & (4 << fact)) ? '1' : '0';
		text[		6] = '\0';
		facts.writers = text[0] - '0';
		facts.has_local_writes = text[1] == '1';
		facts.has_notifications = text[2] == '1';
		facts.is_serializable = text[3] == '1';
		facts.is_user_prepare = text[4] == '1';
		facts.is_two_phase_enabled = text[5] == '1';

		check(commit_rules, lengthof(commit_rules), text,
			  decision_commit_method(&facts));
	}
}

int
main(void)
{
	test_branch_action();
	test_commit_method();
	printf("1..%d\n", ntests);
	return nfailures == 0 ? 0 : 1;
}
