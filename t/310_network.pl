
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# What the network does: connections cut, reset and silent, at every stage.
# Nothing waits without a limit (H), and the client is told the truth (I).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;
use Time::HiRes qw(time);

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	conf => {
		'shard_fdw.commit_timeout' => '3s',
		'shard_fdw.connect_timeout' => '2s',
	});
$cluster->create_accounts;
my $relay = $cluster->relay;
my $key = $cluster->id(0);
my $by_key = "SELECT balance FROM accounts WHERE id = $key";
my $update = "UPDATE accounts SET balance = balance WHERE id = $key";

# Runs a statement and tells how long it took.
sub timed
{
	my ($session, $sql) = @_;
	my $start = time();
	my $answer = $session->query($sql, 60);
	return ($answer, time() - $start);
}

# ---- connecting ----

foreach my $stage (qw(connect startup))
{
	foreach my $action (qw(cut reset blackhole))
	{
		my $name = "$action at $stage";
		my $rule = $relay->rule(
			route => 'shard_0',
			on => $stage,
			action => $action,
			times => 0);
		my $session = $cluster->session;
		my ($answer, $took) = timed($session, $by_key);
		is($answer->sqlstate, '08001', "$name: 08001")
		  or diag $answer->describe;
		cmp_ok($took, '<', 4, "$name: within connect_timeout");
		cmp_ok($took, '>', 1.5, "$name: not before it")
		  if $action eq 'blackhole';
		$relay->clear;
		is($session->query($by_key)->sqlstate,
			'00000', "$name: the session works when the network does");
		$session->close;
		$relay->cut;
	}
}

my $rule = $relay->rule(
	on => 'startup',
	side => 'answer',
	until => 'first',
	action => 'hold');
my $session = $cluster->session;
$session->send($by_key);
ok($rule->wait_fired(10), 'the answer to the startup packet is held');
my $start = time();
$session->cancel;
is($session->finish(10)->sqlstate, '57014', 'cancel while connecting');
cmp_ok(time() - $start, '<', 1, 'within 1 s');
$relay->clear;
$relay->cut;

# the option of the server wins over the setting
$cluster->sql("ALTER SERVER shard_0 OPTIONS (ADD connect_timeout '4')");
$relay->partition('shard_0');
$session = $cluster->session;
my ($answer, $took) = timed($session, $by_key);
is($answer->sqlstate, '08001', 'connect_timeout of the server: 08001');
cmp_ok($took, '>', 3, 'not before it');
cmp_ok($took, '<', 6, 'and not much later');
$relay->heal('shard_0');
$session->close;

# more seconds than an int has milliseconds: these would wrap around to 8 ms
$cluster->sql("ALTER SERVER shard_0 OPTIONS (SET connect_timeout '115964117')");
$relay->partition('shard_0');
$session = $cluster->session;
$session->safe("SET statement_timeout = '300ms'");
is($session->query($by_key)->sqlstate,
	'57014', 'a very long connect_timeout: not over at once');
$session->close;
$relay->heal('shard_0');
$cluster->sql('ALTER SERVER shard_0 OPTIONS (DROP connect_timeout)');

# ---- during a query ----

foreach my $how ('cancel', 'statement_timeout')
{
	foreach my $n (0, 1)
	{
		$cluster->shard_sql($n,
			'CREATE OR REPLACE VIEW slow AS SELECT 1 AS n'
			  . ' FROM pg_sleep(30)');
	}
	$cluster->sql('CREATE FOREIGN TABLE IF NOT EXISTS slow (n int)'
		  . " SERVER shard_0 OPTIONS (table_name 'slow')");

	# the shard answers, but not soon
	my $name = "$how, slow shard";
	$session = $cluster->session;
	$session->safe($by_key);
	$session->safe("SET statement_timeout = '500ms'")
	  if $how eq 'statement_timeout';
	$session->send('SELECT * FROM slow');
	my $busy = "SELECT count(*) FROM pg_stat_activity"
	  . " WHERE state = 'active' AND query LIKE '%slow%'"
	  . " AND pid <> pg_backend_pid()";
	ok($cluster->wait_until(sub { $cluster->shard_sql(0, $busy) }, 10),
		"$name: the shard works");
	$start = time();
	$session->cancel if $how eq 'cancel';
	$answer = $session->finish(10);
	is($answer->sqlstate, '57014', "$name: 57014");
	cmp_ok(time() - $start, '<', 1.5, "$name: within its limit");
	ok( $cluster->wait_until(
			sub { !$cluster->shard_sql(0, $busy) }, 5),
		"$name: the shard has stopped working");
	is($session->query($by_key)->sqlstate,
		'00000', "$name: the session goes on");

	# the shard is not heard of any more
	$name = "$how, silent network";
	$rule = $relay->rule(
		route => 'shard_0',
		match => 'slow',
		action => 'blackhole');
	$session->send('SELECT * FROM slow');
	ok($rule->wait_fired(10), "$name: the statement is lost");
	$relay->partition('shard_0');
	$start = time();
	$session->cancel if $how eq 'cancel';
	$answer = $session->finish(30);
	is($answer->sqlstate, '57014', "$name: 57014");
	cmp_ok(time() - $start, '<', 1.5, "$name: within its limit");
	$relay->clear;
	$relay->heal('shard_0');
	is($session->query($by_key)->sqlstate,
		'00000', "$name: the session goes on");
	$session->close;
}

foreach my $action (qw(cut reset))
{
	foreach my $side (qw(request answer))
	{
		my $name = "$action of a query's $side";
		$session = $cluster->session;
		$session->safe('BEGIN');
		$session->safe($update);
		$rule = $relay->rule(
			route => 'shard_0',
			match => '^SELECT.*accounts',
			side => $side,
			action => $action);
		$answer = $session->query($by_key);
		is($rule->fired, 1, "$name: done");
		like($answer->sqlstate, qr/^080(06|03|00)$/,
			"$name: an error of class 08") or diag $answer->describe;
		$relay->clear;
		is($session->query($by_key)->sqlstate,
			'25P02', "$name: the transaction has failed");
		is($session->query('ROLLBACK')->sqlstate,
			'00000', "$name: ROLLBACK works");
		is($session->query($by_key)->sqlstate,
			'00000', "$name: the session goes on");
		$session->close;
	}
}

# A connection lost while nobody used it is replaced silently.
$session = $cluster->session;
$session->safe('SELECT sum(balance) FROM accounts');
$relay->cut;
is($session->query('SELECT sum(balance) FROM accounts')->text,
	2000, 'idle connections lost: a read goes on');
$relay->reset;
$answer = $session->query($update);
is($answer->sqlstate, '00000', 'idle connections lost: a write goes on')
  or diag $answer->describe;

# ---- one-phase COMMIT: the answer may be lost ----

# The token to ask with, from the error.
sub token_of
{
	my ($answer) = @_;
	my $text = $answer->hint . "\n" . $answer->detail;
	return $1 if $text =~ /transaction_status\('([^']+)'\)/;
	return $1 if $text =~ /"([^"]+)"/;
	return '';
}

my $amount = 100;
foreach my $side (qw(request answer))
{
	foreach my $action (qw(cut reset blackhole))
	{
		my $name = "$action of a one-phase COMMIT's $side";
		$amount++;
		$session = $cluster->session;
		$session->safe($by_key);
		$session->safe('BEGIN');
		$session->safe(
			"UPDATE accounts SET balance = $amount WHERE id = $key");
		$rule = $relay->rule(
			route => 'shard_0',
			match => '^COMMIT',
			side => $side,
			action => $action);
		($answer, $took) = timed($session, 'COMMIT');
		is($rule->fired, 1, "$name: done");
		is($answer->sqlstate, '08007', "$name: the outcome is not known")
		  or diag $answer->describe;
		cmp_ok($took, '<', 8, "$name: within commit_timeout");
		my $token = token_of($answer);
		isnt($token, '', "$name: there is a token")
		  or diag $answer->describe;

		# what really happened, once the shard's backend is through with it
		$relay->clear;
		my $before =
		  $cluster->sql("SELECT shard_fdw.transaction_status('$token')");
		$relay->cut;
		$relay->heal;
		my $status;
		$cluster->wait_until(
			sub {
				$status = $cluster->sql(
					"SELECT shard_fdw.transaction_status('$token')");
				$status =~ /^(committed|aborted)$/;
			},
			10);
		my $balance = $cluster->balances->{$key};
		is( $status,
			$balance == $amount ? 'committed' : 'aborted',
			"$name: transaction_status tells the truth");
		is( $status,
			$side eq 'answer' ? 'committed' : 'aborted',
			"$name: $status");
		like($before, qr/^($status|in progress|unknown)$/,
			"$name: and told nothing else before ($before)");
		is( $cluster->sql(
				"SELECT shard_fdw.transaction_status('$token')"),
			$status,
			"$name: the answer is stable");
		$session->close;
	}
}
$cluster->sql("UPDATE accounts SET balance = 100 WHERE id = $key");
is($cluster->sql("SELECT shard_fdw.transaction_status('nonsense')"),
	'unknown', 'nobody knows a token that nobody gave')
  if eval {
	$cluster->sql("SELECT shard_fdw.transaction_status('nonsense')");
	1;
  };

# ---- two-phase commit on a silent network ----

foreach my $case (
	[ 'PREPARE', '^PREPARE TRANSACTION', 'request', 'none' ],
	[ 'answer to PREPARE', '^PREPARE TRANSACTION', 'answer', 'none' ],
	[ 'COMMIT PREPARED', '^COMMIT PREPARED', 'request', 'all' ],
	[ 'answer to COMMIT PREPARED', '^COMMIT PREPARED', 'answer', 'all' ])
{
	my ($what, $match, $side, $outcome) = @$case;
	foreach my $action (qw(cut blackhole))
	{
		my $name = "$action of the $what";
		$session = $cluster->session;
		my $transfer = $cluster->transfer(0, 1, 10);
		$rule = $relay->rule(
			route => 'shard_1',
			match => $match,
			side => $side,
			action => $action);
		$session->safe($_) foreach $transfer->statements;
		($answer, $took) = timed($session, 'COMMIT');
		is($rule->fired, 1, "$name: done");
		cmp_ok($took, '<', 10, "$name: answered within the limit");
		if ($outcome eq 'all')
		{
			is($answer->sqlstate, '00000', "$name: success");
		}
		else
		{
			like($answer->sqlstate, qr/^(080..|57014)$/, "$name: an error")
			  or diag $answer->describe;
		}
		$relay->clear;
		$relay->heal;
		$cluster->settled_ok(10, $name);
		is($transfer->outcome, $outcome, "$name: $outcome");
		$session->close;
	}
}

# PREPARE can be cancelled while its answer does not come.
$session = $cluster->session;
my $transfer = $cluster->transfer(0, 1, 10);
$rule = $relay->rule(
	match => '^PREPARE TRANSACTION',
	side => 'answer',
	action => 'blackhole',
	times => 0);
$session->safe($_) foreach $transfer->statements;
$session->send('COMMIT');
ok($rule->wait_fired(10, 2), 'prepared, answers lost');
$start = time();
$session->cancel;
$answer = $session->finish(20);
is($answer->sqlstate, '57014', 'cancel during PREPARE');
cmp_ok(time() - $start, '<', 1, 'within 1 s');
$relay->clear;
$relay->heal;
$cluster->settled_ok(10, 'cancel during PREPARE');
is($transfer->outcome, 'none', 'nothing is kept');

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
