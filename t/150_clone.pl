
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Invariant F: a copy of the coordinator that runs beside it, and a standby
# promoted while the old primary lives, have its identity, its databases and
# its xids, and still leave alone what it has prepared.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use ShardCluster;
use ShardSession;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	streaming => 1,
	conf => {
		'shard_fdw.recovery_interval' => '1s',
		'shard_fdw.commit_timeout' => '60s'
	});
$cluster->create_accounts;
my $relay = $cluster->relay;
my $original = $cluster->coordinator;

# Another incarnation, not started yet.
sub copy_original
{
	my ($name, %param) = @_;
	my $copy = PostgreSQL::Test::Cluster->new($name);

	$original->backup("for_$name");
	$copy->init_from_backup($original, "for_$name", %param);
	return $copy;
}

sub ask
{
	my ($node, $sql) = @_;
	my $session =
	  ShardSession->connect(host => $node->host, port => $node->port);
	my $answer = $session->query($sql);

	$session->close;
	return $answer->is_ok ? $answer->text : $answer->describe;
}

sub refused_on_standby_ok
{
	my ($node, $what, $name) = @_;
	my $session =
	  ShardSession->connect(host => $node->host, port => $node->port);
	my $answer = $session->query("SELECT * FROM shard_fdw.$what");

	is($answer->sqlstate, '25006', "$name: $what");
	like($answer->message,
		qr/^cannot use shard_fdw\.\Q$what\E during recovery$/,
		"$name: $what says what is wrong");
	like($answer->hint, qr/on the primary/, "$name: $what, and where to go");
	$session->close;
	return;
}

# Stops a transfer of the original before it is decided, or before the shards
# are told.
sub stop_transfer
{
	my ($where) = @_;
	my $stopped = { transfer => $cluster->transfer(0, 1, 10) };

	$stopped->{session} = $cluster->session;
	$stopped->{session}->safe($_) foreach $stopped->{transfer}->statements;
	if ($where eq 'undecided')
	{
		$stopped->{blocker} = $cluster->session;
		$stopped->{blocker}->safe('BEGIN');
		$stopped->{blocker}
		  ->safe('LOCK TABLE shard_fdw.commit_log IN SHARE MODE');
	}
	else
	{
		$stopped->{rule} = $relay->rule(
			match => '^COMMIT PREPARED',
			side => 'request',
			action => 'hold',
			times => 0);
	}
	$stopped->{session}->send('COMMIT');
	$stopped->{rule}->wait_fired(30, 2) if $stopped->{rule};
	$cluster->wait_until(sub { $cluster->prepared == 2 }, 30);
	is(scalar($cluster->prepared), 2, "$where: both branches are prepared");
	$relay->forget;
	return $stopped;
}

sub let_go
{
	my ($stopped, $name) = @_;

	$stopped->{blocker}->safe('COMMIT') if $stopped->{blocker};
	$relay->clear;
	my $answer = $stopped->{session}->finish(30);
	ok($answer->is_ok, "$name: the original commits")
	  or diag $answer->describe;
	$cluster->settled_ok(10, $name);
	is($stopped->{transfer}->outcome, 'all', "$name: on both shards");
	return;
}

# Neither its worker nor a pass by hand does anything.
sub touches_nothing_ok
{
	my ($node, $name) = @_;

	foreach my $try (1 .. 3)
	{
		is( ask($node,
				'SELECT sum(waiting), sum(committed + rolled_back + failed),'
				  . ' bool_or(complete) FROM shard_fdw.resolve()'),
			'2|0|f',
			"$name: pass $try waits");
	}
	is( ask($node,
			'SELECT DISTINCT state FROM shard_fdw.in_doubt'),
		'running elsewhere',
		"$name: in_doubt says why");
	is(scalar($cluster->prepared), 2, "$name: both branches stay prepared");
	is( scalar(
			grep { /^(COMMIT|ROLLBACK) PREPARED/ } $relay->statements),
		0,
		"$name: nothing was sent about them");
	return;
}

# A clone beside the original.
my $clone = copy_original('clone');
$clone->start;
is( ask($clone, 'SELECT identity FROM shard_fdw.coordinator'),
	$cluster->sql('SELECT identity FROM shard_fdw.coordinator'),
	'the clone has the identity of the original');
foreach my $where (qw(undecided decided))
{
	my $stopped = stop_transfer($where);

	touches_nothing_ok($clone, "clone, $where");
	let_go($stopped, "clone, $where");
	$cluster->assert_atomic("clone, $where");
}

# The clone can work, too, and the original does not touch what is its own.
my $before = $cluster->balances;
my ($from, $to) = ($cluster->id(0), $cluster->id(1));
ask($clone,
	"BEGIN; UPDATE accounts SET balance = balance - 1 WHERE id = $from;"
	  . " UPDATE accounts SET balance = balance + 1 WHERE id = $to; COMMIT");
is($cluster->balances->{$from}, $before->{$from} - 1,
	'a transfer by the clone');
$cluster->settled_ok(10, 'the clone');
$cluster->assert_atomic('the clone');

# How many sessions with a shard hold the lock of the incarnation that has
# prepared the branch.
sub holders
{
	my ($shard) = @_;
	my ($gid) = $cluster->prepared_on($shard);

	return $cluster->shard_sql($shard,
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
		  . ' AND objsubid = 1 AND classid::bigint << 32 | objid::bigint ='
		  . " hashtextextended(substring('$gid' from"
		  . " '^sfdw1_[^_]+_[^_]+_[^_]+'), 0)");
}

# What the user has prepared outlives its session, and the server.
my $transfer = $cluster->transfer(0, 1, 10);
my $session = $cluster->session;
$session->safe($_)
  foreach $transfer->statements, "PREPARE TRANSACTION 'by the user'";
foreach my $shard (0, 1)
{
	ok($cluster->wait_until(sub { holders($shard) >= 2 }, 10),
		"prepared by the user: the worker shows itself on shard $shard");
}
$session->close;
$relay->forget;
touches_nothing_ok($clone, 'prepared by the user');
$clone->stop('immediate');
$cluster->kill_server($original);
$cluster->restart_coordinator;
foreach my $shard (0, 1)
{
	ok($cluster->wait_until(sub { holders($shard) >= 1 }, 10),
		"after a restart: the worker shows itself on shard $shard");
}
$clone->start;
touches_nothing_ok($clone, 'prepared by the user, after a restart');
$cluster->sql("COMMIT PREPARED 'by the user'");
$cluster->settled_ok(10, 'prepared by the user');
is($transfer->outcome, 'all', 'prepared by the user: on both shards');

# The original dies before it has decided: now, and only now, somebody else
# may end it.
my $stopped = stop_transfer('undecided');
touches_nothing_ok($clone, 'before the crash');
$cluster->kill_server($original);
$cluster->wait_until(
	sub {
		ask($clone, 'SELECT count(*) FROM shard_fdw.resolve()');
		return $cluster->prepared == 0;
	},
	10);
is(scalar($cluster->prepared), 0, 'after the crash the clone cleans up');
is($stopped->{transfer}->outcome, 'none', 'the transfer is rolled back');
$stopped->{session}->finish(30);
$clone->stop('immediate');

# The same by itself: a restart is another incarnation, too.
$cluster->restart_coordinator;
$stopped = stop_transfer('undecided');
$cluster->kill_server($original);
$stopped->{session}->finish(30);
$cluster->restart_coordinator;
$cluster->settled_ok(10, 'after a restart');
is($stopped->{transfer}->outcome, 'none', 'rolled back after a restart');
$cluster->assert_atomic('after the restart');

# Standbys promoted while the old primary lives.
foreach my $where (qw(undecided decided))
{
	my $name = "promoted, $where";
	my $standby = copy_original("standby_$where", has_streaming => 1);

	$standby->start;
	$stopped = stop_transfer($where);
	$original->wait_for_catchup($standby, 'flush', $original->lsn('flush'));
	refused_on_standby_ok($standby, $_, "not yet promoted, $where")
	  foreach 'in_doubt', 'resolve()';
	$standby->promote;
	is( ask($standby, 'SELECT count(*) FROM shard_fdw.commit_log'),
		$where eq 'decided' ? 1 : 0,
		"$name: it knows what was decided before");
	touches_nothing_ok($standby, $name);
	let_go($stopped, $name);
	$cluster->wait_until(
		sub {
			ask($standby, 'SELECT count(*) FROM shard_fdw.resolve()');
			return ask($standby, 'SELECT count(*) FROM shard_fdw.commit_log')
			  eq '0';
		},
		10);
	is( ask($standby,
			'SELECT (SELECT count(*) FROM shard_fdw.commit_log),'
			  . ' (SELECT count(*) FROM shard_fdw.in_doubt)'),
		'0|0',
		"$name: and it sees that all is done");
	$standby->stop('immediate');
	$cluster->assert_atomic($name);
}

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
