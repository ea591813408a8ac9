
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Shards behind PgBouncer, pooled by session and by transaction: everything
# works, and nothing that a session of ours has set is left to others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	conf => { 'shard_fdw.recovery_interval' => '1s' });
$cluster->create_accounts;

# Two server connections for each database, fewer than there are clients.
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $user = $cluster->sql('SELECT current_user');
my $log = "$PostgreSQL::Test::Utils::log_path/530_pgbouncer_pooler.log";
my $pooler;
append_to_file("$dir/users", qq{"$user" ""\n});
append_to_file(
	"$dir/ini",
	"[databases]\n"
	  . join(
		'',
		map {
			my $shard = $cluster->shard($_);
			my $address =
				'host=' . $shard->host . ' port=' . $shard->port
			  . ' dbname=postgres';
			"transaction_$_ = $address pool_mode=transaction pool_size=2\n"
			  . "session_$_ = $address pool_mode=session pool_size=20\n"
		} 0, 1)
	  . "[pgbouncer]\nlisten_port = $port\nunix_socket_dir = $dir\n"
	  . "auth_type = trust\nauth_file = $dir/users\nlogfile = $log\n");

sub start_pooler
{
	$pooler = IPC::Run::start([ '/usr/sbin/pgbouncer', '-q', "$dir/ini" ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null');
	$cluster->wait_until(sub { -S "$dir/.s.PGSQL.$port" }, 30)
	  or die 'pgbouncer does not listen';
	return;
}

sub kill_pooler
{
	$pooler->kill_kill(grace => 0);
	unlink "$dir/.s.PGSQL.$port";
	return;
}

# What a client of the pooler's own gets.
sub pooled
{
	my ($database, $sql) = @_;
	my ($out, $err);

	IPC::Run::run(
		[
			'psql', '-XAtq', '-h', $dir, '-p', $port, '-d', $database,
			'-U', $user, '-c', $sql
		],
		'>', \$out, '2>', \$err,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	chomp $out;
	return $err ? "error: $err" : $out;
}

END
{
	my $status = $?;
	kill_pooler() if $pooler;
	$? = $status;
}

start_pooler();

# Without the option the pooler refuses what a session begins with.
$cluster->sql("ALTER SERVER shard_$_ OPTIONS (SET host '$dir',"
	  . " SET port '$port', SET dbname 'transaction_$_')")
  foreach 0, 1;
my $session = $cluster->session;
my $answer = $session->query('SELECT count(*) FROM accounts');
is($answer->sqlstate, '08001', 'refused without pool_mode');
like($answer->hint, qr/option "pool_mode"/, 'with a hint');
$session->close;
is(($cluster->sql_err(q{ALTER SERVER shard_0 OPTIONS (ADD pool_mode 'some')}))
	[0],
	'22023',
	'a mode that does not exist');

# The shards have settings in which text would be misread.
foreach my $n (0, 1)
{
	$cluster->shard_sql($n, "ALTER DATABASE postgres SET $_")
	  foreach q{datestyle = 'German, DMY'}, q{intervalstyle = 'sql_standard'},
	  'extra_float_digits = -5', q{timezone = 'Asia/Tokyo'},
	  'search_path = trap, public';
	$cluster->shard_sql($n,
			'CREATE SCHEMA trap;'
		  . ' CREATE FUNCTION trap.upper(text) RETURNS text LANGUAGE sql'
		  . q{ AS $$ SELECT 'trapped' $$;}
		  . ' CREATE FUNCTION trap.lower(numeric) RETURNS text LANGUAGE sql'
		  . q{ AS $$ SELECT 'trapped' $$;}
		  . ' CREATE TABLE kinds (k int, d date, t timestamptz, i interval,'
		  . ' f float8);'
		  . ' CREATE VIEW nap AS SELECT pg_sleep(60)::text AS slept;'
		  . ' CREATE TABLE big AS SELECT i FROM generate_series(1, 5000) i');
	$cluster->sql("CREATE FOREIGN TABLE $_->[0]_$n ($_->[1])"
		  . " SERVER shard_$n OPTIONS (schema_name 'public', table_name '$_->[0]')")
	  foreach [ 'kinds', 'k int, d date, t timestamptz, i interval, f float8' ],
	  [ 'nap', 'slept text' ], [ 'big', 'i int' ];
}

my $values =
  q{'2024-02-01', '2024-02-01 12:00:00.5+00', '1 day -1 hour', 0.1::float8 + 0.2};

sub works_ok
{
	my ($mode) = @_;
	my @sessions = map { $cluster->session } 1 .. 6;
	my ($s0, $s1) = @sessions;

	foreach my $round (1 .. 8)
	{
		my @sums = map {
			$_->safe('SELECT count(*), sum(balance) FROM accounts')
		} @sessions;
		is_deeply(\@sums, [ ("20|2000") x 6 ],
			"$mode: six sessions read, round $round")
		  if $round == 8;
	}
	$s0->safe('SET shard_fdw.binary_results = off');
	$s0->safe("INSERT INTO kinds_0 VALUES (1, $values)");
	$s0->safe('PREPARE p(int, date, float8) AS INSERT INTO kinds_0'
		  . ' SELECT $1, $2, t, i, $3 FROM kinds_0 WHERE k = 1 AND d = $2');
	$s0->safe("EXECUTE p($_, '2024-02-01', 0.30000000000000004)")
	  foreach 2 .. 9;
	is( $s0->safe("SELECT count(*) FROM kinds_0 WHERE (d, t, i, f) = ($values)"
			  . ' AND test_here(k)'),
		'9',
		"$mode: text is read as it was written");
	is( $cluster->shard_sql(0,
			"SELECT count(*) FROM kinds WHERE (d, t, i, f) = ($values)"),
		'9',
		"$mode: and has arrived so");
	is($s0->safe(q{SELECT count(*) FROM kinds_0 WHERE upper(d::text) = '2024-02-01'}),
		'9', "$mode: names mean what they mean here");

	# cursors and savepoints, two sessions by turns
	foreach my $s ($s0, $s1)
	{
		$s->safe('BEGIN');
		$s->safe('DECLARE c CURSOR FOR SELECT i FROM big_0 ORDER BY i');
		is($s->safe('FETCH 1 FROM c'), '1', "$mode: a cursor");
	}
	foreach my $s ($s0, $s1)
	{
		$s->safe('SAVEPOINT s');
		$answer = $s->query('INSERT INTO accounts_0 SELECT id FROM accounts_0');
		is($answer->sqlstate, '23502', "$mode: an error in a savepoint");
		$s->safe('ROLLBACK TO s');
		is($s->safe('MOVE 3000 FROM c; FETCH 1 FROM c'),
			'3002', "$mode: the cursor goes on");
		$s->safe('COMMIT');
	}

	# a lone read is not left to write, nor to wait
	$s0->safe(q{SET statement_timeout = '500ms'});
	$answer = $s0->query('SELECT * FROM nap_0');
	is($answer->sqlstate, '57014', "$mode: a statement is cancelled");
	is($s0->safe('SELECT count(*) FROM accounts'), '20',
		"$mode: and the session goes on");

	is( $cluster->wait_until(
			sub {
				$cluster->shard_sql(0,
					q{SELECT count(*) FROM pg_stat_activity
					  WHERE query LIKE '%nap%' AND state = 'active'
					  AND pid <> pg_backend_pid()}) == 0;
			},
			30) ? 1 : 0,
		1,
		"$mode: nor is it left running on the shard");

	# two phases
	my $transfer = $cluster->transfer(0, 1, 10);
	$s1->safe($_) foreach $transfer->statements, 'COMMIT';
	is($transfer->outcome, 'all', "$mode: a transfer");
	$transfer = $cluster->transfer(1, 0, 20);
	$s1->safe($_) foreach $transfer->statements, 'ROLLBACK';
	is($transfer->outcome, 'none', "$mode: one that is rolled back");
	$cluster->settled_ok(20, "$mode: nothing is left of them");

	# the second phase in another session of the shard, by the worker
	$transfer = $cluster->transfer(0, 1, 5);
	$s1->safe($_) foreach $transfer->statements,
	  "PREPARE TRANSACTION 'by user'";
	kill_pooler();
	$answer = $s1->query("COMMIT PREPARED 'by user'");
	ok($answer->is_ok, "$mode: decided while the pooler is down");
	start_pooler();
	is($cluster->wait_until(sub { $cluster->prepared == 0 }, 60) ? 1 : 0,
		1, "$mode: the worker finishes it through the pooler");
	is($transfer->outcome, 'all', "$mode: on both shards");
	$cluster->settled_ok(60, "$mode: nothing is left");

	# a coordinator that is killed
	$transfer = $cluster->transfer(0, 1, 7);
	my $doomed = $cluster->session;
	$doomed->safe($_) foreach $transfer->statements,
	  "PREPARE TRANSACTION 'by user'";
	$cluster->kill_coordinator;
	$cluster->restart_coordinator;
	$cluster->sql("ROLLBACK PREPARED 'by user'");
	$cluster->settled_ok(60, "$mode: rolled back after a crash");
	is($transfer->outcome, 'none', "$mode: on no shard");
	$_->close foreach @sessions;
	return;
}

$cluster->sql('CREATE FUNCTION test_here(int) RETURNS boolean'
	  . ' LANGUAGE plpgsql AS $$ BEGIN RETURN $1 > 0; END $$');
$cluster->sql("ALTER SERVER shard_$_ OPTIONS (ADD pool_mode 'transaction')")
  foreach 0, 1;
works_ok('transaction');

# What is left on the server connections, which others use now.
foreach my $n (0, 1)
{
	is( $cluster->shard_sql($n,
			q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}),
		0,
		"shard $n: no lock of a session");
	foreach my $client (1 .. 4)
	{
		is( pooled(
				"transaction_$n",
				q{SELECT current_setting('search_path'),
					current_setting('timezone'), current_setting('intervalstyle'),
					current_setting('default_transaction_read_only'),
					current_setting('client_connection_check_interval'),
					(SELECT count(*) FROM pg_prepared_statements)}),
			'trap, public|Asia/Tokyo|sql_standard|off|0|0',
			"shard $n, client $client: no setting, no statement");
	}
}
is( $cluster->sql(
		'SELECT count(remote_backend_pid) FROM shard_fdw.get_connections()'),
	0,
	'no process id is claimed');

$cluster->sql('DELETE FROM kinds_0');
$cluster->sql("ALTER SERVER shard_$_ OPTIONS (SET dbname 'session_$_',"
	  . " SET pool_mode 'session')")
  foreach 0, 1;
works_ok('session');

$cluster->assert_atomic('the balances add up');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
