
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Recovery while a transaction commits (C), two recoveries at once (F), a
# branch that is gone (D), and a shard that says ROLLBACK to PREPARE.  Each of
# these is held at the moment at which a mistake would show; tools/mutants
# makes the mistakes.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2, relay => 1);
$cluster->create_accounts;
my $relay = $cluster->relay;
my $resolve = 'SELECT sum(committed), sum(rolled_back), sum(waiting),'
  . ' sum(failed), sum(lost) FROM shard_fdw.resolve()';

# Starts a transfer; its COMMIT stands where the rule holds it.
sub start_commit
{
	my ($rule, $held) = @_;
	my $session = $cluster->session;
	my $transfer = $cluster->transfer(0, 1, 10);

	$session->safe($_) foreach $transfer->statements;
	$session->send('COMMIT');
	ok($rule->wait_fired(30, $held), 'the commit is held');
	return ($session, $transfer);
}

# ---- recovery looks while the transaction commits ----

my $prepares = $relay->rule(
	match => '^PREPARE TRANSACTION',
	side => 'answer',
	action => 'hold',
	times => 2);
my ($session, $transfer) = start_commit($prepares, 2);
is($cluster->sql($resolve), '0|0|2|0|0',
	'prepared, not decided: recovery leaves both branches alone');

my $lists = $relay->rule(
	match => 'FROM pg_catalog.pg_prepared_xacts',
	side => 'answer',
	action => 'hold',
	times => 2);
my $recovery = $cluster->session;
$recovery->send($resolve);
ok($lists->wait_fired(30, 2), 'recovery has listed both branches');

# Two at once: the second must not get in.
is( $cluster->shard_sql(0,
		"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
		  . " AND mode = 'ExclusiveLock'"),
	1,
	'it holds a lock on the shard');
is( $cluster->sql('SELECT complete, error FROM'
		  . " shard_fdw.resolve('shard_0')"),
	'f|another recovery of this coordinator is at work on the server',
	'another one waits outside');

# The transaction commits between the list and what recovery looks at next, and
# leaves the rest to recovery.
my $commits = $relay->rule(
	match => '^COMMIT PREPARED',
	action => 'hold',
	times => 2);
$prepares->release;
ok($commits->wait_fired(30, 2), 'the transaction is decided');
$commits->discard;
is($session->finish(30)->sqlstate, '00000', 'its client is told so');
$lists->release;
is($recovery->finish(30)->text,
	'2|0|0|0|0', 'recovery commits what it saw prepared');
is($transfer->outcome, 'all', 'the transfer happened');
$relay->clear;
$cluster->settled_ok(10, 'recovery during a commit');

# ---- a branch that is gone although the transaction committed ----

$commits = $relay->rule(
	route => 'shard_1',
	match => '^COMMIT PREPARED',
	action => 'hold',
	times => 1);
($session, $transfer) = start_commit($commits, 1);
my ($gid) = $cluster->prepared_on(1);
$cluster->shard_sql(1, "ROLLBACK PREPARED '$gid'");
$commits->discard;
$relay->clear;
is($session->finish(30)->sqlstate, '00000', 'gone: the client is told success');
$cluster->wait_until(
	sub { $cluster->sql($resolve) =~ /\|1$/ }, 10);
like($cluster->sql($resolve), qr/\|1$/, 'gone: reported as lost');
is($cluster->log_rows, 1, 'gone: the row is kept');
is(join(',', map { "$_->{server} $_->{state}" } $cluster->in_doubt),
	'shard_1 lost', 'gone: in_doubt says so');
$cluster->sql('DELETE FROM shard_fdw.commit_log');
$cluster->shard_sql(1, 'UPDATE accounts SET balance = balance + 10'
	  . " WHERE id = $transfer->{to}");
$cluster->settled_ok(10, 'gone');

# ---- success with the tag ROLLBACK ----

foreach my $shard (0, 1)
{
	my $name = "shard $shard says ROLLBACK";
	my $rule = $relay->rule(
		route => "shard_$shard",
		on => 'parse',
		match => '^PREPARE TRANSACTION',
		action => 'replace',
		with => 'ROLLBACK');
	$session = $cluster->session;
	$transfer = $cluster->transfer(0, 1, 10);
	$session->safe($_) foreach $transfer->statements;
	my $answer = $session->query('COMMIT', 60);
	is($rule->fired, 1, "$name: to PREPARE TRANSACTION");
	is($answer->sqlstate, '25P02', "$name: an error") or diag $answer->describe;
	is($transfer->outcome, 'none', "$name: nothing is kept");
	$relay->clear;
	$cluster->settled_ok(10, $name);
	$session->close;
}

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
