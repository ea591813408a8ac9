
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The commit log stays small however many transactions there are, even where
# autovacuum does not come.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $transactions = $ENV{LOG_SIZE_TRANSACTIONS} || 6500;
my $cluster = ShardCluster->new(
	shards => 2,
	one_server => 1,
	conf => { autovacuum => 'off' });
$cluster->create_accounts;
$cluster->sql(<<'SQL');
CREATE PROCEDURE transfers(n int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    UPDATE accounts_0 SET balance = balance - 1;
    UPDATE accounts_1 SET balance = balance + 1;
    COMMIT;
  END LOOP;
END $$;
SQL
$cluster->sql("CALL transfers($transactions)");
$cluster->settled_ok(10, 'afterwards');

my ($size, $logged) = split(/\|/, $cluster->sql(<<'SQL'));
SELECT pg_total_relation_size('shard_fdw.commit_log'),
  (SELECT sum(commits) FROM shard_fdw.stat_transactions WHERE method = 'two phase')
SQL
note "$size bytes after $logged transactions with a row";
is($logged, $transactions, 'each has had a row in it');
cmp_ok($size, '<', 2 * 1024 * 1024, 'the log has stayed small');
ok( $cluster->wait_until(
		sub {
			return $cluster->sql('SELECT vacuum_count FROM pg_stat_user_tables'
				  . " WHERE relid = 'shard_fdw.commit_log'::regclass") > 0;
		},
		10),
	'the worker has vacuumed it');
is($cluster->sql('SELECT autovacuum_count FROM pg_stat_user_tables'
		  . " WHERE relid = 'shard_fdw.commit_log'::regclass"),
	0, 'without autovacuum');

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
