
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The user's own PREPARE TRANSACTION: the branches on the shards follow the
# fate of the local prepared transaction.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2);
$cluster->create_accounts(deferred => [1]);

# Runs a transfer up to its PREPARE TRANSACTION.
sub prepare_transfer
{
	my ($gid) = @_;
	my $transfer = $cluster->transfer(0, 1, 10);
	my $session = $cluster->session;

	$session->safe($_)
	  foreach $transfer->statements, "PREPARE TRANSACTION '$gid'";
	$session->close;
	return $transfer;
}

# Recovery must leave alone what the user has not decided yet.
sub still_prepared_ok
{
	my ($name) = @_;
	$cluster->sql('SELECT count(*) FROM shard_fdw.resolve()') foreach 1 .. 2;
	my @prepared = $cluster->prepared;
	is(scalar(@prepared), 2, "$name: both branches wait")
	  or diag join("\n", @prepared);
	return;
}

foreach my $decision (qw(COMMIT ROLLBACK))
{
	my $expected = $decision eq 'COMMIT' ? 'all' : 'none';

	my $transfer = prepare_transfer('u1');
	still_prepared_ok($decision);
	is($transfer->outcome, 'none', "$decision: not visible yet");
	$cluster->sql("$decision PREPARED 'u1'");
	$cluster->settled_ok(10, $decision);
	is($transfer->outcome, $expected, "$decision: $expected");

	# the same over a crash of the coordinator, and of everything
	$transfer = prepare_transfer('u2');
	$cluster->kill_coordinator;
	$cluster->restart_coordinator;
	still_prepared_ok("$decision after a crash");
	if ($decision eq 'ROLLBACK')
	{
		$cluster->kill_shard(1);
		$cluster->restart_shard(1);
		still_prepared_ok('shard restarted, too');
	}
	$cluster->sql("$decision PREPARED 'u2'");
	$cluster->settled_ok(10, "$decision after a crash");
	is($transfer->outcome, $expected, "$decision after a crash: $expected");

	# the decision, and then the crash
	$transfer = prepare_transfer('u3');
	$cluster->sql("$decision PREPARED 'u3'");
	$cluster->kill_coordinator;
	$cluster->restart_coordinator;
	$cluster->settled_ok(10, "$decision before a crash");
	is($transfer->outcome, $expected, "$decision before a crash: $expected");
}

# A shard that refuses makes PREPARE TRANSACTION fail.
my $transfer = $cluster->transfer(1, 0, 1000);
my $session = $cluster->session;
$session->safe($_) foreach $transfer->statements;
my $answer = $session->query("PREPARE TRANSACTION 'u4'");
is($answer->sqlstate, '23514', 'a shard refuses to prepare');
is($cluster->sql('SELECT count(*) FROM pg_prepared_xacts'),
	0, 'nothing is prepared here');
is($transfer->outcome, 'none', 'nor kept');
$cluster->settled_ok(10, 'refusal');

# PREPARE TRANSACTION that fails locally, after the shards were prepared.
prepare_transfer('taken');
$transfer = $cluster->transfer(0, 1, 10, 'accounts');
$session->safe($_)
  foreach 'BEGIN',
  'UPDATE accounts SET balance = 0 WHERE id = ' . $cluster->id(0, 3),
  'UPDATE accounts SET balance = 0 WHERE id = ' . $cluster->id(1, 3);
$answer = $session->query("PREPARE TRANSACTION 'taken'");
is($answer->sqlstate, '42710', 'the name is taken');
$cluster->wait_until(sub { $cluster->prepared == 2 }, 10);
is(scalar($cluster->prepared), 2, 'only the first one is left prepared');
$cluster->sql("ROLLBACK PREPARED 'taken'");
$cluster->settled_ok(10, 'name taken');

# One shard: two-phase all the same.
$session->safe($_)
  foreach 'BEGIN',
  'UPDATE accounts SET balance = 90 WHERE id = ' . $cluster->id(0, 5),
  "PREPARE TRANSACTION 'u5'";
is(scalar($cluster->prepared), 1, 'one shard: its branch is prepared');
$cluster->sql("COMMIT PREPARED 'u5'");
$cluster->settled_ok(10, 'one shard');
is( $cluster->shard_sql(
		0, 'SELECT balance FROM accounts WHERE id = ' . $cluster->id(0, 5)),
	90,
	'one shard: committed');
$cluster->sql('UPDATE accounts SET balance = 100 WHERE id = '
	  . $cluster->id(0, 5));

# Readers only: nothing to prepare on the shards.
$session->safe($_)
  foreach 'BEGIN', 'SELECT sum(balance) FROM accounts',
  "PREPARE TRANSACTION 'u6'";
is(scalar($cluster->prepared), 0, 'a reader is not prepared');
$cluster->sql("COMMIT PREPARED 'u6'");

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
