
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# A thousand transactions in doubt on four shards, half of them committed:
# the worker settles them in seconds.  One of the shards is down for long: the
# others do not wait for it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;
use Time::HiRes qw(time);

use constant {
	TRANSACTIONS => 1000,
	LIMIT => 10,
};

my $cluster = ShardCluster->new(
	shards => 4,
	relay => 1,
	conf => { 'shard_fdw.commit_timeout' => '100ms' },
	shard_conf =>
	  { max_prepared_transactions => 1100, max_locks_per_transaction => 128 });
$cluster->create_accounts;
my $relay = $cluster->relay;

foreach my $n (0 .. 3)
{
	$cluster->shard_sql($n, 'CREATE TABLE ledger (tx int, shard int)');
}
$cluster->sql('CREATE TABLE ledger (tx int, shard int) PARTITION BY LIST (shard)');
$cluster->sql("CREATE FOREIGN TABLE ledger_$_ PARTITION OF ledger FOR VALUES"
	  . " IN ($_) SERVER shard_$_ OPTIONS (table_name 'ledger')")
  foreach 0 .. 3;

my ($identity, $database) = split(
	/\|/,
	$cluster->sql("SELECT lpad(to_hex(identity), 16, '0'), d.oid FROM"
		  . ' shard_fdw.coordinator, pg_database d'
		  . ' WHERE datname = current_database()'));
my $incarnation = $cluster->sql('SELECT (extract(epoch FROM'
	  . ' pg_postmaster_start_time()) * 1000000)::bigint');
my $user = $cluster->sql('SELECT current_user::regrole::oid');
my @servers = map {
	$cluster->sql(
		"SELECT oid FROM pg_foreign_server WHERE srvname = 'shard_$_'")
} 0 .. 3;

# The name of a branch on shard n.
sub gid
{
	my ($xid, $token, $n) = @_;
	return join('_',
		'sfdw1', $identity, $database, $incarnation, $xid,
		sprintf('%016x', $token), $n, $servers[$n], $user);
}

# The branches and the rows that a thousand sessions would have left behind,
# every other one without a row: it aborted.  Until the end they belong to a
# transaction that runs.
sub leave_behind
{
	my ($first) = @_;
	my $last = $first + TRANSACTIONS - 1;
	my $owner = $cluster->session;
	$owner->safe('BEGIN');
	my $xid = $owner->safe('SELECT pg_current_xact_id()');
	my %remote;

	foreach my $n (0 .. 3)
	{
		my $session = $cluster->shard_session($n);
		my @gids = map { gid($xid, $_, $n) } $first .. $last;
		my $tx = $first;
		while (my @some = splice(@gids, 0, 100))
		{
			$session->safe(join('',
				map { 'BEGIN; INSERT INTO ledger VALUES (' . $tx++ . ", $n);"
					  . " PREPARE TRANSACTION '$_';" } @some));
		}
		my $rows = $session->query("SELECT split_part(gid, '_', 6), transaction"
			  . ' FROM pg_prepared_xacts')->{rows};
		$remote{ hex($_->[0]) }[$n] = $_->[1] foreach @$rows;
		$session->close;
	}
	my $servers = join(',', @servers);
	foreach my $tx (grep { $_ % 2 == 0 } $first .. $last)
	{
		my $ids = join(',', @{ $remote{$tx} });
		$owner->safe('INSERT INTO shard_fdw.commit_log VALUES'
			  . " ('$xid', $tx, $incarnation, now(), '{$servers}',"
			  . " '{$user,$user,$user,$user}', '{0,1,2,3}', '{$ids}',"
			  . " '{0,0,0,0}', '{0,0,0,0}')");
	}
	return $owner;
}

# A transfer that leaves something to do wakes the worker.
sub wake_worker
{
	$relay->rule(
		route => 'shard_0',
		match => '^COMMIT PREPARED',
		action => 'cut');
	write_to_two();
	return;
}

sub write_to_two
{
	my $session = $cluster->session;
	$session->safe($_) foreach 'BEGIN',
	  map({ 'UPDATE accounts SET balance = balance + 0 WHERE id = '
			. $cluster->id($_) } 0, 1),
	  'COMMIT';
	$session->close;
	return;
}

sub ledger_ok
{
	my ($n, $name) = @_;
	return is(
		$cluster->shard_sql($n,
			'SELECT count(*), count(DISTINCT tx), sum(tx % 2) FROM ledger'),
		join('|', TRANSACTIONS / 2, TRANSACTIONS / 2, 0),
		"$name: half of them on shard $n");
}

# ---- all shards are there ----

my $owner = leave_behind(1);
is(scalar($cluster->prepared), 4 * TRANSACTIONS, 'four thousand branches');

# one more, which aborted, behind all those that still run
{
	my $gid = gid($cluster->sql('SELECT pg_current_xact_id()'), 0, 0);
	$cluster->shard_sql(0, 'BEGIN; INSERT INTO ledger VALUES (0, 0);'
		  . " PREPARE TRANSACTION '$gid'");
	is( $cluster->sql(
			"SELECT waiting, failed FROM shard_fdw.resolve('shard_0')"),
		TRANSACTIONS . '|0',
		'a thousand wait');
	is(scalar(grep { $_ eq $gid } $cluster->prepared_on(0)),
		0, 'the one behind them does not');
	is(scalar(grep { $_->{server} eq 'shard_0' } $cluster->in_doubt),
		TRANSACTIONS, 'in_doubt shows all');
}

my $start = time();
$owner->safe('COMMIT');
is($cluster->log_rows, TRANSACTIONS / 2, 'half of them committed');
wake_worker();
$cluster->settled_ok(LIMIT, 'a thousand transactions');
diag sprintf('%d transactions in doubt on 4 shards: settled after %.1f s',
	TRANSACTIONS, time() - $start);
ledger_ok($_, 'a thousand transactions') foreach 0 .. 3;
my $took = time();
$cluster->in_doubt;
cmp_ok(time() - $took, '<', 2, 'in_doubt is quick afterwards');

# ---- one of them is down for long ----

$cluster->shard_sql($_, 'TRUNCATE ledger') foreach 0 .. 3;
$owner = leave_behind(10001);
$cluster->kill_shard(3);
$start = time();
$owner->safe('COMMIT');
wake_worker();
ok( $cluster->wait_until(
		sub { !grep { $cluster->prepared_on($_) } 0 .. 2 }, LIMIT),
	'a shard is down: the others are settled');
diag sprintf('with one shard down the others are settled after %.1f s',
	time() - $start);
ledger_ok($_, 'a shard is down') foreach 0 .. 2;

# the row of the transfer that woke the worker goes at the end of the pass
$cluster->wait_until(sub { $cluster->log_rows <= TRANSACTIONS / 2 }, LIMIT);
is($cluster->log_rows, TRANSACTIONS / 2, 'a shard is down: its rows stay');
my @doubt = $cluster->in_doubt;
is(scalar(grep { $_->{server} eq 'shard_3' && $_->{last_error} } @doubt),
	scalar(@doubt), 'a shard is down: in_doubt names it and says why');

# transactions on the others go on, and are settled themselves
write_to_two();
ok( $cluster->wait_until(
		sub { $cluster->log_rows == TRANSACTIONS / 2 }, LIMIT),
	'a shard is down: later transactions are settled');
$cluster->restart_shard(3);
$start = time();
$cluster->settled_ok(2 * LIMIT, 'it is back');
diag sprintf('the one that was down: settled %.1f s after its start',
	time() - $start);
ledger_ok(3, 'it is back');

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
