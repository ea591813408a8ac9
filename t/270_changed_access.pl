
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# What recovery needs is taken away while something is in doubt: the password,
# the role on the shard, the user mapping, the role on the coordinator, the
# server.  Nothing is lost, in_doubt says what is wrong, and with the cure it is
# settled.  And what was dropped leaves nothing behind in shared memory.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	conf => { 'shard_fdw.commit_timeout' => '1s' });
$cluster->create_accounts;
my $relay = $cluster->relay;

# A user whose connections to shard 1 need a password.
sub create_role
{
	my ($name) = @_;

	$cluster->sql("CREATE ROLE $name LOGIN");
	$cluster->sql("GRANT USAGE ON FOREIGN SERVER shard_0, shard_1 TO $name");
	$cluster->sql("GRANT SELECT, UPDATE ON accounts TO $name");
	foreach my $n (0, 1)
	{
		$cluster->shard_sql($n, "CREATE ROLE $name LOGIN PASSWORD 'first'");
		$cluster->shard_sql($n, "GRANT SELECT, UPDATE ON accounts TO $name");
		my $hba = $cluster->shard($n)->data_dir . '/pg_hba.conf';
		my $old = slurp_file($hba);
		open(my $fh, '>', $hba) or die "$hba: $!";
		print $fh "local all $name scram-sha-256\n$old";
		close($fh);
		$cluster->shard($n)->reload;
		$cluster->sql("CREATE USER MAPPING FOR $name SERVER shard_$n"
			  . " OPTIONS (user '$name', password 'first')");
	}
	return;
}

# A transfer by the user that is decided, or not, and left on shard 1.
sub leave_in_doubt
{
	my ($role, $outcome) = @_;
	my $transfer = $cluster->transfer(0, 1, 10);
	my $session = $cluster->session(user => $role);
	my $refused;

	$relay->rule(
		route => 'shard_1',
		match => '^(COMMIT|ROLLBACK) PREPARED',
		action => 'cut',
		times => 0);
	$refused = $relay->rule(
		route => 'shard_0',
		on => 'parse',
		match => '^PREPARE TRANSACTION',
		action => 'replace',
		with => 'SELECT 1/0') if $outcome eq 'none';
	$session->safe($_) foreach $transfer->statements;
	my $answer = $session->query('COMMIT');
	is($answer->is_ok ? 'all' : 'none', $outcome, "$role: left in doubt")
	  or diag $answer->describe;
	$session->close;
	$cluster->wait_until(sub { $cluster->prepared == 1 }, 10);
	is(scalar($cluster->prepared), 1, "$role: on shard 1");
	return $transfer;
}

sub says_ok
{
	my ($pattern, $name) = @_;
	my $said;

	ok( $cluster->wait_until(
			sub {
				$cluster->sql("SELECT FROM shard_fdw.resolve('shard_1')");
				($said) = map { $_->{last_error} // '' } $cluster->in_doubt;
				return ($said // '') =~ $pattern;
			},
			15),
		"$name: in_doubt says why") or diag $said // 'nothing';
	is(scalar($cluster->prepared), 1, "$name: nothing is done");
	return;
}

sub settled_as_ok
{
	my ($transfer, $outcome, $name) = @_;

	$cluster->settled_ok(15, $name);
	is($transfer->outcome, $outcome, "$name: on $outcome");
	$cluster->assert_atomic($name);
	return;
}

# recovery has no mapping but those of the users
$cluster->sql('DROP USER MAPPING FOR CURRENT_USER SERVER shard_1');

foreach my $outcome ('all', 'none')
{
	# ---- the password ----
	my $role = "password_$outcome";
	create_role($role);
	my $transfer = leave_in_doubt($role, $outcome);
	$cluster->shard_sql(1, "ALTER ROLE $role PASSWORD 'second'");
	says_ok(qr/password authentication failed/, $role);
	$relay->clear;
	$cluster->sql("ALTER USER MAPPING FOR $role SERVER shard_1"
		  . " OPTIONS (SET password 'second')");
	settled_as_ok($transfer, $outcome, $role);
	$cluster->sql("DROP USER MAPPING FOR $role SERVER shard_1");

	# ---- the role on the shard ----
	$role = "role_$outcome";
	create_role($role);
	$transfer = leave_in_doubt($role, $outcome);
	$cluster->shard_sql(1, "DROP OWNED BY $role; DROP ROLE $role");
	says_ok(qr/"$role"/, $role);
	$relay->clear;

	# the mapping of a superuser helps
	$cluster->sql('CREATE USER MAPPING FOR CURRENT_USER SERVER shard_1');
	settled_as_ok($transfer, $outcome, $role);
	$cluster->sql('DROP USER MAPPING FOR CURRENT_USER SERVER shard_1');
	$cluster->sql("DROP USER MAPPING FOR $role SERVER shard_1");
}

# ---- the mapping, the role on the coordinator, the server ----

my $role = 'dropped';
create_role($role);
my $transfer = leave_in_doubt($role, 'all');
foreach my $drop (
	"DROP USER MAPPING FOR $role SERVER shard_1",
	"DROP OWNED BY $role",
	'DROP SERVER shard_1 CASCADE',
	'DROP EXTENSION shard_fdw CASCADE')
{
	is(($cluster->sql_err($drop))[0], '55006', "$drop is refused");
}
is(($cluster->sql_err("DROP ROLE $role"))[0],
	'2BP01', 'DROP ROLE is refused while there is a mapping');
$cluster->sql(
	"SET shard_fdw.allow_drop_in_doubt = on; DROP USER MAPPING FOR $role"
	  . ' SERVER shard_1; RESET shard_fdw.allow_drop_in_doubt');
says_ok(qr/no user mapping is left/, 'no mapping');
$relay->clear;
$cluster->sql("CREATE USER MAPPING FOR $role SERVER shard_1"
	  . " OPTIONS (user '$role', password 'first')");
settled_as_ok($transfer, 'all', 'no mapping');
$cluster->sql("DROP USER MAPPING FOR $role SERVER shard_1");

# ---- rows that the worker has not come to delete yet ----

$cluster->sql('CREATE USER MAPPING FOR CURRENT_USER SERVER shard_1');
my ($worker, $over);
$cluster->wait_until(
	sub {
		$over = $cluster->transfer(0, 1, 10);
		$cluster->sql(join('; ', $over->statements, 'COMMIT'));
		$worker = $cluster->sql('SELECT pid FROM pg_stat_activity'
			  . " WHERE backend_type LIKE 'shard_fdw recovery%'"
			  . " AND datname = 'postgres'");
	});
kill('STOP', $worker) or die "no worker to stop: $!";
$over = $cluster->transfer(0, 1, 10);
$cluster->sql(join('; ', $over->statements, 'COMMIT'));
is($over->outcome, 'all', 'a transaction is over');
cmp_ok(scalar($cluster->log_rows), '>', 0, 'its row is still there');
foreach my $drop ('DROP SERVER shard_1 CASCADE',
	'DROP USER MAPPING FOR CURRENT_USER SERVER shard_1')
{
	$cluster->sql("BEGIN; $drop; ROLLBACK");
	pass("$drop is not refused");
}
kill('CONT', $worker);
$cluster->settled_ok(10, 'the worker goes on');

# ---- places in shared memory ----

# More servers than there is room for, one after the other.
my $session = $cluster->session;
my $last;
foreach my $n (1 .. 1100)
{
	$session->safe("CREATE SERVER passing FOREIGN DATA WRAPPER shard_fdw"
		  . ' OPTIONS (host \'' . $cluster->shard(0)->host . '\', port \''
		  . $cluster->shard(0)->port . '\', dbname \'postgres\')');
	$session->safe('CREATE USER MAPPING FOR CURRENT_USER SERVER passing');
	$session->safe('CREATE FOREIGN TABLE passing (id int) SERVER passing'
		  . " OPTIONS (table_name 'accounts')");
	$session->safe('SELECT count(*) FROM passing');
	$last = $session->safe("SELECT statements FROM shard_fdw.stat_shards"
		  . " WHERE server = 'passing'") if $n % 100 == 0;
	$session->safe('DROP SERVER passing CASCADE');
}
cmp_ok($last, '>', 0, 'servers are counted after many have been dropped');
is( $session->safe('SELECT count(*) FROM shard_fdw.get_stat_shards()'
		  . ' WHERE server_oid NOT IN (SELECT oid FROM pg_foreign_server)'),
	0,
	'and nothing is kept of those');
$session->close;

$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
