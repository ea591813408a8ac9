
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# With use_scram_passthrough a user needs no password in his mapping: the
# shard gets the keys of his client's own authentication, or nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 2);
my $has_keys =
  $cluster->sql("SELECT current_setting('server_version_num')::int >= 180000")
  eq 't';

# The user has one verifier everywhere; shard 1 lets him in without asking.
$cluster->sql(q{CREATE ROLE alice LOGIN PASSWORD 'secret of alice'});
my $verifier = $cluster->sql(
	q{SELECT rolpassword FROM pg_authid WHERE rolname = 'alice'});
$cluster->sql('GRANT USAGE ON FOREIGN DATA WRAPPER shard_fdw TO alice');
foreach my $n (0, 1)
{
	$cluster->shard_sql($n,
			"CREATE ROLE alice LOGIN PASSWORD '$verifier';"
		  . ' CREATE TABLE t (who text DEFAULT session_user);'
		  . ' INSERT INTO t DEFAULT VALUES; GRANT ALL ON t TO alice');
	$cluster->sql("ALTER SERVER shard_$n"
		  . " OPTIONS (ADD use_scram_passthrough 'true')");
	$cluster->sql("GRANT USAGE ON FOREIGN SERVER shard_$n TO alice");
	$cluster->sql("CREATE USER MAPPING FOR alice SERVER shard_$n"
		  . " OPTIONS (user 'alice')");
	$cluster->sql("CREATE FOREIGN TABLE t_$n (who text) SERVER shard_$n"
		  . " OPTIONS (table_name 't')");
	$cluster->sql("GRANT ALL ON t_$n TO alice");
}
foreach my $node ($cluster->coordinator, $cluster->shard(0))
{
	my $file = $node->data_dir . '/pg_hba.conf';
	my $others = slurp_file($file);

	unlink($file);
	$node->append_conf('pg_hba.conf',
		"local all alice scram-sha-256\n$others");
	$node->reload;
}
foreach my $session (
	sub { $cluster->session(user => 'alice') },
	sub { $cluster->shard_session(0, user => 'alice') })
{
	$cluster->wait_until(
		sub { !eval { $session->()->close; 1 } }, 10)
	  or die 'alice is not asked for a password';
}

# Standard output and error of a session of alice.
sub alice
{
	my ($sql) = @_;
	local $ENV{PGPASSWORD} = 'secret of alice';
	my ($status, $out, $err) = $cluster->coordinator->psql(
		'postgres', $sql,
		connstr => $cluster->coordinator->connstr('postgres')
		  . ' user=alice');

	return ($out, $err);
}

my ($out, $err) = alice('SELECT count(*) FROM t_0');
if (!$has_keys)
{
	like($err, qr/password/,
		'before PostgreSQL 18 a session has no keys to pass on');
	$cluster->stop;
	done_testing;
	exit;
}
is($out, '1', 'the shard takes the keys') or diag($err);
($out, $err) = alice(
	'BEGIN; INSERT INTO t_0 VALUES (1); SELECT count(*) FROM t_0; COMMIT');
is($out, '2', 'and for a transaction');
($out, $err) = alice('SELECT count(*) FROM t_1');
like($err, qr/authentication method requirement "scram-sha-256" failed/,
	'a shard that does not ask is refused');
$cluster->sql('ALTER USER MAPPING FOR alice SERVER shard_0'
	  . " OPTIONS (ADD use_scram_passthrough 'false')");
($out, $err) = alice('SELECT count(*) FROM t_0');
like($err, qr/provide a password, or enable SCRAM pass-through/,
	'the option of the mapping overrides that of the server');
$cluster->sql(
	'ALTER USER MAPPING FOR alice SERVER shard_0 OPTIONS (DROP use_scram_passthrough)'
);
$cluster->shard_sql(0, q{ALTER ROLE alice PASSWORD 'secret of alice'});
($out, $err) = alice('SELECT count(*) FROM t_0');
like($err, qr/could not connect|authentication failed/,
	'the same password with another salt does not do');

# A session that was not authenticated by SCRAM has nothing to pass on.
my $session = $cluster->session;
$session->safe('SET ROLE alice');
my $answer = $session->query('SELECT count(*) FROM t_0');
is($answer->sqlstate, '2F003', 'SET ROLE brings no keys');
$session->close;

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
