
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# What the transport promises whoever uses it: rows that have to wait for their
# reader go to disk and come back as they were, or the transaction fails; a
# request that is sent again delivers no row twice; and a statement prepared
# before the shard's tables changed is prepared anew.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2, relay => 1);
my $relay = $cluster->relay;

$cluster->shard_sql(0,
	    'CREATE TABLE big (id int, pad text);'
	  . " INSERT INTO big SELECT i, repeat('x', 200)"
	  . ' FROM generate_series(1, 20000) i;'
	  . ' CREATE TABLE small (id int PRIMARY KEY, n int);'
	  . ' INSERT INTO small VALUES (1, 1)');
$cluster->sql('CREATE FOREIGN TABLE big (id int, pad text) SERVER shard_0');
$cluster->sql('CREATE FOREIGN TABLE small (id int, n int) SERVER shard_0');

$cluster->create_slow_reader;

# ---- rows on disk ----

my $temp_bytes =
  "SELECT temp_bytes FROM pg_stat_database WHERE datname = 'postgres'";
my $session = $cluster->session;
my $before = $cluster->sql($temp_bytes);
$session->safe("SET work_mem = '256kB'");
is($session->safe('SELECT read_slowly()'),
	'20000 200010000', 'a stream that had to make way is complete');
$session->close;
ok( $cluster->wait_until(
		sub { $cluster->sql($temp_bytes) - $before > 2_000_000 }, 10),
	'its rows were on disk');

# What memory the rows take is bounded, with any work_mem.
$session = $cluster->session;
$session->safe("SET work_mem = '256kB'");
$session->safe("SET temp_file_limit = '1MB'");

sub goes_on
{
	my ($name) = @_;
	is($session->query('SELECT n FROM small')->text,
		1, "$name: the session goes on");
	is($session->safe('SELECT count(*) FROM big'),
		20000, "$name: nothing old is in the way");
	return;
}

my $answer = $session->query('SELECT read_slowly()');
is($answer->sqlstate, '53400', 'no room on disk: 53400')
  or diag $answer->describe;
like($answer->message, qr/temp_file_limit/, 'the message says why');
goes_on('no room on disk');

$session->safe('BEGIN');
is($session->query('SELECT read_slowly()')->sqlstate,
	'53400', 'no room on disk, in a block: 53400');
is($session->query('SELECT n FROM small')->sqlstate,
	'25P02', 'the transaction has failed');
$session->safe('ROLLBACK');
goes_on('in a block');

# What the transaction wrote on the shard is gone with the connection, so that
# it must not commit.
$session->safe('BEGIN');
$session->safe('UPDATE small SET n = 2');
$session->safe('SAVEPOINT s');
is($session->query('SELECT read_slowly()')->sqlstate,
	'53400', 'no room on disk, below a savepoint: 53400');
$session->safe('ROLLBACK TO s');
$answer = $session->query('SELECT n FROM small');
is($answer->sqlstate, '08006', 'the shard has lost the transaction')
  or diag $answer->describe;
$session->query('ROLLBACK TO s');
$answer = $session->query('COMMIT');
isnt($answer->sqlstate, '00000', 'which cannot be committed any more')
  or diag $answer->describe;
$session->query('ROLLBACK');
goes_on('after a savepoint');

# Where nothing was lost but a read it may go on.
$session->safe('BEGIN');
$session->safe('SAVEPOINT s');
is($session->query('SELECT read_slowly()')->sqlstate,
	'53400', 'no room on disk, nothing before: 53400');
$session->safe('ROLLBACK TO s');
$session->safe('UPDATE small SET n = 1');
is($session->query('COMMIT')->sqlstate,
	'00000', 'the transaction goes on with a new connection');
goes_on('at the end');
$session->close;

# ---- whoever answers first ----

# Also while connections are still being opened.
$cluster->sql('CREATE TABLE parts (id int) PARTITION BY LIST (id)');
foreach my $n (0, 1)
{
	$cluster->shard_sql($n,
		"CREATE TABLE part (id int); INSERT INTO part VALUES ($n)");
	$cluster->sql("CREATE FOREIGN TABLE part_$n PARTITION OF parts"
		  . " FOR VALUES IN ($n) SERVER shard_$n OPTIONS (table_name 'part')");
}
foreach my $slow (0, 1)
{
	foreach my $begin (0, 1)
	{
		my $name = "shard $slow is slow" . ($begin ? ', in a block' : '');

		$session = $cluster->session;
		$session->safe('BEGIN') if $begin;
		$relay->rule(
			route => "shard_$slow",
			match => 'part',
			action => 'hold');
		$session->send('SELECT id FROM parts LIMIT 1');
		is($session->finish(20)->text, 1 - $slow, $name);
		$relay->clear;
		$session->safe('ROLLBACK') if $begin;
		$session->close;
	}
}

# ---- sent again ----

# Some rows at once, of which the client gets some; then a long wait.
$cluster->shard_sql(0,
	    'CREATE FUNCTION wait(i int) RETURNS int LANGUAGE plpgsql AS'
	  . ' $$ BEGIN IF i > 200 THEN PERFORM pg_sleep(60); END IF;'
	  . ' RETURN i; END $$;'
	  . ' CREATE VIEW slow AS SELECT public.wait(i) AS i,'
	  . " repeat('x', 2000) AS pad FROM generate_series(1, 300) i");
$cluster->sql('CREATE FOREIGN TABLE slow (i int, pad text) SERVER shard_0');

$session = $cluster->session;
$session->safe('SELECT n FROM small');
$relay->forget;
$session->send('SELECT i, pad FROM slow');
ok( $cluster->wait_until(
		sub
		{
			$session->is_done(0);
			return @{ $session->{answer}{rows} // [] } > 10;
		},
		30),
	'some rows have arrived');
$relay->cut('shard_0');
$answer = $session->finish(20);
like($answer->sqlstate, qr/^080/, 'lost in the middle of the rows: an error')
  or diag $answer->describe;
my %seen;
$seen{ $_->[0] }++ foreach @{ $answer->{rows} };
is((grep { $_ > 1 } values %seen), 0, 'no row came twice');
is((grep { /slow/ } $relay->statements('shard_0')),
	1, 'and the query was sent once');

# Nothing has arrived yet: sent again, and every row comes once.
foreach my $side (qw(request answer))
{
	foreach my $action (qw(cut reset))
	{
		my $name = "$action before the first answer, $side";
		$session->safe('SELECT n FROM small');
		my $rule = $relay->rule(
			route => 'shard_0',
			match => 'big',
			side => $side,
			until => 'first',
			action => $action);
		$answer = $session->query('SELECT id FROM big');
		is($rule->fired, 1, "$name: done");
		$relay->clear;
		is($answer->sqlstate, '00000', "$name: success")
		  or diag $answer->describe;
		%seen = map { $_->[0] => 1 } @{ $answer->{rows} };
		is(scalar(@{ $answer->{rows} }), 20000, "$name: all rows");
		is(scalar(keys %seen), 20000, "$name: each of them once");
	}
}

# A second loss is the end of it: nothing is sent for ever.
$relay->forget;
my $rule = $relay->rule(
	route => 'shard_0',
	match => 'big',
	action => 'cut',
	times => 0);
$answer = $session->query('SELECT id FROM big');
like($answer->sqlstate, qr/^080/, 'lost again and again: an error')
  or diag $answer->describe;
cmp_ok($rule->fired, '<=', 2, 'not tried more than twice');
$relay->clear;
is($session->safe('SELECT n FROM small'), 1, 'the session goes on');

# A write is not sent again once it may have taken effect.
$session->safe('SELECT n FROM small');
$rule = $relay->rule(
	route => 'shard_0',
	match => '^UPDATE',
	side => 'answer',
	action => 'cut');
$answer = $session->query('UPDATE small SET n = n + 1');
$relay->clear;
isnt($answer->sqlstate, '00000', 'the answer to a write is lost: an error')
  or is($cluster->shard_sql(0, 'SELECT n FROM small'), 2, 'written once');
is($cluster->shard_sql(0, 'SELECT n FROM small'),
	1, 'and nothing is written')
  unless $answer->is_ok;
$session->close;

# ---- prepared statements ----

$cluster->shard_sql(0,
	    'CREATE TABLE wide (id int PRIMARY KEY, v varchar(10));'
	  . " INSERT INTO wide VALUES (1, 'one')");
$cluster->sql('CREATE FOREIGN TABLE wide (id int, v text) SERVER shard_0');
$session = $cluster->session;
my $read = 'SELECT v FROM wide WHERE id = 1';
my $write = "UPDATE wide SET v = v WHERE id = 1 RETURNING v";
my $nchanges = 0;

# Another type for the result; the coordinator takes all of them.
sub change_type
{
	my $type = $nchanges++ % 2 ? 'varchar' : 'text';
	$cluster->shard_sql(0, "ALTER TABLE wide ALTER v TYPE $type");
	return;
}

# Have them prepared, and BEGIN and all as well.
sub warm
{
	foreach my $try (1 .. 3)
	{
		$session->safe($read);
		$session->safe($write);
		$session->safe('BEGIN');
		$session->safe('SELECT n FROM small WHERE id = 1');
		$session->safe($read);
		$session->safe($write);
		$session->safe('COMMIT');
	}
	return;
}

my %how = (
	'after ALTER TABLE' => \&change_type,

	# as a pooler does between transactions
	'after DEALLOCATE ALL' =>
	  sub { $session->safe('SELECT forget FROM forget') });
$cluster->shard_sql(0,
	'CREATE FUNCTION forget() RETURNS int LANGUAGE plpgsql AS'
	  . ' $$ BEGIN DEALLOCATE ALL; RETURN 1; END $$;'
	  . ' CREATE VIEW forget AS SELECT public.forget() AS forget');
$cluster->sql('CREATE FOREIGN TABLE forget (forget int) SERVER shard_0');

foreach my $how (sort keys %how)
{
	foreach my $case (
		[ 'a read', [$read] ],
		[ 'a write', [$write] ],
		[ 'a read in a block', [ 'BEGIN', $read, 'COMMIT' ] ],
		[ 'a write in a block', [ 'BEGIN', $write, 'COMMIT' ] ],
		[
			'a read below a savepoint',
			[ 'BEGIN', 'SAVEPOINT s', $read, 'COMMIT' ]
		],
		[
			'a read in REPEATABLE READ',
			[ 'BEGIN ISOLATION LEVEL REPEATABLE READ', $read, 'COMMIT' ]
		])
	{
		my ($what, $statements) = @$case;
		warm();
		$how{$how}->();
		foreach my $sql (@$statements)
		{
			$answer = $session->query($sql);
			is($answer->sqlstate, '00000', "$how, $what: $sql")
			  or diag $answer->describe;
			is($answer->text, 'one', "$how, $what: the row")
			  if $sql eq $read || $sql eq $write;
		}
	}
}

# Something was written before: that would be lost, so it is for the user.
warm();
$session->safe('BEGIN');
$session->safe('UPDATE small SET n = 7');
change_type();
$answer = $session->query($read);
is($answer->sqlstate, '0A000', 'after a write it cannot be repeated');
like($answer->hint, qr/Try the transaction again/, 'and the hint says so')
  or diag $answer->describe;
$session->safe('ROLLBACK');
is($session->safe($read), 'one', 'the next transaction is well');

# Something was read in the same snapshot.
warm();
$session->safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->safe('SELECT n FROM small');
change_type();
is($session->query($read)->sqlstate,
	'0A000', 'nor where a snapshot would be lost');
$session->safe('ROLLBACK');

$session->close;
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
