
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# What the user reads when something is wrong: the right SQLSTATE, the shard's
# own words, and a hint where there is one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use ShardFaults;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	conf => {
		'shard_fdw.commit_timeout' => '3s',
		'shard_fdw.connect_timeout' => '2s',
	});
$cluster->create_accounts;
my $relay = $cluster->relay;
my $session = $cluster->session;

sub fails_ok
{
	my ($sql, $sqlstate, $name) = @_;
	my $answer = $session->query($sql);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($answer->sqlstate, $sqlstate, "$name: $sqlstate")
	  or diag $answer->describe;
	return $answer;
}

# ---- objects that are missing or different on the shard ----

$cluster->shard_sql(0, 'CREATE TABLE there (a int, b text);'
	  . " INSERT INTO there VALUES (1, 'x')");
$cluster->sql('CREATE FOREIGN TABLE no_table (a int) SERVER shard_0;'
	  . ' CREATE FOREIGN TABLE no_column (a int, c int) SERVER shard_0'
	  . " OPTIONS (table_name 'there');"
	  . ' CREATE FOREIGN TABLE other_type (a int, b int) SERVER shard_0'
	  . " OPTIONS (table_name 'there');"
	  . ' CREATE FOREIGN TABLE no_schema (a int) SERVER shard_0'
	  . " OPTIONS (schema_name 'nowhere', table_name 'there')");
my $answer = fails_ok('SELECT * FROM no_table', '42P01', 'missing table');
like($answer->message, qr/relation "public\.no_table" does not exist/,
	'the words of the shard');
like($answer->context, qr/SELECT/, 'the remote SQL in the context');
fails_ok('SELECT * FROM no_schema', '42P01', 'missing schema');
$answer = fails_ok('SELECT c FROM no_column', '42703', 'missing column');
like($answer->message, qr/column .*"?c"? does not exist/,
	'the words of the shard');
fails_ok('UPDATE no_column SET c = 1', '42703', 'missing column, UPDATE');
fails_ok('INSERT INTO no_column VALUES (1, 2)',
	'42703', 'missing column, INSERT');
$answer = $session->query('SELECT b FROM other_type');
like($answer->sqlstate, qr/^(22P02|42804|HV004)$/, 'a type that does not fit')
  or diag $answer->describe;
like($answer->context . $answer->detail . $answer->message,
	qr/"?b"?.*other_type|other_type.*"?b"?/s,
	'names table and column') or diag $answer->describe;

# ---- what the shard says about the data is passed on ----

my $id = $cluster->id(0);
$answer = fails_ok("INSERT INTO accounts VALUES ($id, 1)",
	'23505', 'unique violation');
like($answer->detail, qr/\(id\)=\($id\) already exists/, 'with its detail');
fails_ok("UPDATE accounts SET balance = NULL WHERE id = $id",
	'23502', 'not-null violation');
$cluster->shard_sql(0, 'CREATE VIEW broken AS SELECT 1 / 0 AS n');
$cluster->sql('CREATE FOREIGN TABLE broken (n int) SERVER shard_0');
fails_ok('SELECT * FROM broken', '22012', 'division by zero');
is($session->query('SELECT sum(balance) FROM accounts')->text,
	2000, 'the session goes on after errors');

# ---- limits and conflicts on the shard ----

$cluster->shard_sql(0, 'CREATE VIEW slow AS SELECT 1 AS n FROM pg_sleep(20)');
$cluster->sql('CREATE FOREIGN TABLE slow (n int) SERVER shard_0');
$cluster->shard_sql(0,
	"ALTER ROLE CURRENT_USER SET statement_timeout = '300ms'");
$session->close;
$session = $cluster->session;
$answer = fails_ok('SELECT * FROM slow', '57014',
	'statement_timeout of the shard');
like($answer->message, qr/statement timeout/, 'in its words');
$cluster->shard_sql(0, 'ALTER ROLE CURRENT_USER RESET statement_timeout');
$session->close;
$session = $cluster->session;

# a conflict under REPEATABLE READ
my $other = $cluster->session;
$session->safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->safe("SELECT balance FROM accounts WHERE id = $id");
$other->safe("UPDATE accounts SET balance = balance + 0 WHERE id = $id");
fails_ok("UPDATE accounts SET balance = balance + 0 WHERE id = $id",
	'40001', 'a conflict');
$session->safe('ROLLBACK');

# a deadlock on one shard
my ($one, $two) = ($cluster->id(0, 1), $cluster->id(0, 2));
my $touch = 'UPDATE accounts SET balance = balance WHERE id =';
$session->safe('BEGIN');
$other->safe('BEGIN');
$session->safe("$touch $one");
$other->safe("$touch $two");
$session->send("$touch $two");
$cluster->wait_until(
	sub {
		$cluster->shard_sql(0,
			'SELECT count(*) FROM pg_locks WHERE NOT granted');
	},
	10);
$other->send("$touch $one");
my @answers = ($other->finish(20), $session->finish(20));
is(join(' ', sort map { $_->sqlstate } @answers),
	'00000 40P01', 'a deadlock: one of the two gets 40P01');
$_->safe('ROLLBACK') foreach $session, $other;

# ---- connecting ----

$cluster->sql($cluster->create_server_sql(0, name => 'down', port => 1));
$cluster->sql(
	$cluster->create_server_sql(0, name => 'nodb', dbname => 'nowhere'));
foreach my $server (qw(down nodb))
{
	$cluster->sql("CREATE USER MAPPING FOR CURRENT_USER SERVER $server");
	$cluster->sql("CREATE FOREIGN TABLE t_$server (n int) SERVER $server");
	$answer =
	  fails_ok("SELECT * FROM t_$server", '08001', "server $server");
	like($answer->message, qr/"$server"/, 'the message names the server');
	isnt($answer->detail, '', 'the detail says why')
	  or diag $answer->describe;
}
like($answer->detail, qr/database "nowhere" does not exist/,
	'the words of the shard');

my $shard = $cluster->shard(1);
$cluster->shard_sql(1, "CREATE ROLE scram LOGIN PASSWORD 'right'");
my $hba = PostgreSQL::Test::Utils::slurp_file(
	$shard->data_dir . '/pg_hba.conf');
unlink($shard->data_dir . '/pg_hba.conf');
$shard->append_conf('pg_hba.conf', "local all scram scram-sha-256\n$hba");
$shard->reload;
$cluster->sql($cluster->create_server_sql(1, name => 'wrong'));
$cluster->sql('CREATE USER MAPPING FOR CURRENT_USER SERVER wrong'
	  . " OPTIONS (user 'scram', password 'not-it')");
$cluster->sql('CREATE FOREIGN TABLE t_wrong (n int) SERVER wrong');
$answer = fails_ok('SELECT * FROM t_wrong', '08001', 'wrong password');
like($answer->detail, qr/password authentication failed for user "scram"/,
	'the detail has the words of the shard');
unlike($answer->describe, qr/not-it/, 'but not the password');

# ---- options ----

foreach my $case (
	[
		"ALTER SERVER shard_0 OPTIONS (ADD fetch_sise '5')", 'fetch_size',
		'of a server'
	],
	[
		"ALTER FOREIGN TABLE broken OPTIONS (ADD tablename 'x')",
		'table_name', 'of a table'
	],
	[
		'ALTER USER MAPPING FOR CURRENT_USER SERVER shard_0'
		  . " OPTIONS (ADD pasword 'x')",
		'password',
		'of a mapping'
	],
	[
		'ALTER FOREIGN TABLE broken ALTER n'
		  . " OPTIONS (ADD columnname 'x')",
		'column_name',
		'of a column'
	])
{
	my ($sql, $nearest, $name) = @$case;
	$answer = fails_ok($sql, 'HV00D', "unknown option $name");
	like($answer->hint, qr/"?$nearest"?/, "hint with the nearest: $nearest");
}
foreach my $case (
	[ 'fetch_size', '0' ],
	[ 'fetch_size', 'many' ],
	[ 'batch_size', '-1' ],
	[ 'fdw_startup_cost', 'x' ],
	[ 'use_remote_estimate', 'perhaps' ],
	[ 'keep_connections', '3' ])
{
	my ($option, $value) = @$case;
	$answer = $session->query(
		"ALTER SERVER shard_0 OPTIONS (ADD $option '$value')");
	like($answer->sqlstate, qr/^(22023|HV024|42601)$/,
		"$option = $value is refused")
	  or diag $answer->describe;
}

# ---- READ ONLY reaches the shard ----

$session->safe('BEGIN READ ONLY');
fails_ok("$touch $id", '25006', 'a write in a READ ONLY transaction');
$session->safe('ROLLBACK');
$cluster->shard_sql(0, 'CREATE TABLE side (n int);'
	  . ' CREATE FUNCTION side() RETURNS int LANGUAGE sql AS'
	  . ' $$INSERT INTO public.side VALUES (1) RETURNING n$$;'
	  . ' CREATE VIEW side_view AS SELECT side() AS n');
$cluster->sql('CREATE FOREIGN TABLE side_view (n int) SERVER shard_0');
$session->safe('BEGIN READ ONLY');
fails_ok('SELECT * FROM side_view', '25006',
	'a SELECT that writes on the shard, READ ONLY');
$session->safe('ROLLBACK');

# ---- something in doubt needs its server ----

my ($decided) = grep { $_->{name} eq 'decided, before COMMIT PREPARED' }
  ShardFaults::steps();
my $stopped = ShardFaults->reach($cluster, $decided);
$relay->partition('shard_1');
$stopped->let_go('discard');
my $told = $stopped->session->finish(60);
ok($told->is_ok, 'decided: success') or diag $told->describe;
$cluster->wait_until(sub { !$cluster->prepared_on(0) }, 10);
$session->close;
$session = $cluster->session;
$answer = fails_ok('DROP SERVER shard_1 CASCADE',
	'55006', 'DROP SERVER with something in doubt');
isnt($answer->hint . $answer->detail, '', 'and says more');
note $answer->describe;
$answer = fails_ok('DROP USER MAPPING FOR CURRENT_USER SERVER shard_1',
	'55006', 'DROP USER MAPPING with something in doubt');
$session->safe('BEGIN');
$answer = fails_ok('DROP EXTENSION shard_fdw CASCADE',
	'55006', 'DROP EXTENSION with something in doubt');
$session->safe('ROLLBACK');
$relay->heal('shard_1');
$cluster->wait_until(sub { !$cluster->prepared_on(1) }, 60);
$cluster->settled_ok(10, 'in doubt no more');
is($stopped->transfer->outcome, 'all', 'the transfer is committed');
$session->safe('DROP FOREIGN TABLE accounts_1');
is( $session->query('DROP USER MAPPING FOR CURRENT_USER SERVER shard_1')
	  ->sqlstate,
	'00000',
	'now the mapping can be dropped');
is($session->query('DROP SERVER shard_1 CASCADE')->sqlstate,
	'00000', 'and the server');
is($session->query('DROP EXTENSION shard_fdw CASCADE')->sqlstate,
	'00000', 'and the extension');

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
