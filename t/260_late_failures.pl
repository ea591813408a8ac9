
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# A commit that fails late or in an odd way: after everything was prepared,
# while notifications are sent, before the shard has carried out what it was
# sent, without disk or memory.  Success means committed and an error aborted,
# on every shard (I), and nothing is left behind.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use ShardFaults;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	streaming => 1,
	conf => {
		'shard_fdw.commit_timeout' => '2s',
		'shard_fdw.response_timeout' => '1s',
	});
$cluster->create_accounts;
my $relay = $cluster->relay;

sub set_standby
{
	my ($name) = @_;
	$cluster->sql("ALTER SYSTEM SET synchronous_standby_names = '$name'");
	$cluster->sql('SELECT pg_reload_conf()');
	return;
}

sub waits_for_ok
{
	my ($session, $event, $name) = @_;
	my $pid = $session->pid;

	return ok(
		$cluster->wait_until(
			sub {
				$cluster->sql('SELECT count(*) FROM pg_stat_activity WHERE'
					  . " pid = $pid AND wait_event = '$event'");
			},
			30),
		$name);
}

# ---- notifications ----

# Somebody has the lock of the queue, while a standby keeps it waiting.
$cluster->sql('CREATE TABLE note (n int)');

sub lock_queue
{
	my ($name) = @_;

	set_standby('nowhere');
	foreach my $try (1 .. 100)
	{
		my $holder = $cluster->session;
		$holder->safe($_) foreach 'BEGIN', 'INSERT INTO note VALUES (1)',
		  'NOTIFY other';
		$holder->send('COMMIT');
		if (!$holder->is_done(0.2))
		{
			waits_for_ok($holder, 'SyncRep', "$name: the queue is locked");
			return $holder;
		}

		# the new setting has not reached everybody
		$holder->close;
	}
	BAIL_OUT('COMMIT does not wait for the standby');
	return;
}

foreach my $notify ('NOTIFY channel', "SELECT pg_notify('channel', '')")
{
	my $holder = lock_queue($notify);
	my $id = $cluster->id(0);
	my $before = $cluster->balances->{$id};
	my $session = $cluster->session;
	my $pid = $session->pid;
	$session->safe($_) foreach 'BEGIN', $notify,
	  "UPDATE accounts SET balance = balance + 1 WHERE id = $id";
	$session->send('COMMIT');
	waits_for_ok($session, 'object', "$notify: COMMIT waits for it");
	$cluster->sql("SELECT pg_cancel_backend($pid)");
	is($session->finish(30)->sqlstate, '57014', "$notify: an error");
	set_standby('');
	ok($holder->finish(30)->is_ok, "$notify: the other one goes on");
	$cluster->settled_ok(10, $notify);
	is($cluster->balances->{$id}, $before, "$notify: means aborted");

	# and if nothing comes in between
	$session->safe($_) foreach 'BEGIN', $notify,
	  "UPDATE accounts SET balance = balance + 1 WHERE id = $id", 'COMMIT';
	is($cluster->balances->{$id}, $before + 1, "$notify: success");
	$cluster->settled_ok(10, "$notify, success");
	$cluster->sql("UPDATE accounts SET balance = $before WHERE id = $id");
	$session->close;
	$holder->close;
}

# ---- an error before the command is carried out ----

foreach my $command ('PREPARE TRANSACTION', 'COMMIT')
{
	my $name = "$command fails and leaves the block";
	my @shards = $command eq 'COMMIT' ? (0) : (0, 1);
	my $before = $cluster->balances;
	my $session = $cluster->session;
	$relay->rule(
		route => 'shard_0',
		on => 'parse',
		match => "^$command",
		action => 'replace',
		with => 'SELECT 1/0');
	$session->safe($_) foreach 'BEGIN',
	  map { 'UPDATE accounts SET balance = balance + 1 WHERE id = '
		  . $cluster->id($_) } @shards;
	is($session->query('COMMIT')->sqlstate, '22012', "$name: an error");
	is_deeply($cluster->balances, $before, "$name: aborted");
	is( $cluster->shard_sql(0,
			"SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle'"
			  . " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"),
		0,
		"$name: no block stays open");
	ok( $session->query('UPDATE accounts SET balance = balance + 0')->is_ok,
		"$name: the session goes on");
	$session->close;
	$cluster->settled_ok(10, $name);
}

# ---- an answer that does not get away ----

{
	my $name = 'a shard that cannot send';
	my $session = $cluster->session;
	$session->safe('SELECT count(*) FROM accounts');
	$cluster->shard_sql(0,
		"CREATE VIEW wide AS SELECT g AS id, repeat('x', 1000) AS t"
		  . ' FROM generate_series(1, 100000) g');
	$cluster->sql('CREATE FOREIGN TABLE wide (id int, t text) SERVER shard_0');
	my $rule = $relay->rule(
		route => 'shard_0',
		match => '^SELECT.*wide',
		side => 'answer',
		until => 'first',
		action => 'blackhole');
	$session->send('SELECT id, t FROM wide');
	ok($rule->wait_fired(10), "$name: the answer is on its way");
	ok( $cluster->wait_until(
			sub {
				$cluster->shard_sql(0, 'SELECT count(*) FROM pg_stat_activity'
					  . " WHERE wait_event = 'ClientWrite'");
			},
			10),
		"$name: and stands still");
	ok($session->is_done(60), "$name: it is not waited for");
	is(scalar(@{ $session->finish(60)->{rows} }),
		100000, "$name: it is asked again on a new connection");
	$relay->clear;
	$relay->heal;
	$session->close;
}

# ---- no disk ----

# Takes a resource from a process of the coordinator.
sub limit
{
	my ($session, $what, $value) = @_;
	my $pid = $session->pid;

	return system('prlimit', '--pid', $pid, "--$what=$value:$value") == 0;
}

sub memory_of
{
	my ($session) = @_;
	my $pid = $session->pid;
	my ($kb) = slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m;

	return $kb * 1024;
}

sub start_transfer
{
	my $session = $cluster->session;
	my $transfer = $cluster->transfer(0, 1, 10);

	$session->safe($_) foreach $transfer->statements;
	return ($session, $transfer);
}

SKIP:
{
	skip 'there is no prlimit', 1
	  unless grep { -x "$_/prlimit" } split(/:/, $ENV{PATH});

	# The log has no page, and there is no room for one.
	my $name = 'no room for the log row';
	my ($session, $transfer) = start_transfer();
	$cluster->sql('TRUNCATE shard_fdw.commit_log');
	ok(limit($session, 'fsize', 0), "$name: files cannot grow");
	my $answer = $session->query('COMMIT', 30);
	like($answer->message, qr/could not extend file/, "$name: an error")
	  or diag $answer->describe;
	$session->close;
	$cluster->settled_ok(10, $name);
	is($transfer->outcome, 'none', "$name: aborted");

	# There is room for the row, and none for the commit record.
	$name = 'no room for the commit record';
	($session, $transfer) = start_transfer();
	$session->safe('COMMIT');
	($session, $transfer) = start_transfer();
	limit($session, 'fsize', 0);
	$session->query('COMMIT', 60);
	$session->close;
	$cluster->wait_for_server($cluster->coordinator);
	$cluster->settled_ok(20, $name);
	like($transfer->outcome, qr/^(all|none)$/, "$name: " . $transfer->outcome);

	# No memory, from a step of the commit on.
	foreach my $step (ShardFaults::steps())
	{
		$name = "no memory, $step->{name}";
		my $stopped = ShardFaults->reach($cluster, $step);
		limit($stopped->session, 'as', memory_of($stopped->session));
		$stopped->let_go;
		$stopped->judge($name, 'told');
		$stopped->session->close;
	}
}

$cluster->assert_atomic('in the end');
# without room for the commit record the server has to crash
$cluster->logs_clean_ok(undef, qr/terminated by signal 6|PANIC:.*could not write/);
$cluster->stop;
done_testing;
