
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Invariant K: an xid alone names nothing.  An xid that never reached the WAL
# is handed out again after a crash, so a transaction that died and one that
# committed can bear the same.  Only the token tells them apart.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2, relay => 1);
$cluster->create_accounts;
my $relay = $cluster->relay;
my @part = qw(tag identity database incarnation xid token branch server user);

# Prepares on a shard what a dead transaction would have left there.
sub prepare_dead
{
	my ($shard, $account, $gid) = @_;
	my $id = $cluster->id($shard, $account);

	$cluster->shard_sql($shard,
			"BEGIN; UPDATE accounts SET balance = 0 WHERE id = $id;"
		  . " PREPARE TRANSACTION '$gid'");
	return;
}

sub with
{
	my ($gid, %change) = @_;
	my %of;
	@of{@part} = split(/_/, $gid);
	%of = (%of, %change);
	return join('_', @of{@part});
}

# A transfer decided to commit whose COMMIT PREPARED is under way.
my $transfer = $cluster->transfer(0, 1, 10);
my $session = $cluster->session;
my $rule = $relay->rule(
	match => '^COMMIT PREPARED',
	action => 'hold',
	times => 0);
$session->safe($_) foreach $transfer->statements;
$session->send('COMMIT');
ok($rule->wait_fired(30, 2), 'decided, not yet told to the shards');

my ($real_0) = $cluster->prepared_on(0);
my ($real_1) = $cluster->prepared_on(1);
my %of;
@of{@part} = split(/_/, $real_0);
like(
	$real_0,
	qr/^sfdw1_[0-9a-f]{16}_\d+_\d+_\d+_[0-9a-f]{16}_\d+_\d+_\d+$/,
	'the name has the form told in gid.h');
is( $of{database},
	$cluster->sql(
		"SELECT oid FROM pg_database WHERE datname = 'postgres'"),
	'it carries the database');
is( (split(/_/, $real_1))[5],
	$of{token}, 'both branches have the same token');
is($cluster->log_rows, 1, 'the decision is in the log');

# The dead ones: same identity, database and xid.
my %dead = (
	'another token' => with($real_0, token => 'ffffffffffffffff'),
	'another token, other branch' =>
	  with($real_0, token => '0000000000000001', branch => 7),
	'an xid of the past' => with($real_0, xid => $of{xid} - 1),
	'an xid of the future' => with($real_0, xid => $of{xid} + 1_000_000),
	'an xid of another epoch' =>
	  with($real_0, xid => $of{xid} + 2**32));
my $account = 1;
prepare_dead(0, $account++, $dead{$_}) foreach sort keys %dead;
is(scalar($cluster->prepared_on(0)), 6, 'the dead are prepared, too');

# Now the answers are lost, and recovery has to find out.
$relay->clear;
ok($session->finish->is_ok, 'the client is told of the commit');
$cluster->sql('SELECT count(*) FROM shard_fdw.resolve()');
$cluster->settled_ok(10, 'recovery');
is($transfer->outcome, 'all', 'the transfer is committed');
my $balance = $cluster->balances;
$account = 1;
foreach my $name (sort keys %dead)
{
	is($balance->{ $cluster->id(0, $account++) },
		100, "$name: rolled back");
}
$cluster->assert_atomic('the first time');

# The same over a crash, with recovery as the only one who can commit.
$transfer = $cluster->transfer(0, 1, 10);
$session = $cluster->session;
$rule = $relay->rule(
	match => '^COMMIT PREPARED',
	action => 'hold',
	times => 0);
$session->safe($_) foreach $transfer->statements;
$session->send('COMMIT');
ok($rule->wait_fired(30, 2), 'decided once more');
($real_0) = $cluster->prepared_on(0);
($real_1) = $cluster->prepared_on(1);
prepare_dead(0, 1, with($real_0, token => 'ffffffffffffffff'));
prepare_dead(1, 2, with($real_1, token => 'fffffffffffffffe'));
$cluster->kill_server($cluster->coordinator);
$rule->discard;
$relay->clear;
$cluster->restart_coordinator;
$cluster->settled_ok(10, 'after a crash');
is($transfer->outcome, 'all', 'the transfer is committed');
$cluster->assert_atomic('after a crash');

# An id that is really handed out twice: the commit status of the number is that
# of the second transaction, and the first is on no shard.
my ($xid, $next);
foreach (1 .. 5)
{
	$transfer = $cluster->transfer(0, 1, 10);
	$session = $cluster->session;
	$session->safe('BEGIN');
	$xid = $session->safe('SELECT pg_current_xact_id()');
	$rule = $relay->rule(
		match => '^PREPARE TRANSACTION',
		side => 'answer',
		action => 'hold',
		times => 0);
	$session->safe($_) foreach grep { $_ ne 'BEGIN' } $transfer->statements;
	$session->send('COMMIT');
	ok($rule->wait_fired(30, 2), "$xid is prepared on both shards");
	$cluster->kill_server($cluster->coordinator);
	$rule->discard;
	$relay->clear;
	$cluster->restart_coordinator;
	do { $next = $cluster->sql('SELECT pg_current_xact_id()') }
	  while ($next < $xid);
	$cluster->settled_ok(10, 'after that crash');
	is($transfer->outcome, 'none', "what had $xid first is on no shard");
	$cluster->assert_atomic('after that crash');
	last if $next == $xid;    # else the number had reached the WAL
}
is($next, $xid, 'the number was handed out again');
is($cluster->sql("SELECT pg_xact_status('$xid')"),
	'committed', 'and says "committed", of the second');

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
