
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# From PostgreSQL 19 on a subscription can connect through a foreign server.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 1,
	shard_conf => {
		wal_level => 'logical',
		max_wal_senders => 5,
		max_replication_slots => 5
	});
my $version = $cluster->sql('SHOW server_version_num');

$cluster->shard_sql(0, 'CREATE TABLE t (n int PRIMARY KEY);'
	  . ' INSERT INTO t VALUES (1), (2); CREATE PUBLICATION p FOR TABLE t');
$cluster->sql('CREATE TABLE t (n int PRIMARY KEY)');
my $answer =
  $cluster->session->query('CREATE SUBSCRIPTION s SERVER shard_0 PUBLICATION p');
if ($version < 190000)
{
	is($answer->sqlstate, '42601', 'before 19 there is no such command');
	$cluster->stop;
	done_testing;
	exit;
}
ok($answer->is_ok, 'a subscription on a server') or die $answer->message;
ok( $cluster->wait_until(
		sub { $cluster->sql('SELECT count(*) FROM t') == 2 }, 60),
	'copies');
$cluster->shard_sql(0, 'INSERT INTO t VALUES (3)');
ok( $cluster->wait_until(
		sub { $cluster->sql('SELECT count(*) FROM t') == 3 }, 60),
	'and follows');

# Values are quoted, and what the wrapper keeps from others it keeps here.
$cluster->sql(
	q{ALTER SERVER shard_0 OPTIONS (ADD application_name 'it''s \ "one"')});
$cluster->shard_sql(0, 'INSERT INTO t VALUES (4)');
ok( $cluster->wait_until(
		sub {
			$cluster->shard_sql(0,
				q{SELECT count(*) FROM pg_stat_replication
				  WHERE application_name LIKE 'it''s %'}) > 0;
		},
		60),
	'a changed server is followed');
$cluster->sql('DROP SUBSCRIPTION s');
$cluster->sql(q{ALTER SERVER shard_0 OPTIONS (ADD use_scram_passthrough 'on')});
$answer =
  $cluster->session->query('CREATE SUBSCRIPTION s SERVER shard_0 PUBLICATION p');
is($answer->sqlstate, '0A000', 'no SCRAM pass-through for a subscription');

$cluster->stop;
done_testing;
