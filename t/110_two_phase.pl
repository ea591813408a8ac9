
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Which commit is used when (DESIGN 6.1), and that a transaction over several
# shards is kept on all of them or on none.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2, relay => 1);
$cluster->create_accounts(deferred => [ 0, 1 ]);
$cluster->sql('CREATE TABLE local_note (n int)');
my $relay = $cluster->relay;
my $session = $cluster->session;

# The kinds of commit that the shards saw since the last call.
sub commits_seen
{
	my %seen;
	foreach my $line ($relay->transcript)
	{
		next unless $line->{direction} eq '>';
		next unless $line->{kind} =~ /^(query|bind)$/;
		next
		  unless $line->{text} =~
		  /^\s*(PREPARE TRANSACTION|(?:COMMIT|ROLLBACK)(?: PREPARED)?)/;
		$seen{ $line->{route} }{$1}++;
	}
	$relay->forget;
	return join(
		'; ',
		map {
			my $of = $seen{$_};
			"$_: " . join(', ', map { "$of->{$_} $_" } sort keys %$of)
		} sort keys %seen);
}

# A transfer is atomic and uses two phases.
my $transfer = $cluster->transfer(0, 1, 10);
$session->safe($_) foreach $transfer->statements, 'COMMIT';
is($transfer->outcome, 'all', 'the transfer happened');
is( commits_seen(),
	'shard_0: 1 COMMIT PREPARED, 1 PREPARE TRANSACTION; '
	  . 'shard_1: 1 COMMIT PREPARED, 1 PREPARE TRANSACTION',
	'two shards wrote: two-phase');
$cluster->settled_ok(10, 'transfer');
$relay->forget;

$transfer = $cluster->transfer(0, 1, 10);
$session->safe($_) foreach $transfer->statements, 'ROLLBACK';
is($transfer->outcome, 'none', 'ROLLBACK undoes it');
unlike(commits_seen(), qr/PREPARE/, 'and prepares nothing');

# One shard alone refuses at COMMIT, the other one alone, in either order.
foreach my $refusing (0, 1)
{
	foreach my $first ($refusing, 1 - $refusing)
	{
		my $name = "shard $refusing refuses, shard $first is written first";
		my $amount = 1000;
		my $other = 1 - $refusing;
		my %update = (
			$refusing => "UPDATE accounts SET balance = balance - $amount"
			  . " WHERE id = " . $cluster->id($refusing),
			$other => "UPDATE accounts SET balance = balance + $amount"
			  . " WHERE id = " . $cluster->id($other));
		my $before = $cluster->transfer($refusing, $other, $amount);

		$session->safe('BEGIN');
		$session->safe($update{$first});
		$session->safe($update{ 1 - $first });
		my $answer = $session->query('COMMIT');
		is($answer->sqlstate, '23514', "$name: the client gets the error");
		like($answer->message, qr/is negative/, "$name: and its text");
		is($before->outcome, 'none', "$name: nothing is kept");
		is($session->{status}, 'I', "$name: the transaction is over");
	}
}
$cluster->settled_ok(10, 'refusals');
$cluster->assert_atomic('refusals');
$relay->forget;

# One shard, nothing local: one phase.
$session->safe('UPDATE accounts SET balance = balance'
	  . ' WHERE id = ' . $cluster->id(0));
is(commits_seen(), 'shard_0: 1 COMMIT', 'one shard, autocommit: one-phase');
$session->safe($_)
  foreach 'BEGIN',
  'UPDATE accounts SET balance = balance WHERE id = ' . $cluster->id(0),
  'SELECT balance FROM accounts WHERE id = ' . $cluster->id(1),
  'COMMIT';
my $seen = commits_seen();
unlike($seen, qr/PREPARE/, 'one writer and one reader: one-phase');
like($seen, qr/shard_0: 1 COMMIT/, 'the writer commits');

# Its refusal is the transaction's.
my $answer = $session->query('UPDATE accounts SET balance = -1'
	  . ' WHERE id = ' . $cluster->id(0));
is($answer->sqlstate, '23514', 'one shard refuses at its COMMIT');
$cluster->assert_atomic('one shard refused');
$relay->forget;

# One shard and a local write: two phases.
$session->safe($_)
  foreach 'BEGIN', 'INSERT INTO local_note VALUES (1)',
  'UPDATE accounts SET balance = balance WHERE id = ' . $cluster->id(0),
  'COMMIT';
is( commits_seen(),
	'shard_0: 1 COMMIT PREPARED, 1 PREPARE TRANSACTION',
	'one shard and a local write: two-phase');

# An UPDATE that changes no row is no write.
$session->safe('UPDATE accounts SET balance = 0 WHERE id = -1');
$session->safe($_)
  foreach 'BEGIN',
  'UPDATE accounts SET balance = balance WHERE id = ' . $cluster->id(0),
  'UPDATE accounts_1 SET balance = 0 WHERE id = -1', 'COMMIT';
unlike(commits_seen(), qr/PREPARE/,
	'who wrote is what the shard says: one-phase');

# A read that writes on the shard counts.
foreach my $n (0, 1)
{
	$cluster->shard_sql($n, 'CREATE TABLE touched (n int);'
		  . ' CREATE FUNCTION touch() RETURNS int LANGUAGE sql AS'
		  . ' $$INSERT INTO public.touched VALUES (1) RETURNING n$$;'
		  . ' CREATE VIEW touching AS SELECT touch() AS n');
	$cluster->sql("CREATE FOREIGN TABLE touching_$n (n int) SERVER shard_$n"
		  . " OPTIONS (table_name 'touching')");
}
$session->safe($_)
  foreach 'BEGIN', 'SELECT * FROM touching_0', 'SELECT * FROM touching_1',
  'COMMIT';
is( commits_seen(),
	'shard_0: 1 COMMIT PREPARED, 1 PREPARE TRANSACTION; '
	  . 'shard_1: 1 COMMIT PREPARED, 1 PREPARE TRANSACTION',
	'SELECTs that write on their shards: two-phase');
is($cluster->shard_sql($_, 'SELECT count(*) FROM touched'),
	1, "kept on shard $_")
  foreach 0, 1;

# two_phase_commit = off
$session->safe($_)
  foreach 'SET shard_fdw.two_phase_commit = off',
  $cluster->transfer(0, 1, 1)->statements, 'COMMIT',
  'RESET shard_fdw.two_phase_commit';
unlike(commits_seen(), qr/PREPARE/, 'two_phase_commit = off');

# Savepoints.
$transfer = $cluster->transfer(0, 1, 5);
$session->safe($_)
  foreach $transfer->statements, 'SAVEPOINT a',
  'UPDATE accounts SET balance = 0 WHERE id = ' . $cluster->id(0),
  'ROLLBACK TO a', 'COMMIT';
is($transfer->outcome, 'all', 'what a savepoint undid is not there');
$transfer = $cluster->transfer(0, 1, 5);
my @statements = $transfer->statements;
$session->safe($_)
  foreach $statements[0], $statements[1], 'SAVEPOINT a', $statements[2],
  'ROLLBACK TO a', 'COMMIT';
like($transfer->outcome, qr/HALF/,
	'a shard whose only write was undone takes no part');
$session->safe("UPDATE accounts SET balance = balance + 5"
	  . " WHERE id = $transfer->{to}");
$cluster->assert_atomic('savepoints');
$relay->forget;

# Several transactions in a procedure, each atomic.
$cluster->sql('CREATE PROCEDURE move(a int, b int) LANGUAGE plpgsql AS $$'
	  . 'BEGIN FOR i IN 1..3 LOOP'
	  . ' UPDATE accounts SET balance = balance - 1 WHERE id = a;'
	  . ' UPDATE accounts SET balance = balance + 1 WHERE id = b;'
	  . ' COMMIT; END LOOP; END$$');
$transfer = $cluster->transfer(0, 1, 3);
$session->safe("CALL move($transfer->{from}, $transfer->{to})");
is($transfer->outcome, 'all', 'COMMITs in a procedure');

# Late failures of the local commit, after everything has been prepared.
$transfer = $cluster->transfer(0, 1, 3);
my $other = $cluster->session;
$cluster->sql('CREATE TABLE serial (k int, v int);'
	  . ' INSERT INTO serial VALUES (1, 1), (2, 2)');
my $serializable = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
$session->safe($_)
  foreach $serializable,
  ($transfer->statements)[ 1, 2 ],
  'SELECT v FROM serial WHERE k = 1';
$other->safe($_)
  foreach $serializable, 'SELECT v FROM serial WHERE k = 2',
  'UPDATE serial SET v = 5 WHERE k = 1';
$session->safe('UPDATE serial SET v = 6 WHERE k = 2');
$other->safe('COMMIT');
$answer = $session->query('COMMIT');
is($answer->sqlstate, '40001', 'the local commit fails late');
is($transfer->outcome, 'none', 'and undoes what was prepared');
$cluster->settled_ok(10, 'late failure');

# A prepared transaction needs a slot: none at all is said before anything is
# prepared anywhere.
$cluster->shard(1)->append_conf('postgresql.conf',
	'max_prepared_transactions = 0');
$cluster->shard(1)->restart;
$session = $cluster->session;
$relay->forget;
$transfer = $cluster->transfer(0, 1, 10);
$session->safe($_) foreach $transfer->statements;
$answer = $session->query('COMMIT');
isnt($answer->sqlstate, '00000', 'no slots for prepared transactions');
like(
	$answer->hint,
	qr/max_prepared_transactions/,
	'the hint names the setting') or diag $answer->describe;
is( scalar(
		grep {
			     $_->{kind} eq 'CommandComplete'
			  && $_->{text} eq 'PREPARE TRANSACTION'
		} $relay->transcript),
	0,
	'nothing was prepared');
is($transfer->outcome, 'none', 'and nothing is kept');
$answer = $session->query("UPDATE accounts SET balance = balance"
	  . " WHERE id = $transfer->{to}");
is($answer->sqlstate, '00000', 'writing to that shard alone needs none');

# All slots taken: aborts all.
$cluster->shard(1)->append_conf('postgresql.conf',
	'max_prepared_transactions = 1');
$cluster->shard(1)->restart;
$cluster->shard_sql(1,
	"BEGIN; CREATE TABLE blocker (n int); PREPARE TRANSACTION 'blocker'");
$session = $cluster->session;
$transfer = $cluster->transfer(0, 1, 10);
$session->safe($_) foreach $transfer->statements;
$answer = $session->query('COMMIT');
is($answer->sqlstate, '53200', 'all slots are taken')
  or diag $answer->describe;
like(
	$answer->hint,
	qr/max_prepared_transactions/,
	'the hint names the setting');
is($transfer->outcome, 'none', 'nothing is kept');
$cluster->shard_sql(1, "ROLLBACK PREPARED 'blocker'");
$cluster->settled_ok(10, 'slots');

# Invariant B: the decision is on disk before the shards hear of it, even if
# local commits are not flushed.
foreach my $round (1 .. 2)
{
	my $node = $cluster->coordinator;
	if ($round == 1)
	{
		$node->append_conf('postgresql.conf',
			"synchronous_commit = off\nwal_writer_delay = 10s");
		$node->restart;
	}
	$session = $cluster->session;
	$transfer = $cluster->transfer(0, 1, 10);
	$session->safe($_)
	  foreach $transfer->statements,
	  "INSERT INTO local_note VALUES (100 + $round)", 'COMMIT';
	$cluster->kill_coordinator;
	$cluster->restart_coordinator;
	$cluster->settled_ok(10, "synchronous_commit = off, round $round");
	is($transfer->outcome, 'all', "round $round: the shards have it");
	is( $cluster->sql(
			"SELECT count(*) FROM local_note WHERE n = 100 + $round"),
		1,
		"round $round: the coordinator too");
}

# Without preloading, the first two-phase commit has a worker started.
$cluster->coordinator->append_conf('postgresql.conf',
	"shared_preload_libraries = ''");
$cluster->coordinator->restart;
$session = $cluster->session;
$transfer = $cluster->transfer(0, 1, 10);
$session->safe($_) foreach $transfer->statements, 'COMMIT';
is($transfer->outcome, 'all', 'without preloading: the transfer happened');
$cluster->settled_ok(10, 'without preloading');

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
