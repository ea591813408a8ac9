
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The extension can be created, does its work over two shards, and can be
# dropped and created again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2);

# What the user sees, by its fixed names.
is( $cluster->sql(
		q{SELECT n.nspname, e.extrelocatable FROM pg_extension e
		  JOIN pg_namespace n ON n.oid = e.extnamespace
		  WHERE extname = 'shard_fdw'}),
	'shard_fdw|f',
	'schema of the extension');
foreach my $function (
	'get_connections(boolean)', 'disconnect(text)',
	'disconnect_all()', 'resolve(text)',
	'transaction_status(text)')
{
	isnt($cluster->sql("SELECT to_regprocedure('shard_fdw.$function')"),
		'', "function $function exists");
}
foreach my $relation (qw(commit_log in_doubt stat_shards stat_transactions))
{
	isnt($cluster->sql("SELECT to_regclass('shard_fdw.$relation')"),
		'', "relation $relation exists");
}
is( $cluster->sql(
		q{SELECT string_agg(name || '=' || setting, ' ' ORDER BY name)
		  FROM pg_settings WHERE name IN
			('shard_fdw.two_phase_commit', 'shard_fdw.isolation')}),
	'shard_fdw.isolation=match shard_fdw.two_phase_commit=on',
	'defaults of the settings');
is( $cluster->sql(
		q{SELECT count(*) FROM pg_proc p
		  WHERE pronamespace = 'shard_fdw'::regnamespace
		  AND proname = 'resolve'
		  AND has_function_privilege('public', p.oid, 'EXECUTE')}),
	0,
	'not everybody may start recovery');

# Rows go to their shards and come back.
$cluster->sql('CREATE TABLE item (id int, note text) PARTITION BY HASH (id)');
foreach my $n (0, 1)
{
	$cluster->shard_sql($n,
		'CREATE TABLE item (id int PRIMARY KEY, note text)');
	$cluster->sql("CREATE FOREIGN TABLE item_$n PARTITION OF item"
		  . " FOR VALUES WITH (MODULUS 2, REMAINDER $n)"
		  . " SERVER shard_$n OPTIONS (table_name 'item')");
}
$cluster->sql(
	"INSERT INTO item SELECT i, 'item ' || i FROM generate_series(1, 100) i");
is($cluster->sql('SELECT count(*), sum(id) FROM item'),
	'100|5050', 'all rows are there');
my @count = map { $cluster->shard_sql($_, 'SELECT count(*) FROM item') } 0, 1;
ok($count[0] > 0 && $count[1] > 0 && $count[0] + $count[1] == 100,
	"both shards have some: @count");
is($cluster->sql('SELECT note FROM item WHERE id = 42'),
	'item 42', 'a row by its key');
is( $cluster->sql(
		"WITH u AS (UPDATE item SET note = 'new' WHERE id <= 3"
		  . " RETURNING id, note) SELECT * FROM u ORDER BY id"),
	"1|new\n2|new\n3|new",
	'UPDATE with RETURNING');
$cluster->sql('DELETE FROM item WHERE id > 50');
is($cluster->sql('SELECT count(*), max(id) FROM item'), '50|50', 'DELETE');
$cluster->settled_ok(10, 'after writing to both');

# Dropping takes everything along.
is(($cluster->sql_err('DROP EXTENSION shard_fdw'))[0],
	'2BP01', 'DROP EXTENSION is refused while servers depend on it');
$cluster->sql('DROP EXTENSION shard_fdw CASCADE');
is( $cluster->sql(
		'SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = n.oid)'
		  . ' + (SELECT count(*) FROM pg_class WHERE relnamespace = n.oid)'
		  . " FROM pg_namespace n WHERE nspname = 'shard_fdw'"),
	0,
	'nothing is left in its schema, which core does not drop');
is($cluster->sql('SELECT count(*) FROM pg_foreign_server'),
	0, 'the servers are gone');
$cluster->setup_database('postgres');
$cluster->sql("CREATE FOREIGN TABLE item_again (id int, note text)"
	  . " SERVER shard_0 OPTIONS (table_name 'item')");
is($cluster->sql('SELECT count(*) > 0 FROM item_again'),
	't', 'it works again after CREATE EXTENSION');

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
