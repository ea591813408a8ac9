
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Invariant B with synchronous replication: no shard hears of a decision that
# the coordinator's standby may not have.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2, relay => 1, streaming => 1);
$cluster->create_accounts;
my $relay = $cluster->relay;

# The standby that must confirm does not exist.
sub set_standby
{
	my ($name) = @_;
	$cluster->sql($name
		? "ALTER SYSTEM SET synchronous_standby_names = '$name'"
		: 'ALTER SYSTEM RESET synchronous_standby_names');
	$cluster->sql('SELECT pg_reload_conf()');
	$cluster->wait_until(
		sub {
			my $session = $cluster->session;
			my $value = $session->safe('SHOW synchronous_standby_names');
			$session->close;
			return $value eq ($name // '');
		},
		10);
	return;
}

sub commits_sent
{
	return scalar(grep { /^COMMIT PREPARED/ } $relay->statements);
}

# Recovery must not hang on the standby either; it runs with a limit here.
sub resolve
{
	my $session = $cluster->session;
	my $answer = $session->query('SET statement_timeout = 5000;'
		  . ' SELECT * FROM shard_fdw.resolve()');
	note 'resolve: ', $answer->is_ok ? $answer->text : $answer->describe;
	$session->close;
	return;
}

# Starts a transfer and returns when its commit waits for the standby.
sub wait_for_standby
{
	my $session = $cluster->session;
	my $transfer = $cluster->transfer(0, 1, 10);
	my $pid = $session->pid;

	$relay->forget;
	$session->safe($_) foreach $transfer->statements;
	$session->send('COMMIT');
	ok( $cluster->wait_until(
			sub {
				$cluster->sql("SELECT count(*) FROM pg_stat_activity"
					  . " WHERE pid = $pid AND wait_event = 'SyncRep'");
			},
			30),
		'COMMIT waits for the standby');
	return ($session, $transfer);
}

sub undecided_ok
{
	my ($name, $transfer) = @_;
	resolve() foreach 1 .. 2;
	is(scalar($cluster->prepared), 2, "$name: the branches stay prepared");
	is(commits_sent(), 0, "$name: no COMMIT PREPARED was sent");
	is( scalar(grep { /^ROLLBACK PREPARED/ } $relay->statements),
		0, "$name: and no ROLLBACK PREPARED");
	is($transfer->outcome, 'none', "$name: no shard has committed");
	return;
}

# The standby turns up (or is given up) while the commit waits.
set_standby('nobody');
my ($session, $transfer) = wait_for_standby();
undecided_ok('waiting', $transfer);
ok(!$session->is_done(0), 'waiting: no answer yet');
set_standby(undef);
ok($session->finish(30)->is_ok, 'confirmed: the client is told');
$cluster->settled_ok(10, 'confirmed');
is($transfer->outcome, 'all', 'confirmed: committed everywhere');

# The wait is cancelled: committed here, but not confirmed.
set_standby('nobody');
($session, $transfer) = wait_for_standby();
$session->cancel;
my $answer = $session->finish(30);
ok($answer->is_ok, 'cancelled: core says the commit is done locally')
  or diag $answer->describe;
ok( (grep { $_->{message} =~ /synchronous replication/ }
		  @{ $answer->{notices} }),
	'cancelled: with a warning');
undecided_ok('cancelled', $transfer);
ok(scalar($cluster->in_doubt) > 0, 'cancelled: in_doubt shows it')
  or diag explain([ $cluster->in_doubt ]);
set_standby(undef);
$cluster->settled_ok(10, 'cancelled, then the standby is given up');
is($transfer->outcome, 'all', 'committed everywhere');

# The backend is terminated in its wait.
set_standby('nobody');
($session, $transfer) = wait_for_standby();
$cluster->sql('SELECT pg_terminate_backend(' . $session->pid . ')');
$answer = $session->finish(30);
isnt($answer->sqlstate, '00000', 'terminated: the client is not told of success');
undecided_ok('terminated', $transfer);
set_standby(undef);
$cluster->settled_ok(10, 'terminated, then the standby is given up');
is($transfer->outcome, 'all', 'committed everywhere');

# The coordinator is killed in its wait, and comes back without the standby.
set_standby('nobody');
($session, $transfer) = wait_for_standby();
$cluster->kill_coordinator;
$session->finish(30);
$cluster->restart_coordinator;
undecided_ok('killed', $transfer);
set_standby(undef);
$cluster->settled_ok(10, 'killed, then the standby is given up');
is($transfer->outcome, 'all', 'committed everywhere');

# What does not write locally does not wait.
set_standby('nobody');
$session = $cluster->session;
is( $session->query('SELECT sum(balance) FROM accounts', 20)->text,
	2000, 'reading works without the standby');
set_standby(undef);

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
