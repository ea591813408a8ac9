
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The memory of a session does not grow with the rows that it reads: from one
# shard, from several, with a reader that does something else meanwhile, and
# with a cursor that is left open; nor with those that it inserts and gets back.
# PG_TEST_EXTRA=memory reads 10 million rows
# instead of 2 million.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

plan skip_all => 'needs /proc' unless -r '/proc/self/status';

use constant LIMIT_KB => 64 * 1024;

my $nrows =
  ($ENV{PG_TEST_EXTRA} // '') =~ /\bmemory\b/ ? 10_000_000 : 2_000_000;
my $cluster = ShardCluster->new(shards => 4, one_server => 1);
my $part = $nrows / 4;

# Rows without tables: set-returning functions in the target list are not
# kept anywhere.
foreach my $n (0 .. 3)
{
	my $from = $n * $part + 1;
	my $to = ($n + 1) * $part;
	$cluster->shard_sql($n,
		"CREATE VIEW some_rows AS SELECT generate_series($from, $to) AS id,"
		  . " 'some text of moderate length'::text AS pad;"
		  . ' CREATE TABLE small AS SELECT 1 AS id;'
		  . ' CREATE TABLE target (id int, pad text)');
}
$cluster->shard_sql(0,
	"CREATE VIEW many AS SELECT generate_series(1, $nrows) AS id,"
	  . " 'some text of moderate length'::text AS pad");
$cluster->sql('CREATE FOREIGN TABLE many (id int, pad text) SERVER shard_0');
$cluster->sql('CREATE FOREIGN TABLE small (id int) SERVER shard_0');
$cluster->sql('CREATE TABLE parts (id int, pad text) PARTITION BY RANGE (id)');
$cluster->sql('CREATE TABLE targets (id int, pad text) PARTITION BY HASH (id)');
foreach my $n (0 .. 3)
{
	my $from = $n * $part + 1;
	my $to = ($n + 1) * $part + 1;
	$cluster->sql("CREATE FOREIGN TABLE parts_$n PARTITION OF parts"
		  . " FOR VALUES FROM ($from) TO ($to) SERVER shard_$n"
		  . " OPTIONS (table_name 'some_rows')");
	$cluster->sql("CREATE FOREIGN TABLE targets_$n PARTITION OF targets"
		  . " FOR VALUES WITH (MODULUS 4, REMAINDER $n) SERVER shard_$n"
		  . " OPTIONS (table_name 'target')");
}
$cluster->sql(
	'CREATE FUNCTION read_slowly() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
	  row record;
	  nrows bigint := 0;
	BEGIN
	  FOR row IN SELECT * FROM many LOOP
	    nrows := nrows + 1;
	    IF nrows % 500000 = 1 THEN
	      PERFORM id FROM small;
	    END IF;
	  END LOOP;
	  RETURN nrows;
	END $$');

sub memory_kb
{
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/status") or return 0;
	my ($kb) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$fh>;
	close($fh);
	return $kb // 0;
}

# Runs a statement and watches how much memory the session has at most above
# what it had before.
sub flat_ok
{
	my ($session, $name, $sql) = @_;
	my $idle = memory_kb($session->pid);
	my $most = $idle;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$session->send($sql);
	until ($session->is_done(0.02))
	{
		my $kb = memory_kb($session->pid);
		$most = $kb if $kb > $most;
	}
	my $answer = $session->finish;
	is($answer->sqlstate, '00000', "$name: success")
	  or diag $answer->describe;
	note sprintf('%s: %d kB above %d kB', $name, $most - $idle, $idle);
	cmp_ok($idle, '>', 0, "$name: memory can be measured");
	cmp_ok($most - $idle, '<', LIMIT_KB, "$name: no more than 64 MB");
	return $answer;
}

my $session = $cluster->session;
$session->safe('SELECT count(*) FROM small');
my $answer = flat_ok($session, 'one shard',
	"COPY (SELECT * FROM many) TO '/dev/null'");
is($answer->{tag}, "COPY $nrows", 'all rows of one shard');
$answer = flat_ok($session, 'four shards',
	"COPY (SELECT * FROM parts) TO '/dev/null'");
is($answer->{tag}, "COPY $nrows", 'all rows of four shards');

# The rest of a stream that has to make way is on disk.
$answer = flat_ok($session, 'slow reader', 'SELECT read_slowly()');
is($answer->text, $nrows, 'all rows came');

# Rows inserted that come back.
my $ninserted = $nrows / 5;
$answer = flat_ok($session, 'rows inserted',
	"COPY (INSERT INTO targets SELECT i, repeat('text', 20)"
	  . " FROM generate_series(1, $ninserted) i RETURNING *) TO '/dev/null'");
is($answer->{tag}, "COPY $ninserted", 'all rows came back');

# A cursor left open costs what is fetched ahead.
$session->safe('BEGIN');
$session->safe('DECLARE c NO SCROLL CURSOR FOR SELECT * FROM many');
$session->safe('FETCH 10 FROM c');
flat_ok($session, 'open cursor', 'SELECT count(*) FROM small');
$answer =
  flat_ok($session, 'open cursor, rows skipped', "MOVE 300000 FROM c");
is($answer->{tag}, 'MOVE 300000', 'they were there');
flat_ok($session, 'open cursor, something else', 'SELECT count(*) FROM parts');
is($session->safe('FETCH 1 FROM c') =~ s/\|.*//r,
	300011, 'and the cursor goes on');
$session->safe('COMMIT');
$session->close;

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
