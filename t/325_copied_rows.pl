
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The rows of a large scan come by COPY.  Nothing else may be different for
# whoever reads them: the values, what becomes of errors, of a cancelled or lost
# statement, of a reader that stops early or asks for something in between.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $nrows = 60000;
my $cluster = ShardCluster->new(shards => 1, relay => 1);
my $relay = $cluster->relay;

# scans begin with the first row
$cluster->shard_sql(0, 'ALTER DATABASE postgres SET synchronize_seqscans = off');

my $columns = 'id int, n bigint, t text, v varchar(20), c char(5),'
  . ' amount numeric, ts timestamptz, d date, f float8, b boolean,'
  . ' raw bytea, u uuid, a int[], j jsonb';
$cluster->shard_sql(0,
	    "CREATE TABLE big ($columns);"
	  . ' INSERT INTO big SELECT i, nullif(i % 7, 0) * 10000000000,'
	  . " CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN E'a\\\\tb\\\\n\\\\\\\\'"
	  . " ELSE repeat('é', i % 50) END, 'v' || i, 'c', i / 7.0,"
	  . " nullif(timestamptz '2026-01-01' + i * interval '1 minute', timestamptz '2026-01-01 00:05'),"
	  . " date '2026-01-01' + i % 1000,"
	  . " CASE WHEN i % 1000 = 0 THEN 'NaN' ELSE i / 3.0 END, i % 2 = 0,"
	  . " decode(lpad(to_hex(i), 8, '0'), 'hex'), md5(i::text)::uuid,"
	  . " ARRAY[i, NULL, -i], jsonb_build_object('i', i)"
	  . " FROM generate_series(1, $nrows) i;"
	  . ' CREATE TABLE small (id int PRIMARY KEY, n int);'
	  . ' INSERT INTO small VALUES (1, 1);'
	  . ' ANALYZE');
$cluster->sql("CREATE FOREIGN TABLE big ($columns) SERVER shard_0");
$cluster->sql('CREATE FOREIGN TABLE small (id int, n int) SERVER shard_0');
$cluster->sql('ANALYZE big');

my $session = $cluster->session;

# How the rows of a query came.
sub way
{
	my ($sql) = @_;
	my $plan = $session->safe("EXPLAIN (ANALYZE, COSTS OFF) $sql");
	my ($way) = $plan =~ /Remote Execution: ([^,\n]*)/;
	return $way;
}

sub goes_on
{
	my ($name) = @_;
	is($session->safe('SELECT n FROM small'), 1, "$name: the session goes on");
	is($session->safe('SELECT count(id), sum(id) FROM (SELECT id FROM big OFFSET 0) s'),
		"$nrows|" . $nrows * ($nrows + 1) / 2,
		"$name: and all rows come");
	return;
}

# ---- values ----

my $digest = q(SELECT md5(string_agg(r::text, ',' ORDER BY id)) FROM big r);
is(way('SELECT * FROM big'), 'copy without a block', 'a large scan is a COPY');
is($session->safe($digest), $cluster->shard_sql(0, $digest), 'all its values are right');
is(way('SELECT id FROM big WHERE id = 1'),
	'stream without a block', 'a small one is not');
$session->safe('SET shard_fdw.binary_results = off');
is(way('SELECT * FROM big'), 'stream without a block', 'nor are rows as text');
is($session->safe($digest), $cluster->shard_sql(0, $digest), 'which are the same');
$session->safe('RESET shard_fdw.binary_results');

# In the first query of a session, and in a transaction.
$session->close;
$session = $cluster->session;
is(way('SELECT id FROM big'), 'copy without a block', 'the first query of a session');
$session->safe('BEGIN');
$session->safe('UPDATE small SET n = n');
$session->safe('SELECT n FROM small') foreach 1 .. 2;
is(way('SELECT id FROM big'), 'copy', 'in a transaction that has written');
$session->safe('SAVEPOINT s');
is($session->safe($digest), $cluster->shard_sql(0, $digest), 'below a savepoint');
$session->safe('ROLLBACK TO s');
is($session->safe($digest), $cluster->shard_sql(0, $digest), 'and after it');
$session->safe('COMMIT');
goes_on('after a transaction');

# ---- other types on the shard ----

$cluster->sql(
	'CREATE FOREIGN TABLE other (id bigint, n numeric, b text, d text)'
	  . " SERVER shard_0 OPTIONS (table_name 'big')");
$cluster->sql('ANALYZE other');
is(way('SELECT * FROM other'), 'stream without a block',
	'rows that must come as text after all');
my $sums = 'SELECT count(*), sum(id), sum(n), min(b), max(d) FROM (SELECT * FROM %s OFFSET 0) s';
is( $session->safe(sprintf $sums, 'other'),
	$cluster->shard_sql(0, 'SELECT count(*), sum(id), sum(n), min(left(b::text, 1)), max(d) FROM big'),
	'other types here than there');
$cluster->shard_sql(0, 'ALTER TABLE big ALTER id TYPE bigint');
is($session->safe($digest), $cluster->shard_sql(0, $digest),
	'a column that has changed its type');
$cluster->shard_sql(0, 'ALTER TABLE big ALTER id TYPE int');
goes_on('as it was');

# No binary form on the shard at all.
$cluster->shard_sql(0,
	q(CREATE VIEW acl AS SELECT id, '{=r/postgres}'::aclitem[] AS a FROM big));
$cluster->sql('CREATE FOREIGN TABLE acl (id int, a text) SERVER shard_0');
$cluster->sql('ANALYZE acl');
is($session->safe('SELECT count(*), min(a) FROM (SELECT * FROM acl OFFSET 0) s'),
	"$nrows|{=r/postgres}", 'a type without a binary form');

# ---- fewer rows than expected ----

$cluster->shard_sql(0, 'CREATE TABLE gone AS SELECT id FROM big');
$cluster->sql('CREATE FOREIGN TABLE gone (id int) SERVER shard_0');
$cluster->sql('ANALYZE gone');
$cluster->shard_sql(0, 'DELETE FROM gone WHERE id > 1');
is(way('SELECT id FROM gone'), 'copy without a block', 'one row instead of many');
is($session->safe('SELECT id FROM gone'), 1, 'is found');
$cluster->shard_sql(0, 'DELETE FROM gone');
is($session->safe('SELECT id FROM gone'), '', 'no row at all');

# ---- errors ----

$cluster->shard_sql(0,
	'CREATE VIEW breaks AS SELECT id, 1 / (id - 50000) AS n FROM big');
$cluster->sql('CREATE FOREIGN TABLE breaks (id int, n int) SERVER shard_0');
$cluster->sql(q(ALTER FOREIGN TABLE breaks OPTIONS (ADD use_remote_estimate 'true')));
is(way('SELECT id FROM breaks'), 'copy without a block', 'a view, read well');
my $answer = $session->query('SELECT * FROM breaks');
is($answer->sqlstate, '22012', 'an error in the middle of the rows')
  or diag $answer->describe;
like($answer->context, qr/remote SQL on server "shard_0": SELECT r1\.id/,
	'names the statement');
goes_on('after an error');
$session->safe('BEGIN');
$session->safe('UPDATE small SET n = n');
$session->safe('SAVEPOINT s');
is($session->query('SELECT * FROM breaks')->sqlstate, '22012', 'an error in a block');
is($session->query('SELECT 1')->sqlstate, '25P02', 'the transaction has failed');
$session->safe('ROLLBACK TO s');
is($session->safe('SELECT n FROM small'), 1, 'up to the savepoint');
$session->safe('COMMIT');
goes_on('after an error in a block');

$cluster->shard_sql(0, 'ALTER TABLE gone RENAME TO gone_away');
is($session->query('SELECT id FROM gone')->sqlstate, '42P01', 'no such table');
goes_on('after an error before the rows');

# What looks like a read may write.
$cluster->shard_sql(0,
	    'CREATE TABLE seen (id int);'
	  . ' CREATE FUNCTION see(i int) RETURNS int LANGUAGE plpgsql AS'
	  . ' $$ BEGIN IF i = 1 THEN INSERT INTO public.seen VALUES (i); END IF;'
	  . ' RETURN i; END $$;'
	  . ' CREATE VIEW writes AS SELECT public.see(id) AS id FROM big');
$cluster->sql('CREATE FOREIGN TABLE writes (id int) SERVER shard_0'
	  . q( OPTIONS (use_remote_estimate 'true')));
is($session->safe('SELECT count(*) FROM (SELECT id FROM writes OFFSET 0) s'),
	$nrows, 'a view that writes');
is($cluster->shard_sql(0, 'SELECT count(*) FROM seen'), 1, 'has written once');

# ---- cancelled, lost, sent again ----

my $rule = $relay->rule(
	route => 'shard_0',
	match => '^COPY|^SELECT .*COPY',
	side => 'answer',
	until => 'first',
	action => 'hold');
$session->send('SELECT id FROM big');
$rule->wait_fired;
$session->cancel;
$rule->release;
$answer = $session->finish;
is($answer->sqlstate, '57014', 'a cancelled scan') or diag $answer->describe;
$relay->clear;
goes_on('after a cancel');

$session->safe(q(SET statement_timeout = '200ms'));
$rule = $relay->rule(
	route => 'shard_0',
	on => 'query',
	action => 'hold');
$session->send('SELECT id FROM big');
$rule->wait_fired;
$answer = $session->finish;
is($answer->sqlstate, '57014', 'statement_timeout') or diag $answer->describe;
$session->safe('RESET statement_timeout');
$relay->clear;
goes_on('after a timeout');

foreach my $action (qw(cut reset))
{
	foreach my $side (qw(request answer))
	{
		my $name = "$action before the first answer, $side";
		$session->safe('SELECT n FROM small');
		$rule = $relay->rule(
			route => 'shard_0',
			on => 'query',
			side => $side,
			until => 'first',
			action => $action);
		$answer = $session->query('SELECT id FROM big');
		is($rule->fired, 1, "$name: done");
		$relay->clear;
		is($answer->sqlstate, '00000', "$name: success")
		  or diag $answer->describe;
		my %seen = map { $_->[0] => 1 } @{ $answer->{rows} };
		is(scalar(@{ $answer->{rows} }), $nrows, "$name: all rows");
		is(scalar(keys %seen), $nrows, "$name: each of them once");
	}
}

# Rows have come: an error, and no row twice.
$cluster->shard_sql(0,
	    'CREATE FUNCTION stall(i int) RETURNS int LANGUAGE plpgsql AS'
	  . ' $$ BEGIN IF i = 50000 THEN PERFORM pg_sleep(600); END IF;'
	  . ' RETURN i; END $$;'
	  . ' CREATE VIEW stalls AS SELECT public.stall(id) AS id FROM big');
$cluster->sql('CREATE FOREIGN TABLE stalls (id int) SERVER shard_0'
	  . q( OPTIONS (use_remote_estimate 'true')));
$session->safe('SELECT n FROM small');
my $stalled =
  q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep');
$session->send('SELECT id FROM stalls');
ok( $cluster->wait_until(
		sub
		{
			$session->is_done(0);
			return @{ $session->{answer}{rows} // [] } > 10
			  && $cluster->shard_sql(0, $stalled) eq 1;
		},
		60),
	'some rows have arrived, and no more will');
$cluster->shard_sql(0, $stalled =~ s/count\(\*\)/pg_terminate_backend(pid)/r);
$answer = $session->finish(30);
like($answer->sqlstate, qr/^080/, 'terminated in the middle of the rows: an error')
  or diag $answer->describe;
my %seen;
$seen{ $_->[0] }++ foreach @{ $answer->{rows} };
is((grep { $_ > 1 } values %seen), 0, 'no row came twice');
goes_on('after a loss');

# ---- readers that stop, and readers in between ----

$session->safe('BEGIN');
$session->safe('DECLARE c CURSOR FOR SELECT id FROM big');
is($session->safe('FETCH 2 FROM c'), "1\n2", 'the first rows of a cursor');
is($session->safe('SELECT n FROM small'), 1, 'another query in between');
is($session->safe('FETCH 2 FROM c'), "3\n4", 'the next rows');
$session->safe('CLOSE c');
$session->safe('COMMIT');
goes_on('after a cursor that was not read to its end');

$cluster->create_slow_reader;
foreach my $work_mem ('64MB', '256kB')
{
	$session->safe("SET work_mem = '$work_mem'");
	foreach my $block (0, 1)
	{
		my $name = "work_mem $work_mem" . ($block ? ', in a block' : '');
		$session->safe('BEGIN') if $block;
		is( $session->safe('SELECT read_slowly()'),
			"$nrows " . $nrows * ($nrows + 1) / 2,
			"$name: rows that had to make way are complete");
		is($session->safe('SELECT read_slowly(20000)'), '20000 200010000',
			"$name: and may be left");
		$session->safe('COMMIT') if $block;
		goes_on($name);
	}
}
$session->close;

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
