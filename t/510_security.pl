
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# A user who is not a superuser connects with a password of his own or not at
# all; he never gets to use what the server process could use.  Secrets do not
# get into messages and logs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

# Credentials that belong to the server process: a password file and a
# service file with the right password.  They must not help anybody else.
my $dir = PostgreSQL::Test::Utils::tempdir();
my $secret = 'S3cret-of-alice';
my $server_secret = 'S3cret-of-the-server';
append_to_file("$dir/pgpass", "*:*:*:alice:$server_secret\n");
append_to_file("$dir/service",
	"[trick]\nuser=alice\npassword=$server_secret\n");
chmod(0600, "$dir/pgpass", "$dir/service");
local $ENV{PGSERVICEFILE} = "$dir/service";
my $passfile = "$dir/pgpass";

my $cluster = ShardCluster->new(shards => 2);
my $shard = $cluster->shard(0);

# On shard 0, alice needs a password; on shard 1 nobody does.
my $hba = slurp_file($shard->data_dir . '/pg_hba.conf');
unlink($shard->data_dir . '/pg_hba.conf');
$shard->append_conf('pg_hba.conf',
	"local all alice,wrong scram-sha-256\n$hba");
foreach my $n (0, 1)
{
	$cluster->shard_sql($n,
			"CREATE ROLE alice LOGIN PASSWORD '$secret';"
		  . ' CREATE TABLE t (n int); INSERT INTO t VALUES (1);'
		  . ' GRANT ALL ON t TO alice');
}
$cluster->shard_sql(0, 'SELECT pg_reload_conf()');
$cluster->wait_until(
	sub { !eval { $cluster->shard_session(0, user => 'alice')->close; 1 } },
	10) or die 'shard 0 does not ask for a password';

$cluster->sql($_)
  foreach 'CREATE ROLE alice LOGIN', 'CREATE ROLE bob LOGIN',
  'GRANT USAGE ON FOREIGN DATA WRAPPER shard_fdw TO alice, bob',
  'GRANT CREATE ON DATABASE postgres TO alice',
  'GRANT ALL ON SCHEMA public TO alice, bob';
foreach my $n (0, 1)
{
	$cluster->sql("GRANT USAGE ON FOREIGN SERVER shard_$n TO alice, bob");
	$cluster->sql("CREATE FOREIGN TABLE t_$n (n int) SERVER shard_$n"
		  . " OPTIONS (table_name 't')");
	$cluster->sql("GRANT ALL ON t_$n TO alice, bob");
}

# What a fresh session of a user gets from a statement.
sub as_user
{
	my ($user, @statements) = @_;
	my $session = $cluster->session(user => $user);
	my $answer;

	foreach my $statement (@statements)
	{
		$answer = $session->query($statement);
		last unless $answer->is_ok;
	}
	$session->close;
	return $answer;
}

sub refused_ok
{
	my ($answer, $sqlstate, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($answer->sqlstate, $sqlstate, $name) or diag $answer->describe;
	my $text = $answer->describe;
	ok($text !~ /\Q$secret\E|\Q$server_secret\E/, "$name: no secret is told");
	return;
}

# ---- no mapping, no password ----

refused_ok(as_user('bob', 'SELECT * FROM t_0'),
	'42704', 'a user without a mapping');
refused_ok(
	as_user(
		'alice',
		"CREATE USER MAPPING FOR alice SERVER shard_0 OPTIONS (user 'alice')",
		'SELECT * FROM t_0'),
	'2F003',
	'a mapping without a password');
refused_ok(
	as_user('alice',
		"ALTER USER MAPPING FOR alice SERVER shard_0"
		  . " OPTIONS (ADD password '')",
		'SELECT * FROM t_0'),
	'2F003',
	'an empty password');

# ---- a password that is used ----

is( as_user(
		'alice',
		"ALTER USER MAPPING FOR alice SERVER shard_0"
		  . " OPTIONS (SET password '$secret')",
		'SELECT * FROM t_0')->text,
	1,
	'a password of his own');

# ---- a password that the shard does not ask for ----

refused_ok(
	as_user(
		'alice',
		'CREATE USER MAPPING FOR alice SERVER shard_1'
		  . " OPTIONS (user 'postgres', password 'anything')",
		'SELECT * FROM t_1'),
	'2F003',
	'a shard that asks for no password would let him in as the server');
refused_ok(
	as_user(
		'alice', 'BEGIN', 'SELECT * FROM t_0',
		'INSERT INTO t_1 VALUES (2)'),
	'2F003',
	'nor when writing');
is($cluster->shard_sql(1, 'SELECT count(*) FROM t'),
	1, 'nothing was written with it');

# ---- tricks with where the password comes from ----

foreach my $trick (
	[ 'passfile on the server', "passfile '$passfile'", '' ],
	[ 'service on the server', "service 'trick'", '' ],
	[ 'password on the server', "password '$server_secret'", '' ],
	[ 'passfile in the mapping', '', "passfile '$passfile'" ],
	[ 'service in the mapping', '', "service 'trick'" ],
	[
		'connection string as dbname',
		"dbname 'dbname=postgres passfile=$passfile'", ''
	])
{
	my ($name, $server, $mapping) = @$trick;
	my $where = $server =~ /dbname/ ? '' : "dbname 'postgres',";
	my $host = $shard->host;
	my $port = $shard->port;
	my $answer = as_user(
		'alice',
		'DROP SERVER IF EXISTS trick CASCADE',
		'CREATE SERVER trick FOREIGN DATA WRAPPER shard_fdw'
		  . " OPTIONS ($where host '$host', port '$port'"
		  . ($server ? ", $server" : '') . ')',
		'CREATE USER MAPPING FOR alice SERVER trick'
		  . " OPTIONS (user 'alice'"
		  . ($mapping ? ", $mapping" : '') . ')',
		'CREATE FOREIGN TABLE trick (n int) SERVER trick'
		  . " OPTIONS (table_name 't')",
		'SELECT * FROM trick');
	like($answer->sqlstate, qr/^(2F003|HV00D|42501|HV00C|HV00B)$/,
		"$name: refused")
	  or diag $answer->describe;
	unlike($answer->describe, qr/\Q$server_secret\E/,
		"$name: no secret is told");
}

# ---- what only a superuser may set ----

foreach my $option (
	"password_required 'false'",
	"sslcert '/tmp/cert'",
	"sslkey '/tmp/key'")
{
	my $word = (split(/ /, $option))[0];
	refused_ok(
		as_user(
			'alice',
			'DROP USER MAPPING IF EXISTS FOR alice SERVER shard_1',
			'CREATE USER MAPPING FOR alice SERVER shard_1'
			  . " OPTIONS (user 'alice', $option)"),
		'42501',
		"$word is for superusers");
}
$cluster->sql('CREATE USER MAPPING FOR bob SERVER shard_1'
	  . " OPTIONS (user 'alice', password_required 'false')");
is(as_user('bob', 'SELECT * FROM t_1')->text,
	1, 'password_required false, set by a superuser');
refused_ok(
	as_user(
		'bob',
		'ALTER USER MAPPING FOR bob SERVER shard_1'
		  . " OPTIONS (SET password_required 'false')"),
	'42501',
	'not even again by the user');
is( as_user(
		'bob',
		'ALTER USER MAPPING FOR bob SERVER shard_1'
		  . " OPTIONS (SET password_required 'true')",
		'SELECT * FROM t_1')->sqlstate,
	'2F003',
	'he may give it up');

# ---- connections are not shared across rules ----

$cluster->sql('DROP USER MAPPING IF EXISTS FOR alice SERVER shard_1');
$cluster->sql('CREATE USER MAPPING FOR PUBLIC SERVER shard_1'
	  . " OPTIONS (user 'postgres')");
$cluster->sql('DROP USER MAPPING FOR CURRENT_USER SERVER shard_1');
my $session = $cluster->session;
is($session->query('SELECT * FROM t_1')->text,
	1, 'a superuser with the mapping of PUBLIC');
$session->safe('SET ROLE alice');
my $answer = $session->query('SELECT * FROM t_1');
is($answer->sqlstate, '2F003',
	'does not leave his connection to the next user of that mapping')
  or diag $answer->describe;
$session->close;
$cluster->sql('CREATE USER MAPPING FOR CURRENT_USER SERVER shard_1');

# ---- who may look and act ----

foreach my $statement (
	'SELECT * FROM shard_fdw.resolve()',
	"DELETE FROM shard_fdw.commit_log",
	"INSERT INTO shard_fdw.commit_log DEFAULT VALUES")
{
	refused_ok(as_user('bob', $statement), '42501', "bob: $statement");
}
refused_ok(
	as_user('bob', "SELECT shard_fdw.disconnect('shard_0')"),
	'00000', 'disconnecting from where one is not connected is harmless');

# ---- secrets stay secret ----

refused_ok(
	as_user(
		'alice',
		"ALTER USER MAPPING FOR alice SERVER shard_0"
		  . " OPTIONS (SET password 'Wrong-$secret')",
		'SELECT * FROM t_0'),
	'08001',
	'a wrong password');
$shard->stop('fast');
refused_ok(as_user('alice', 'SELECT * FROM t_0'),
	'08001', 'a shard that is down');
$shard->start;
foreach my $node ($cluster->coordinator, $shard, $cluster->shard(1))
{
	# core's own messages about failed statements of the shards' setup aside
	my @lines = grep { /\Q$secret\E|\Q$server_secret\E/ }
	  split(/\n/, slurp_file($node->logfile));
	is(scalar(@lines), 0, $node->name . ': no secret in the log')
	  or diag join("\n", @lines);
}

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
