
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The steps of doc/migrating.md: servers of postgres_fdw with everything that
# hangs on them become servers of shard_fdw, while sessions are connected.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2, setup => 0);
my $shards = [ $cluster->shard(0), $cluster->shard(1) ];

# What somebody has who uses postgres_fdw for sharding.
$cluster->sql('CREATE EXTENSION postgres_fdw');
$cluster->sql('CREATE ROLE reader LOGIN');
$cluster->sql('CREATE TABLE item (id int, note text) PARTITION BY HASH (id)');
foreach my $n (0, 1)
{
	my ($host, $port) = ($shards->[$n]->host, $shards->[$n]->port);

	$cluster->shard_sql($n,
		'CREATE TABLE things (id int PRIMARY KEY, words text); CREATE ROLE reader LOGIN;'
		  . ' GRANT ALL ON things TO reader');
	$cluster->sql("CREATE SERVER s_$n FOREIGN DATA WRAPPER postgres_fdw"
		  . " OPTIONS (host '$host', port '$port', dbname 'postgres',"
		  . " fetch_size '50', batch_size '10', use_remote_estimate 'true')");
	$cluster->sql("CREATE USER MAPPING FOR CURRENT_USER SERVER s_$n");
	$cluster->sql("CREATE USER MAPPING FOR reader SERVER s_$n"
		  . " OPTIONS (user 'reader', password_required 'false')");
	$cluster->sql("CREATE FOREIGN TABLE item_$n PARTITION OF item"
		  . " FOR VALUES WITH (MODULUS 2, REMAINDER $n)"
		  . " SERVER s_$n OPTIONS (table_name 'things')");
	$cluster->sql("ALTER FOREIGN TABLE item_$n ALTER note"
		  . " OPTIONS (ADD column_name 'words')");
}
$cluster->sql('CREATE VIEW seen AS SELECT id, note FROM item WHERE id > 5');
$cluster->sql('GRANT SELECT ON seen, item, item_0 TO reader');
$cluster->sql("INSERT INTO item SELECT i, 'note ' || i FROM generate_series(1, 20) i");

my $session = $cluster->session;
$session->safe('PREPARE p(int) AS SELECT note FROM item WHERE id = $1');
is($session->safe("EXECUTE p($_)"), "note $_", "postgres_fdw reads row $_")
  foreach 1 .. 6;
my $reader = $cluster->session(user => 'reader');
is($reader->safe('SELECT count(*) FROM seen'), '15', 'another user, too');

# Refusals change nothing.
$cluster->sql('CREATE EXTENSION shard_fdw');
is(($cluster->sql_err(q{SELECT shard_fdw.set_wrapper('nowhere')}))[0],
	'42704', 'a server that does not exist');
is(($cluster->sql_err(q{SELECT shard_fdw.set_wrapper('s_0', 'nothing')}))[0],
	'42704', 'a wrapper that does not exist');
my $answer = $reader->query(q{SELECT shard_fdw.set_wrapper('s_0')});
is($answer->sqlstate, '42501', 'a user who may not');

# Somebody in a transaction holds it up, and is not disturbed.
$session->safe('BEGIN');
$session->safe('UPDATE item SET note = note WHERE id = 1');
my $admin = $cluster->session;
$admin->safe(q{SET lock_timeout = '100ms'});
my $move = q{SELECT string_agg(srvname || shard_fdw.set_wrapper(srvname), ' '
	ORDER BY srvname) FROM pg_foreign_server s
	JOIN pg_foreign_data_wrapper w ON w.oid = srvfdw
	WHERE fdwname = 'postgres_fdw'};
$answer = $admin->query($move);
is($answer->sqlstate, '55P03', 'waits for a transaction that uses the tables');
$session->safe('COMMIT');
$admin->safe('RESET lock_timeout');
is($admin->safe($move), 's_01 s_11', 'both servers move');

# The connected sessions go on.
is($session->safe("EXECUTE p($_)"), "note $_", "shard_fdw reads row $_")
  foreach 1, 6;
is($reader->safe('SELECT count(*) FROM seen'), '15', 'the view still reads');
$reader->safe('SELECT shard_fdw.disconnect_all(); SELECT count(*) FROM item_0');
is( $reader->safe(
		'SELECT string_agg(DISTINCT user_name, $$,$$)'
		  . ' FROM shard_fdw.get_connections()'),
	'reader',
	'the user with his mapping');
$answer = $reader->query('DELETE FROM item');
is($answer->sqlstate, '42501', 'and his rights');
is( $session->safe(
		'SELECT string_agg(server_name, $$,$$ ORDER BY server_name)'
		  . ' FROM shard_fdw.get_connections()'),
	's_0,s_1',
	'the connections are those of shard_fdw');

# What they are for.
$session->safe('BEGIN');
$session->safe(q{UPDATE item SET note = 'moved'});
$session->safe('COMMIT');
is( $session->safe(
		q{SELECT commits FROM shard_fdw.stat_transactions
		  WHERE method = 'two phase'}),
	'1',
	'a transaction over both commits in two phases');
$cluster->settled_ok(20, 'after the move');
is($cluster->sql('SELECT count(*) FROM pg_depend'
		  . q{ WHERE refobjid = (SELECT oid FROM pg_foreign_data_wrapper}
		  . q{ WHERE fdwname = 'postgres_fdw') AND deptype = 'n'}),
	'0', 'nothing depends on postgres_fdw');
$cluster->sql("ALTER SERVER s_$_ OPTIONS (DROP batch_size, DROP fetch_size,"
	  . " ADD pool_mode 'none')")
  foreach 0, 1;
is($session->safe('SELECT count(*) FROM item'), '20', 'options as usual');
$answer = $admin->query('DROP EXTENSION shard_fdw');
is($answer->sqlstate, '2BP01', 'shard_fdw cannot be dropped under them');

# And back.
$answer = $admin->query(q{SELECT shard_fdw.set_wrapper('s_0', 'postgres_fdw')});
is($answer->sqlstate, 'HV00D', 'not with an option of our own');
like($answer->message, qr/pool_mode/, 'which the error names');
$cluster->sql("ALTER SERVER s_$_ OPTIONS (DROP pool_mode)") foreach 0, 1;
$cluster->sql("SELECT shard_fdw.set_wrapper('s_$_', 'postgres_fdw')")
  foreach 0, 1;
is($session->safe('EXECUTE p(6)'), 'moved', 'postgres_fdw reads again');
is( $session->safe('SELECT count(*) FROM postgres_fdw_get_connections()') > 0
	? 1
	: 0,
	1,
	'over its own connections');
is($reader->safe('SELECT count(*) FROM seen'), '15', 'another user, too');
$admin->safe('DROP EXTENSION shard_fdw');
is($session->safe('SELECT count(*) FROM item'), '20', 'without shard_fdw');

# And for good.
$admin->safe('CREATE EXTENSION shard_fdw');
$admin->safe($move);
$admin->safe('DROP EXTENSION postgres_fdw');
is($session->safe('SELECT count(*) FROM item'), '20', 'without postgres_fdw');

$_->close foreach $session, $reader, $admin;
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
