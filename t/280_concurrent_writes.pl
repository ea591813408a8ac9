
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Two transactions that write the same rows, at once: through shard_fdw the
# second one waits for the first, and then does, answers and leaves what it does
# with the same partitions on the coordinator.  Each case runs on both.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2);
my $columns = 'id int PRIMARY KEY, grp int, v int, note text';
my $rows =
  "SELECT i, i % 3, 10 * i, 'note ' || i FROM generate_series(1, 12) i";

# Partitions by range of id: up to 6, and above.
sub create_tables
{
	$cluster->sql('CREATE TABLE local_side (id int, extra int)');
	$cluster->sql('INSERT INTO local_side SELECT i, 100 FROM generate_series(1, 12, 2) i');
	$cluster->sql(<<~'SQL');
		CREATE FUNCTION is_zero(int) RETURNS boolean LANGUAGE plpgsql
		AS 'BEGIN RETURN $1 = 0; END'
		SQL
	foreach my $schema ('here', 'there')
	{
		my $key = $schema eq 'here' ? $columns : $columns =~ s/ PRIMARY KEY//r;
		$cluster->sql("CREATE SCHEMA $schema");
		$cluster->sql("CREATE TABLE $schema.t ($key) PARTITION BY RANGE (id)");
	}
	foreach my $n (0, 1)
	{
		my ($from, $to) = $n == 0 ? ('MINVALUE', 7) : (7, 'MAXVALUE');
		$cluster->shard_sql($n, "CREATE TABLE t ($columns)");
		$cluster->sql("CREATE TABLE here.t_$n PARTITION OF here.t"
			  . " FOR VALUES FROM ($from) TO ($to)");
		$cluster->sql("CREATE FOREIGN TABLE there.t_$n PARTITION OF there.t"
			  . " FOR VALUES FROM ($from) TO ($to)"
			  . " SERVER shard_$n OPTIONS (schema_name 'public', table_name 't')");
	}
	return;
}

sub fill
{
	my ($schema) = @_;
	$cluster->sql("DELETE FROM $schema.t");
	$cluster->sql("INSERT INTO $schema.t $rows");
	return;
}

# Does a session wait for a lock of the transaction that is first?
sub is_waiting
{
	my ($schema) = @_;
	my $sql = 'SELECT count(*) FROM pg_stat_activity'
	  . " WHERE wait_event_type = 'Lock' AND wait_event <> 'advisory'";

	return $cluster->sql($sql) > 0 if $schema eq 'here';
	return $cluster->shard_sql(0, $sql) + $cluster->shard_sql(1, $sql) > 0;
}

sub told
{
	my ($answer) = @_;
	return $answer->sqlstate unless $answer->is_ok;
	return join("\n", sort { $a cmp $b } split(/\n/, $answer->text // ''));
}

# Two sessions that see the schema's table, the first one in a transaction.
sub start_two
{
	my ($schema) = @_;
	my @sessions = map { $cluster->session } 1, 2;

	$_->safe("SET search_path = $schema, public") foreach @sessions;
	$sessions[0]->safe('BEGIN');
	return @sessions;
}

# What the case gives in a schema, as one text.
sub run_case
{
	my ($case, $schema) = @_;
	my @told;

	fill($schema);
	my ($first, $second) = start_two($schema);
	$second->safe("BEGIN ISOLATION LEVEL $case->{level}");
	$second->safe($_) foreach @{ $case->{before} // [] };
	$first->safe($case->{first});
	$second->send($case->{second});
	$cluster->wait_until(
		sub { is_waiting($schema) || $second->is_done(0) }, 10);
	push @told, $second->is_done(0) ? 'did not wait' : 'waited';
	$first->safe($case->{end});
	push @told, told($second->finish(10));
	push @told, told($second->query('COMMIT'));
	push @told,
	  $cluster->sql("SELECT string_agg(t::text, ' ' ORDER BY id) FROM $schema.t t");
	$_->close foreach $first, $second;
	return join("\n", @told);
}

sub same_ok
{
	my ($name, %case) = @_;

	$case{level} //= 'READ COMMITTED';
	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		my $here = run_case({ %case, end => $end }, 'here');
		my $there = run_case({ %case, end => $end }, 'there');

		is($there, $here, "$name, $end");
		like($there, qr/^waited/, "$name, $end: waited") if $case{waits} // 1;
	}
	return;
}

create_tables();

# ---- the same row, by key -------------------------------------------------------

my $add = 'UPDATE t SET v = v + 1 WHERE id = 2';

same_ok('two UPDATEs', first => $add,
	second => 'UPDATE t SET v = v * 2 WHERE id = 2 RETURNING id, v');
same_ok('UPDATE after DELETE', first => 'DELETE FROM t WHERE id = 2',
	second => "$add RETURNING *");
same_ok('DELETE after UPDATE', first => $add,
	second => 'DELETE FROM t WHERE id = 2 RETURNING *');
same_ok('UPDATE of what no longer matches',
	first => 'UPDATE t SET grp = 9 WHERE id = 2',
	second => 'UPDATE t SET v = 0 WHERE id = 2 AND grp = 2 RETURNING *');
same_ok('UPDATE of what matches now, but did not',
	first => 'UPDATE t SET grp = 9 WHERE id IN (2, 8)',
	second => 'UPDATE t SET v = 0 WHERE id IN (2, 8) AND grp <> 2 RETURNING *',
	waits => 0);
same_ok('SELECT FOR UPDATE', first => $add,
	second => 'SELECT * FROM t WHERE id = 2 FOR UPDATE');
same_ok('SELECT FOR UPDATE of what no longer matches',
	first => 'UPDATE t SET grp = 9 WHERE id IN (2, 8)',
	second => 'SELECT * FROM t WHERE grp = 2 ORDER BY id FOR UPDATE');
same_ok('SELECT FOR UPDATE SKIP LOCKED', first => $add,
	second => 'SELECT id FROM t WHERE grp = 2 FOR UPDATE SKIP LOCKED',
	waits => 0);
same_ok('SELECT FOR UPDATE NOWAIT', first => $add,
	second => 'SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT', waits => 0);

# ---- rows of both shards --------------------------------------------------------

same_ok('UPDATE of all', first => $add,
	second => 'UPDATE t SET v = v + 1000 RETURNING id, v');
same_ok('UPDATE of a group that rows leave',
	first => 'UPDATE t SET grp = 9 WHERE id IN (2, 8)',
	second => 'UPDATE t SET v = -1 WHERE grp = 2 RETURNING id');
same_ok('DELETE of a group that rows leave',
	first => 'UPDATE t SET grp = 9 WHERE id IN (2, 8)',
	second => 'DELETE FROM t WHERE grp = 2 RETURNING id');

# ---- where the coordinator finds the rows, or makes their values ------------------

same_ok('a condition the shard cannot compute',
	first => 'UPDATE t SET grp = 9 WHERE id IN (3, 9)',
	second => 'UPDATE t SET v = -1 WHERE is_zero(grp) RETURNING id');
same_ok('a condition the shard cannot compute, DELETE',
	first => 'UPDATE t SET grp = 9, v = 5 WHERE id IN (3, 9)',
	second => 'DELETE FROM t WHERE is_zero(grp) RETURNING id');
same_ok('a value the shard cannot compute',
	first => $add,
	second => 'UPDATE t SET v = v + is_zero(grp)::int + 100 WHERE id IN (1, 2)'
	  . ' RETURNING id, v');
same_ok('a join with a local table',
	first => 'UPDATE t SET v = v + 1 WHERE id IN (3, 9)',
	second => 'UPDATE t SET v = v + extra FROM local_side l'
	  . ' WHERE l.id = t.id AND grp = 0 RETURNING t.id, v');
same_ok('a join with a local table, rows that leave',
	first => 'UPDATE t SET grp = 9 WHERE id IN (3, 9)',
	second => 'DELETE FROM t USING local_side l'
	  . ' WHERE l.id = t.id AND grp = 0 RETURNING t.id');
# a trigger that says what it saw makes the rows come here as well
$cluster->sql(<<~'SQL');
	CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN NEW.note := 'was ' || OLD.v; RETURN NEW; END $$;
	CREATE TRIGGER note BEFORE UPDATE ON here.t_0 FOR EACH ROW
	  EXECUTE FUNCTION note_change();
	CREATE TRIGGER note BEFORE UPDATE ON there.t_0 FOR EACH ROW
	  EXECUTE FUNCTION note_change()
	SQL
same_ok('a row trigger', first => 'UPDATE t SET v = v + 1 WHERE id IN (2, 8)',
	second => 'UPDATE t SET v = v + 7 WHERE grp = 2 RETURNING *');
$cluster->sql("DROP TRIGGER note ON $_.t_0") foreach 'here', 'there';

# ---- rows that move to another shard ----------------------------------------------

same_ok('UPDATE, then moved', first => 'UPDATE t SET v = v + 1 WHERE id = 2',
	second => 'UPDATE t SET id = 20 - id WHERE id = 8 RETURNING *', waits => 0);
same_ok('moved after UPDATE', first => 'UPDATE t SET v = v + 1 WHERE id = 5',
	second => 'UPDATE t SET id = 13 - id, note = v::text WHERE id = 5 RETURNING *');

# ---- unique keys ----------------------------------------------------------------

my $insert = "INSERT INTO t VALUES (5, 1, 1, 'second')";

foreach my $statement ($insert, "$insert ON CONFLICT DO NOTHING")
{
	same_ok("$statement, key deleted", first => 'DELETE FROM t WHERE id = 5',
		second => $statement);
}
$cluster->sql('DELETE FROM here.t WHERE id = 5');
$rows .= ' WHERE i <> 5';
foreach my $statement (
	$insert,
	"$insert ON CONFLICT DO NOTHING",
	"$insert ON CONFLICT (id) DO NOTHING",
	"$insert ON CONFLICT (id) DO UPDATE SET v = t.v + 1000,"
	. ' note = excluded.note')
{
	same_ok($statement,
		first => "INSERT INTO t VALUES (5, 2, 2, 'first')",
		second => $statement);
}

# ---- other levels ---------------------------------------------------------------

foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	same_ok("two UPDATEs, $level",
		level => $level,
		before => ['SELECT count(*) FROM t'],
		first => $add,
		second => 'UPDATE t SET v = v * 2 WHERE id = 2');
	same_ok("UPDATE of all, $level",
		level => $level,
		before => ['SELECT count(*) FROM t'],
		first => 'UPDATE t SET v = v + 1 WHERE id IN (2, 8)',
		second => 'UPDATE t SET v = 0 WHERE grp = 2');
	same_ok("a condition the shard cannot compute, $level",
		level => $level,
		before => ['SELECT count(*) FROM t'],
		first => 'UPDATE t SET v = v + 1 WHERE id IN (3, 9)',
		second => 'UPDATE t SET v = -1 WHERE is_zero(grp)');
}

# ---- lock_timeout of the session --------------------------------------------------

# What a session is told that gives up waiting, statement by statement.
sub run_impatient
{
	my ($schema, @statements) = @_;

	fill($schema);
	my ($first, $second) = start_two($schema);
	$first->safe($add);
	my @told = map { told($second->query($_)) } @statements;
	$first->safe('ROLLBACK');
	push @told,
	  $cluster->sql("SELECT string_agg(t::text, ' ' ORDER BY id) FROM $schema.t t");
	$_->close foreach $first, $second;
	return join("\n", @told);
}

sub impatient_ok
{
	my ($name, $given_up, @statements) = @_;
	my $here = run_impatient('here', @statements);

	is(run_impatient('there', @statements), $here, "lock_timeout: $name");
	is(() = $here =~ /^55P03$/mg, $given_up, "lock_timeout: $name, given up");
	return;
}

my $impatient = "lock_timeout = '100ms'";
my $other = 'UPDATE t SET v = v * 2 WHERE id = 3';

$cluster->sql(<<~'SQL');
	CREATE FUNCTION try_change() RETURNS void LANGUAGE plpgsql
	SET lock_timeout = '100ms'
	AS $$ BEGIN UPDATE t SET v = -7 WHERE id IN (2, 8); END $$
	SQL
impatient_ok('for the session', 4, "SET $impatient",
	'UPDATE t SET v = 0 WHERE id = 2', 'DELETE FROM t WHERE grp = 2',
	'SELECT id FROM t WHERE id = 2 FOR UPDATE', 'TRUNCATE t');
impatient_ok('set in a transaction', 1, 'BEGIN', $other, "SET LOCAL $impatient",
	'UPDATE t SET v = 0 WHERE id = 2', 'ROLLBACK');
impatient_ok('below a savepoint', 2, 'BEGIN', $other, 'SAVEPOINT a',
	"SET LOCAL $impatient", 'UPDATE t SET v = 0 WHERE id = 2',
	'ROLLBACK TO a', "SET LOCAL $impatient", $other,
	'UPDATE t SET v = 0 WHERE id = 2', 'ROLLBACK TO a', $other, 'COMMIT');
impatient_ok('set before the savepoint', 2, 'BEGIN', "SET LOCAL $impatient",
	'SAVEPOINT a', 'UPDATE t SET v = 0 WHERE id = 2', 'ROLLBACK TO a', $other,
	'SAVEPOINT b', 'UPDATE t SET v = 0 WHERE id = 2', 'ROLLBACK TO b', 'COMMIT');
impatient_ok('of a function', 1, 'BEGIN', $other, 'SAVEPOINT a',
	'SELECT try_change()', 'ROLLBACK TO a', $other, 'COMMIT');

# rows that a statement has put off are sent from a function that it calls, and
# are no part of that
$cluster->sql(<<~'SQL');
	CREATE FUNCTION look() RETURNS boolean LANGUAGE plpgsql
	SET lock_timeout = '100ms'
	AS $$ BEGIN RETURN count(*) >= 0 FROM there.t WHERE v = -1; END $$
	SQL
fill('there');
my $first = $cluster->shard_session(0);
my $second = $cluster->session;
$first->safe('BEGIN');
$first->safe('INSERT INTO t VALUES (-1)');
$second->send('INSERT INTO there.t (id)'
	  . ' SELECT i FROM generate_series(-1, -3, -1) i WHERE i = -1 OR look()');
ok( $cluster->wait_until(
		sub
		{
			$cluster->shard_sql(0,
				'SELECT count(*) FROM pg_locks WHERE NOT granted'
				  . " AND clock_timestamp() - waitstart > '300ms'") eq 1;
		},
		60),
	'lock_timeout: rows put off wait without the limit of the function');
$first->safe('ROLLBACK');
is($second->finish->sqlstate, '00000', 'lock_timeout: and are written');
is($cluster->shard_sql(0, 'SELECT count(*) FROM t WHERE id < 0'),
	3, 'lock_timeout: all of them');
$_->close foreach $first, $second;

# a read alone waits for DDL; and without a limit of ours the shard's own holds
my $ddl = $cluster->shard_session(0);
my $reader = $cluster->session;
$ddl->safe('BEGIN');
$ddl->safe('LOCK TABLE t');
$reader->safe("SET $impatient");
is($reader->query('SELECT count(*) FROM there.t')->sqlstate,
	'55P03', 'lock_timeout: a read alone');
$cluster->shard_sql(0, "ALTER DATABASE postgres SET $impatient");
$reader->safe('SELECT shard_fdw.disconnect_all()');
$reader->safe('BEGIN');
$reader->safe("SET LOCAL lock_timeout = '200ms'");
$reader->safe('SELECT count(*) FROM there.t_1');
$reader->safe('SET LOCAL lock_timeout = 0');
is($reader->query('SELECT count(*) FROM there.t')->sqlstate,
	'55P03', 'lock_timeout: that of the shard');
$ddl->safe('ROLLBACK');
$reader->safe('ROLLBACK');
$cluster->shard_sql(0, 'ALTER DATABASE postgres RESET lock_timeout');
$_->close foreach $ddl, $reader;

$cluster->settled_ok(10, 'nothing is left');
$cluster->logs_clean_ok;
done_testing();
