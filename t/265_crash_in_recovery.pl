
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Recovery that is itself interrupted: the coordinator crashes while it
# recovers from a crash, three deep, at each step of recovery; the worker and
# resolve() are terminated there; a synchronous standby takes over while the
# old primary lives.  Whoever comes last settles everything, as it was decided.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use ShardCluster;
use ShardFaults;
use ShardSession;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	streaming => 1,
	conf => { 'shard_fdw.commit_timeout' => '1s' });
$cluster->create_accounts;
my $relay = $cluster->relay;
my %steps = map { $_->{name} => $_ } ShardFaults::steps();

# What recovery sends, in its order.
my @recovery = (
	{ name => 'lock', match => 'pg_try_advisory_lock' },
	{ name => 'list', match => 'FROM pg_catalog.pg_prepared_xacts' },
	{ name => 'fence', match => 'held AS MATERIALIZED' },
	{ name => 'action', match => '^(COMMIT|ROLLBACK) PREPARED' },
	{ name => 'question', match => 'pg_xact_status' },
	{ name => 'unlock', match => 'pg_advisory_unlock' });

# A transfer that lost its coordinator: decided, with one shard past it, or
# undecided.
sub crash_with
{
	my ($where) = @_;
	my $stopped = ShardFaults->reach($cluster, $steps{$where});

	$cluster->kill_server($cluster->coordinator);
	$stopped->let_go('discard');
	$stopped->session->finish(30);
	return $stopped;
}

sub hold
{
	my ($step, $side) = @_;
	return $relay->rule(
		match => $step->{match},
		side => $side,
		action => 'hold');
}

foreach my $where (
	'decided, COMMIT PREPARED reached one shard',
	'PREPARE took effect, its answers are under way')
{
	my $outcome = $steps{$where}{outcome};

	# three crashes in a row, each while recovery stands at another step
	foreach my $run (
		$outcome eq 'all'
		? ([ 'request', 0, 1, 2 ], [ 'answer', 3, 4, 5 ])
		: ([ 'answer', 0, 1, 2 ], [ 'request', 3, 4, 5 ]))
	{
		my ($side, @three) = @$run;
		my $stopped = crash_with($where);
		my @reached;
		foreach my $step (@recovery[@three])
		{
			my $rule = hold($step, $side);
			$cluster->restart_coordinator;
			$cluster->sql('SELECT 1');
			push @reached, $step->{name} if $rule->wait_fired(3);
			$cluster->kill_server($cluster->coordinator);

			# half of what was held still arrives
			if (@reached % 2) { $rule->discard; }
			else { $rule->release; }
			$relay->clear;
		}
		$cluster->restart_coordinator;
		my $name = "$where, crashes at $side of " . join(', ', @reached);
		$cluster->settled_ok(15, $name);
		is($stopped->transfer->outcome, $outcome, "$name: on $outcome");
	}
}
$cluster->assert_atomic('crashes');

# ---- the worker and resolve() terminated at each step ----

foreach my $step (@recovery)
{
	foreach my $who ('worker', 'resolve()')
	{
		my $name = "$who terminated at $step->{name}";
		$relay->rule(
			route => 'shard_1',
			match => '^COMMIT PREPARED',
			side => $step->{name} eq 'question' ? 'answer' : 'request',
			action => 'cut');
		my $transfer = $cluster->transfer(0, 1, 10);
		my $session = $cluster->session;
		my $rule;
		$session->safe($_) foreach $transfer->statements;
		$rule = hold($step, 'answer') unless $step->{name} eq 'action';
		$session->send('COMMIT');
		if ($step->{name} eq 'action')
		{
			# not that of the session
			$session->is_done(10);
			$rule = hold($step, 'answer');
		}
		ok($session->finish(30)->is_ok, "$name: the client is told success");
		my $other = $cluster->session;
		my $pid = $other->pid;
		if ($who eq 'worker')
		{
			$rule->wait_fired(2);
			$pid = $cluster->sql('SELECT max(pid) FROM pg_stat_activity'
				  . " WHERE backend_type LIKE 'shard_fdw recovery%'");
		}
		else
		{
			$other->send('SELECT count(*) FROM shard_fdw.resolve()');
			$rule->wait_fired(2);
		}
		$cluster->sql("SELECT pg_terminate_backend($pid)") if $pid;
		$relay->clear;
		$cluster->settled_ok(15, $name);
		is($transfer->outcome, 'all', "$name: on both shards");
		$_->close foreach $session, $other;
	}
}
$cluster->assert_atomic('terminated');

# ---- a synchronous standby takes over while the old primary lives ----

my $primary = $cluster->coordinator;
my $standby = PostgreSQL::Test::Cluster->new('standby');
$primary->backup('for_standby');
$standby->init_from_backup($primary, 'for_standby', has_streaming => 1);
$standby->start;
$cluster->sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
$cluster->sql('SELECT pg_reload_conf()');
$cluster->wait_until(
	sub {
		$cluster->sql('SELECT sync_state FROM pg_stat_replication') eq 'sync';
	},
	30);

sub on_standby
{
	my ($sql) = @_;
	my $session = ShardSession->connect(
		host => $standby->host,
		port => $standby->port);
	my $answer = $session->query($sql);

	$session->close;
	return $answer->is_ok ? $answer->text : $answer->describe;
}

# acknowledged, and shard 1 has not heard of it
$relay->rule(
	route => 'shard_1',
	match => '^COMMIT PREPARED',
	action => 'cut',
	times => 0);
my $told = $cluster->transfer(0, 1, 10);
my $session = $cluster->session;
$session->safe($_) foreach $told->statements;
ok($session->query('COMMIT')->is_ok, 'standby: the client is told success');
$relay->clear;

# and one that is not decided
my $undecided = ShardFaults->reach($cluster,
	$steps{'all prepared, not yet decided'});
$standby->promote;
is(on_standby('SELECT count(*) FROM shard_fdw.commit_log') =~ /^[01]$/ ? 1 : 0,
	1, 'standby: it has the log');
ok( $cluster->wait_until(
		sub {
			on_standby('SELECT count(*) FROM shard_fdw.resolve()');
			return $told->outcome eq 'all';
		},
		15),
	'standby: what was told is committed, by the one or the other');
is(scalar($cluster->prepared), 2, 'standby: what the old one runs is left alone');

# the two have the same accounts
$undecided->transfer->{before} = $cluster->balances;

# The old one cannot decide without its standby, and is ended.
$undecided->{blocker}->safe('COMMIT');
$undecided->session->is_done(1);
ok($cluster->prepared == 2 || $cluster->prepared == 0,
	'standby: nothing is half done by the old one');
$cluster->kill_server($primary);
$undecided->session->finish(30);
ok( $cluster->wait_until(
		sub {
			on_standby('SELECT count(*) FROM shard_fdw.resolve()');
			return $cluster->prepared == 0;
		},
		15),
	'standby: it settles what the old one has left');
is($undecided->transfer->outcome, 'none', 'standby: as what was not decided');
is($told->outcome, 'all', 'standby: nothing that was told is lost');
my ($from, $to) = ($cluster->id(0), $cluster->id(1));
like(
	on_standby("BEGIN; UPDATE accounts SET balance = balance - 1 WHERE id = $from;"
		  . " UPDATE accounts SET balance = balance + 1 WHERE id = $to; COMMIT"),
	qr/^$/,
	'standby: it takes transactions');
ok( $cluster->wait_until(
		sub {
			on_standby('SELECT (SELECT count(*) FROM shard_fdw.commit_log)'
				  . ' + (SELECT count(*) FROM shard_fdw.in_doubt)') eq '0';
		},
		15),
	'standby: and settles them');
$cluster->assert_atomic('standby');

$standby->stop('immediate');
$cluster->restart_coordinator;
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
