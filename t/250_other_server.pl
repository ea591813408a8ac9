
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Invariant D when a foreign server leads elsewhere: a shard failed over to a
# standby that has, or has not, got its prepared transactions; another server
# at the address of the shard.  What it says of a transaction id that it has
# handed out itself is never taken for the branch's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use ShardCluster;
use ShardSession;
use Test::More;

# servers made from one template have the same system identifier
delete $ENV{INITDB_TEMPLATE};

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	conf => { 'shard_fdw.commit_timeout' => '1s' },
	shard_conf => { wal_level => 'replica', max_wal_senders => 5 });
$cluster->create_accounts;
my $relay = $cluster->relay;
my $resolve = 'SELECT committed, rolled_back, lost, error FROM'
  . " shard_fdw.resolve('shard_1')";

sub point_to
{
	my ($host, $port) = @_;
	$cluster->sql("ALTER SERVER shard_1 OPTIONS (SET host '$host',"
		  . " SET port '$port')");
	return;
}

sub point_back
{
	point_to('127.0.0.1', $relay->port('shard_1'));
	return;
}

# A transfer that is committed, but not on shard 1.
sub commit_without_shard_1
{
	my ($name) = @_;
	my $transfer = $cluster->transfer(0, 1, 10);
	my $session = $cluster->session;

	$relay->rule(
		route => 'shard_1',
		match => '^(COMMIT|ROLLBACK) PREPARED',
		action => 'cut',
		times => 0);
	$session->safe($_) foreach $transfer->statements;
	my $answer = $session->query('COMMIT');
	ok($answer->is_ok, "$name: the client is told success")
	  or diag $answer->describe;
	is(scalar($cluster->prepared_on(1)), 1, "$name: shard 1 is left behind");
	$session->close;
	return $transfer;
}

# Transactions commit there until the id has been handed out.
sub use_up_to
{
	my ($session, $xid) = @_;

	$session->safe('CREATE TABLE IF NOT EXISTS other (n int)');
	foreach my $try (1 .. 10000)
	{
		$session->safe('INSERT INTO other VALUES (1)');
		my $now =
		  $session->safe('SELECT pg_snapshot_xmin(pg_current_snapshot())');
		return if $now > $xid;
	}
	BAIL_OUT('the transaction id is not reached');
	return;
}

sub remote_xid
{
	return $cluster->sql('SELECT remote_xids[i] FROM shard_fdw.commit_log,'
		  . ' generate_subscripts(servers, 1) i WHERE servers[i] ='
		  . " (SELECT oid FROM pg_foreign_server WHERE srvname = 'shard_1')");
}

sub start_standby
{
	my ($name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$cluster->shard(1)->backup("for_$name");
	$standby->init_from_backup($cluster->shard(1), "for_$name",
		has_streaming => 1);
	$standby->start;
	$cluster->shard(1)->wait_for_catchup($standby, 'replay',
		$cluster->shard(1)->lsn('flush'));
	return $standby;
}

# ---- another server at the address ----

my $transfer = commit_without_shard_1('other server');
my $xid = remote_xid();
point_to('127.0.0.1', $relay->port('shard_0'));
foreach my $when ('the id is not handed out', 'the id has committed')
{
	is( $cluster->sql($resolve),
		'0|0|0|the server is not the one that prepared the transactions',
		"other server, $when: nothing is believed");
	is($cluster->log_rows, 1, "other server, $when: the row is kept");
	is( join(',', map { $_->{state} } $cluster->in_doubt),
		'not reachable', "other server, $when: in_doubt has it");
	use_up_to($cluster->shard_session(0), $xid);
}
my ($sqlstate) = $cluster->sql_err('DROP SERVER shard_1 CASCADE');
is($sqlstate, '55006', 'other server: it cannot be dropped');
$relay->clear;
point_back();
$cluster->sql($resolve);
$cluster->settled_ok(10, 'other server, and back');
is($transfer->outcome, 'all', 'other server: committed in the end');

# The token of a one-phase commit.
my $lost = $relay->rule(
	route => 'shard_1',
	match => '^COMMIT$',
	side => 'answer',
	action => 'cut');
my $session = $cluster->session;
$session->safe($_)
  foreach 'BEGIN', 'UPDATE accounts SET balance = balance + 0 WHERE id = '
  . $cluster->id(1);
my ($token) =
  $session->query('COMMIT')->hint =~ /transaction_status\('([^']+)'\)/;
ok($token, 'one phase: a token');
my $status = "SELECT shard_fdw.transaction_status('$token')";
is($cluster->sql($status), 'committed', 'one phase: the shard knows');
point_to('127.0.0.1', $relay->port('shard_0'));
is($cluster->sql($status), 'unknown', 'one phase: another server does not');
point_back();
is($cluster->sql($status), 'committed', 'one phase: nothing is lost by that');
$session->close;

# ---- a standby that has got the prepared transaction ----

my $standby = start_standby('with');
$transfer = commit_without_shard_1('failed over');
$cluster->shard(1)->wait_for_catchup($standby, 'replay',
	$cluster->shard(1)->lsn('flush'));
$cluster->kill_server($cluster->shard(1));
$standby->promote;
point_to($standby->host, $standby->port);
like($cluster->sql($resolve), qr/^[01]\|0\|0\|/, 'failed over: it is not lost');

# by another process than the one that found it prepared
$cluster->wait_until(sub { $cluster->log_rows == 0 }, 10);
is($cluster->log_rows, 0, 'failed over: settled');
my $promoted =
  ShardSession->connect(host => $standby->host, port => $standby->port);
is( $promoted->safe("SELECT balance FROM accounts WHERE id = $transfer->{to}"),
	$transfer->{before}{ $transfer->{to} } + 10,
	'failed over: committed there');
is($promoted->safe('SELECT count(*) FROM pg_prepared_xacts'),
	0, 'failed over: nothing is left');
$promoted->close;
$standby->stop('immediate');

# the old one comes back as if nothing had been; it is in doubt no longer
$relay->clear;
$cluster->restart_shard(1);
my ($gid) = $cluster->prepared_on(1);
$cluster->shard_sql(1, "COMMIT PREPARED '$gid'");
point_back();
$cluster->settled_ok(10, 'failed over, and back');

# ---- a standby that has not ----

$standby = start_standby('without');
$standby->stop;
$transfer = commit_without_shard_1('lost');
$xid = remote_xid();
$cluster->kill_server($cluster->shard(1));
$standby->start;
$standby->promote;
$promoted =
  ShardSession->connect(host => $standby->host, port => $standby->port);
use_up_to($promoted, $xid);
is($promoted->safe("SELECT pg_xact_status('$xid')"),
	'committed', 'lost: its id belongs to another transaction');
point_to($standby->host, $standby->port);
is($cluster->sql($resolve), '0|0|1|', 'lost: reported as that');
is($cluster->log_rows, 1, 'lost: the row is kept');
is(join(',', map { "$_->{server} $_->{state}" } $cluster->in_doubt),
	'shard_1 lost', 'lost: in_doubt says so');
ok( $cluster->wait_until(
		sub {
			$cluster->coordinator->log_contains(
				'server "shard_1" has lost a part of a committed transaction');
		},
		10),
	'lost: the worker reports it');
is($cluster->sql($resolve), '0|0|1|', 'lost: and it stays');

# what is done there from now on is not concerned
my $later = $cluster->session;
$later->safe($_) foreach 'BEGIN',
  "UPDATE accounts SET balance = balance + 0 WHERE id = $transfer->{from}",
  "UPDATE accounts SET balance = balance + 0 WHERE id = $transfer->{to}",
  'COMMIT';
$later->close;
ok($cluster->wait_until(sub { $cluster->log_rows == 1 }, 10),
	'lost: later transactions are settled');
$cluster->sql('DELETE FROM shard_fdw.commit_log');
is($cluster->sql($resolve), '0|0|0|', 'lost: until somebody deletes the row');

$promoted->close;
$standby->stop('immediate');
$cluster->restart_shard(1);
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
