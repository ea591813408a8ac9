
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Deadlocks over several shards: the session with the youngest transaction gets
# 40P01, the others go on; and a wait that is none is left alone.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

# The coordinator looks before the shards do.
my $cluster = ShardCluster->new(
	shards => 3,
	conf => { deadlock_timeout => '100ms' },
	shard_conf => { deadlock_timeout => '2s' });
$cluster->create_accounts;

# Longer than any deadlock may last, also on a busy machine.
my $patience = 60;

sub touch
{
	my ($shard, $k, $table) = @_;
	$table //= 'accounts';
	return "UPDATE $table SET balance = balance + 1 WHERE id = "
	  . $cluster->id($shard, $k);
}

# Sessions in transactions, the oldest first.
sub begin
{
	my ($n) = @_;
	my @sessions = map { $cluster->session } 1 .. $n;

	$_->safe('BEGIN') foreach @sessions;
	return @sessions;
}

# How many sessions wait for a lock on the shard.
sub waiting_on
{
	my ($shard) = @_;
	return $cluster->shard_sql($shard,
		'SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted');
}

sub wait_for_lock
{
	my ($shard, $n) = @_;
	$cluster->wait_until(sub { waiting_on($shard) >= ($n // 1) }, $patience)
	  or die "nobody waits on shard $shard";
	return;
}

# Waits until the detector has asked the shard again, three times after now: it
# asks twice before it ends a deadlock.
sub wait_for_looks
{
	my ($shard) = @_;

	foreach my $look (1 .. 3)
	{
		my $since = $cluster->shard_sql($shard, 'SELECT clock_timestamp()');
		$cluster->wait_until(
			sub {
				$cluster->shard_sql($shard,
						'SELECT count(*) FROM pg_stat_activity'
					  . " WHERE query LIKE '%waits.blocker%'"
					  . ' AND pid <> pg_backend_pid()'
					  . " AND state = 'idle' AND query_start > '$since'");
			},
			$patience) or die "nobody looks at shard $shard";
	}
	return;
}

sub balance
{
	my ($shard, $k) = @_;
	return $cluster->sql(
		'SELECT balance FROM accounts WHERE id = ' . $cluster->id($shard, $k));
}

sub waiting_here
{
	return $cluster->sql(
		'SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted');
}

sub detail_ok
{
	my ($answer, $processes, $name) = @_;
	my $lines = join '\n', map {
		my ($waiter, $shard, $blocker) = @$_;
		"Process $waiter waits for ShareLock on transaction \\d+"
		  . qq{ on server "shard_$shard"; blocked by process $blocker\\.};
	} @$processes;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like($answer->detail, qr/^$lines$/, $name)
	  || diag $answer->describe;
}

# ---- two sessions, two shards ----

my ($one, $two) = begin(2);
$one->safe(touch(0));
$two->safe(touch(1));
$one->send(touch(1));
wait_for_lock(1);
$two->send(touch(0));
my $answer = $two->finish($patience);
is($answer->sqlstate, '40P01', 'two sessions: the younger one is the victim');
is($answer->message, 'deadlock detected', 'its message');
my ($first, $second) = ($one->pid, $two->pid);
my @order =
  $answer->detail =~ /^Process $first /
  ? ([ $first, 1, $second ], [ $second, 0, $first ])
  : ([ $second, 0, $first ], [ $first, 1, $second ]);
detail_ok($answer, \@order, 'its detail has the whole cycle');
is($one->finish($patience)->sqlstate, '00000', 'the older one goes on');
$one->safe('COMMIT');
$two->safe('ROLLBACK');
is(join(' ', balance(0), balance(1)), '101 101', 'and commits on both');

# The victim's session is as good as before.
$two->safe('BEGIN');
$two->safe(touch($_)) foreach 0, 1;
$two->safe('COMMIT');
is(join(' ', balance(0), balance(1)), '102 102', 'the victim tries again');

# ---- three sessions, three shards; the victim is in the middle ----

my @three = begin(3);
my ($old, $young, $middle) = @three[ 0, 2, 1 ];
$three[$_]->safe(touch($_, 1)) foreach 0 .. 2;
$three[$_]->send(touch(($_ + 1) % 3, 1)) foreach 0 .. 2;
$answer = $young->finish($patience);
is($answer->sqlstate, '40P01', 'three sessions: the youngest is the victim');
is(() = $answer->detail =~ /^Process \d+ waits for /mg,
	3, 'its detail has three lines')
  or diag $answer->describe;
is($middle->finish($patience)->sqlstate, '00000', 'the one before it goes on');
$middle->safe('COMMIT');
is($old->finish($patience)->sqlstate, '00000', 'and then the other');
$old->safe('COMMIT');
$young->safe('ROLLBACK');
is(join(' ', map { balance($_, 1) } 0 .. 2),
	'101 102 101', 'both have committed');

# ---- through a session of the shard that is not ours ----

($one, $two) = begin(2);
my $stranger = $cluster->shard_session(1);
$stranger->safe('BEGIN');
$one->safe(touch(0, 2));
$stranger->safe(touch(1, 2));
$two->safe(touch(1, 3));
$one->send(touch(1, 2));
wait_for_lock(1);
$stranger->send(touch(1, 3));
wait_for_lock(1, 2);
wait_for_looks(1);
ok(!$one->is_done(0), 'a chain with a session that is not ours is no deadlock');
$two->send(touch(0, 2));
$answer = $two->finish($patience);
is($answer->sqlstate, '40P01', 'through a session that is not ours');
my $foreign = $stranger->pid;
like($answer->detail,
	qr/^Process $foreign of server "shard_1" waits for .* on server "shard_1"; blocked by process \d+\.$/m,
	'which the detail names')
  or diag $answer->describe;
is($stranger->finish($patience)->sqlstate, '00000', 'that session goes on');
$stranger->safe('COMMIT');
is($one->finish($patience)->sqlstate, '00000', 'and so does the other');
$one->safe('COMMIT');
$two->safe('ROLLBACK');
$stranger->close;

# ---- a session that waits for itself ----

my $user = $cluster->sql('SELECT current_user');
$cluster->sql($_)
  foreach 'CREATE ROLE boss SUPERUSER',
  "CREATE USER MAPPING FOR boss SERVER shard_0 OPTIONS (user '$user')",
  'CREATE VIEW seen AS SELECT * FROM accounts_0',
  'ALTER VIEW seen OWNER TO boss';
($one) = begin(1);
$one->safe(touch(0, 3));
$answer = $one->query(touch(0, 3, 'seen'), $patience);
is($answer->sqlstate, '40P01', 'another user mapping waits for its own session');
detail_ok($answer, [ [ $one->pid, 0, $one->pid ] ], 'its detail');
like($answer->hint, qr/several sessions on that server/, 'its hint');
$one->safe('ROLLBACK');

$cluster->sql($_)
  foreach $cluster->create_server_sql(0, name => 'shard_twin'),
  'CREATE USER MAPPING FOR CURRENT_USER SERVER shard_twin',
  'CREATE FOREIGN TABLE twin (id int, balance int) SERVER shard_twin'
  . " OPTIONS (table_name 'accounts')";
$one->safe('BEGIN');
$one->safe(touch(0, 3, 'twin'));
$answer = $one->query(touch(0, 3), $patience);
is($answer->sqlstate, '40P01', 'so does another server that is the same one');
$one->safe('ROLLBACK');

# ---- an asynchronous Append waits in core ----

my $everything = 'SELECT id FROM accounts FOR UPDATE';
like($cluster->sql("EXPLAIN (COSTS OFF) $everything"),
	qr/Async Foreign Scan/, 'a scan of all shards is asynchronous');
foreach my $victim (0, 1)
{
	my @both = begin(2);
	my ($reader, $writer) = $victim == 0 ? @both : reverse @both;
	$reader->safe(touch(0, 4));
	$writer->safe(touch(1, 4));
	$reader->send($everything);
	wait_for_lock(1);
	$writer->send(touch(0, 4));
	$answer = $both[1]->finish($patience);
	is($answer->sqlstate, '40P01',
		'an asynchronous scan is part of one: its '
		  . ($victim == 0 ? 'counterpart' : 'own session')
		  . ' is the victim');
	is($both[0]->finish($patience)->sqlstate,
		'00000', 'and the other one goes on');
	$_->safe('ROLLBACK') foreach @both;
}

# ---- through locks on the coordinator ----

$cluster->sql('CREATE TABLE notes (n int)');
$cluster->sql('INSERT INTO notes VALUES (1)');
my $note = 'UPDATE notes SET n = n + 1';
foreach my $younger ('on the coordinator', 'for a shard')
{
	my @both = begin(2);
	my ($there, $here) =
	  $younger eq 'for a shard' ? reverse @both : @both;
	$there->safe($note);
	$here->safe(touch(0, 4));
	$there->send(touch(0, 4));
	wait_for_lock(0);
	$here->send($note);
	$answer = $there->finish($patience);
	is($answer->sqlstate, '40P01',
		"one waits on the coordinator, the younger one $younger:"
		  . ' who waits for the shard is the victim');
	($first, $second) = ($there->pid, $here->pid);
	like($answer->detail,
		qr/^Process $first waits for ShareLock on transaction \d+ on server "shard_0"; blocked by process $second\.$/m,
		'its detail has the wait there')
	  or diag $answer->describe;
	like($answer->detail,
		qr/^Process $second waits for ShareLock on transaction \d+; blocked by process $first\.$/m,
		'and the wait here')
	  or diag $answer->describe;
	is($here->finish($patience)->sqlstate, '00000', 'the other one goes on');
	$_->safe('ROLLBACK') foreach @both;
}

# A chain of two that wait here, and the same with its end closed.
@three = begin(3);
$three[0]->safe(touch(1, 4));
$three[1]->safe(touch(0, 4));
$three[2]->safe('SELECT pg_advisory_xact_lock(7)');
$three[0]->send(touch(0, 4));
wait_for_lock(0);
$three[1]->send('SELECT pg_advisory_xact_lock(7)');
$cluster->wait_until(sub { waiting_here() > 0 }, $patience)
  or die 'nobody waits here';
wait_for_looks(0);
ok(!$_->is_done(0), 'a chain that leads here is no deadlock')
  foreach @three[ 0, 1 ];
$three[2]->send(touch(1, 4));
$answer = $three[2]->finish($patience);
is($answer->sqlstate, '40P01', 'three sessions, one of which waits here');
is(() = $answer->detail =~ /^Process \d+ waits for /mg,
	3, 'its detail has three lines')
  or diag $answer->describe;
is($three[1]->finish($patience)->sqlstate, '00000', 'the one before goes on');
$three[1]->safe('ROLLBACK');
is($three[0]->finish($patience)->sqlstate, '00000', 'and then the first');
$_->safe('ROLLBACK') foreach @three[ 0, 2 ];

# ---- no deadlock ----

($one, $two) = begin(2);
$one->safe(touch(0, 5));
$two->safe(touch(1, 5));
$two->send(touch(0, 5));
wait_for_lock(0);
wait_for_looks(0);
ok(!$two->is_done(0), 'a long wait alone is left alone');
$one->safe('COMMIT');
is($two->finish($patience)->sqlstate, '00000', 'and ends when it can');
$two->safe('COMMIT');
is(join(' ', balance(0, 5), balance(1, 5)), '102 101', 'as it should');

($one, $two) = begin(2);
$one->safe(touch(0, 5));
$two->send(touch(0, 5));
wait_for_lock(0);
wait_for_looks(0);
$two->cancel;
is($two->finish($patience)->sqlstate, '57014', 'it can be cancelled');
$two->safe('ROLLBACK');
$two->safe("SET statement_timeout = '1s'");
$answer = $two->query(touch(0, 5), $patience);
is($answer->sqlstate, '57014', 'and has a statement_timeout');
like($answer->message, qr/statement timeout/, 'in its words');
$two->safe('RESET statement_timeout');
$one->safe('ROLLBACK');

# A statement outside a transaction block lets go of what it has locked when it
# ends, so it may keep somebody waiting here and wait for him there.
$cluster->shard_sql(0, $_)
  foreach 'CREATE TABLE gate (is_open boolean)', <<~'SQL';
	CREATE FUNCTION pass() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		LOOP
			EXIT WHEN EXISTS (SELECT FROM public.gate);
			PERFORM pg_sleep(0.02);
		END LOOP;
		RETURN true;
	END $$
	SQL
foreach my $shard (0, 1)
{
	my $condition = $shard == 0 ? 'pass()' : 'true';
	$cluster->shard_sql($shard, 'CREATE TABLE held AS SELECT 1 AS n');
	$cluster->shard_sql($shard,
		"CREATE VIEW through AS SELECT n FROM held WHERE $condition");
	$cluster->sql("CREATE FOREIGN TABLE held_$shard (n int)"
		  . " SERVER shard_$shard OPTIONS (table_name 'held')");
	$cluster->sql("CREATE FOREIGN TABLE through_$shard (n int)"
		  . " SERVER shard_$shard OPTIONS (table_name 'through')");
}
my $reader = $cluster->session;
# it waits for both at once only where both connections are there
$reader->safe("SELECT n FROM held_$_") foreach 0, 1;
($one) = begin(1);
$one->safe('TRUNCATE held_1');
$reader->send('SELECT n FROM through_0 UNION ALL SELECT n FROM through_1');
wait_for_lock(1);
$cluster->wait_until(
	sub {
		$cluster->shard_sql(0,
			"SELECT count(*) FROM pg_locks WHERE relation = 'held'::regclass");
	},
	$patience) or die 'nobody reads';
$one->send('TRUNCATE held_0');
wait_for_lock(0);
wait_for_looks(0);
ok(!$_->is_done(0), 'a statement that will end is no part of a deadlock')
  foreach $one, $reader;
$cluster->shard_sql(0, 'INSERT INTO gate VALUES (true)');
is($one->finish($patience)->sqlstate, '00000', 'who waits for its end goes on');
$one->safe('COMMIT');
is($reader->finish($patience)->sqlstate, '00000', 'and so does itself');

# The same in a transaction block, where it keeps its locks, is one.
$cluster->shard_sql($_, 'INSERT INTO held VALUES (1)') foreach 0, 1;
($one) = begin(1);
$reader->safe('BEGIN');
$one->safe('TRUNCATE held_1');
$reader->safe('SELECT n FROM through_0');
$one->send('TRUNCATE held_0');
wait_for_lock(0);
is($reader->query('SELECT n FROM through_1', $patience)->sqlstate,
	'40P01', 'in a transaction block it is');
is($one->finish($patience)->sqlstate, '00000', 'whose counterpart goes on');
$_->safe('ROLLBACK') foreach $one, $reader;

# A scan of several shards goes on with the first answer.
my $both = 'SELECT n FROM through_0 UNION ALL SELECT n FROM through_1 LIMIT 1';
like($cluster->sql("EXPLAIN (COSTS OFF) $both"),
	qr/Limit.*Append.*(?:Async Foreign Scan.*){2}/s, 'it is asynchronous');
$cluster->shard_sql(0, 'DELETE FROM gate');
($one) = begin(1);
$one->safe('TRUNCATE held_1');
$reader->safe('BEGIN');
$reader->safe(touch(2, 5));
$one->send(touch(2, 5));
wait_for_lock(2);
$reader->send($both);
wait_for_lock(1);
wait_for_looks(1);
ok(!$_->is_done(0), 'one that may get it from elsewhere is no part of a deadlock')
  foreach $one, $reader;
$cluster->shard_sql(0, 'INSERT INTO gate VALUES (true)');
is($reader->finish($patience)->sqlstate, '00000', 'and goes on when it does');
$reader->safe('ROLLBACK');
is($one->finish($patience)->sqlstate, '00000', 'and so does the other one');
$one->safe('ROLLBACK');

# Unless all of them are part of it.
($one) = begin(1);
$one->safe("TRUNCATE held_$_") foreach 0, 1;
$reader->safe('BEGIN');
$reader->safe(touch(2, 5));
$one->send(touch(2, 5));
wait_for_lock(2);
is($reader->query($both, $patience)->sqlstate,
	'40P01', 'one that can get nothing from anywhere is');
is($one->finish($patience)->sqlstate, '00000', 'whose counterpart goes on');
$_->safe('ROLLBACK') foreach $one, $reader;
$reader->close;

# A deadlock on one shard is left to that shard: one error, not two.
($one, $two) = begin(2);
$one->safe(touch(0, 5));
$two->safe(touch(0, 6));
$one->send(touch(0, 6));
wait_for_lock(0);
$two->send(touch(0, 5));
my @answers = map { $_->finish($patience) } $one, $two;
is(join(' ', sort map { $_->sqlstate } @answers),
	'00000 40P01', 'on one shard: one of the two gets 40P01');
my ($error) = grep { !$_->is_ok } @answers;
like($error->context // '', qr/remote SQL on server/, 'from the shard')
  or diag $error->describe;
$_->safe('ROLLBACK') foreach $one, $two;

# ---- subtransactions ----

($one, $two) = begin(2);
$one->safe(touch(0, 7));
$two->safe(touch(2, 7));
$two->safe('SAVEPOINT s');
$two->safe(touch(1, 7));
$one->send(touch(1, 7));
wait_for_lock(1);
$two->send(touch(0, 7));
is($two->finish($patience)->sqlstate, '40P01', 'after a savepoint');
$two->safe('ROLLBACK TO s');
is($one->finish($patience)->sqlstate,
	'00000', 'which, rolled back to, lets the other one go on');
$one->safe('COMMIT');
$two->safe(touch(0, 7));
$two->safe('COMMIT');
is(join(' ', map { balance($_, 7) } 0 .. 2), '102 101 101', 'both commit');

$cluster->sql(<<~'SQL');
	CREATE FUNCTION try_two(first int, second int) RETURNS text
	LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE accounts SET balance = balance + 1 WHERE id = first;
		PERFORM pg_advisory_unlock(1);
		PERFORM pg_advisory_lock(2);
		UPDATE accounts SET balance = balance + 1 WHERE id = second;
		RETURN 'done';
	EXCEPTION WHEN deadlock_detected THEN
		RETURN 'caught';
	END $$
	SQL
my ($low, $high) = ($cluster->id(0, 8), $cluster->id(1, 8));
my $keeper = $cluster->session;
$keeper->safe('SELECT pg_advisory_lock(2)');
($one) = begin(1);
$one->safe(touch(0, 8));
$two = $cluster->session;
$two->safe('SELECT pg_advisory_lock(1)');
$two->send("SELECT try_two($high, $low)");
$keeper->safe('SELECT pg_advisory_lock(1)');
$one->send(touch(1, 8));
wait_for_lock(1);
$keeper->safe('SELECT pg_advisory_unlock(2)');
is($two->finish($patience)->text, 'caught', 'a function catches it');
is($one->finish($patience)->sqlstate, '00000', 'and lets the other one go on');
$one->safe('COMMIT');
is(join(' ', balance(0, 8), balance(1, 8)), '101 101', 'which commits');

# ---- who may look, and what keeps him from it ----

# Users without any rights but on the table.
$cluster->shard_sql($_,
	'CREATE ROLE app LOGIN; GRANT SELECT, UPDATE ON accounts TO app')
  foreach 0, 1;
$cluster->sql($_)
  foreach 'CREATE ROLE app LOGIN',
  'GRANT SELECT, UPDATE ON accounts TO app',
  map {
	"CREATE USER MAPPING FOR app SERVER shard_$_"
	  . " OPTIONS (user 'app', password_required 'false')"
  } 0, 1;

# Makes a deadlock of two, and tells how it ends.
sub cross
{
	my ($k, %param) = @_;
	my @both = map { $cluster->session(%param) } 1, 2;

	$_->safe('BEGIN') foreach @both;
	$both[0]->safe(touch(0, $k));
	$both[1]->safe(touch(1, $k));
	$both[0]->send(touch(1, $k));
	wait_for_lock(1);
	$param{meanwhile}->() if $param{meanwhile};
	$both[1]->send(touch(0, $k));
	my @states = map { $_->finish($patience)->sqlstate } reverse @both;
	$_->safe('ROLLBACK') foreach @both;
	$_->close foreach @both;
	return "@states";
}

is(cross(9, user => 'app'), '40P01 00000', 'no rights are needed to look');

is( cross(
		9,
		meanwhile => sub {
			wait_for_looks(1);
			$cluster->sql('SELECT pg_terminate_backend(pid)'
				  . ' FROM pg_stat_activity'
				  . " WHERE backend_type LIKE '%deadlock%'");
		}),
	'40P01 00000',
	'a detector that is terminated is started again');

# One mapping that does not work any more hides no shard.
sub detector_ended
{
	return $cluster->wait_until(
		sub {
			$cluster->sql('SELECT count(*) FROM pg_stat_activity'
				  . " WHERE backend_type LIKE '%deadlock%'") == 0;
		},
		$patience);
}

detector_ended() or die 'the detector is still there';
($one, $two) = ($cluster->session(user => 'app'), $cluster->session);
$_->safe('BEGIN') foreach $one, $two;
$one->safe(touch(0, 9));
$one->safe('SELECT * FROM accounts WHERE id = ' . $cluster->id(1, 9));
$two->safe(touch(1, 9));
$cluster->sql("ALTER USER MAPPING FOR app SERVER shard_1 OPTIONS (SET user 'nobody')");
$one->send(touch(1, 9));
$cluster->wait_until(
	sub {
		slurp_file($cluster->coordinator->logfile) =~
		  /look for deadlocks on server "shard_1": .*"nobody"/;
	},
	$patience) or die 'the detector has not tried';
$two->send(touch(0, 9));
is( join(' ', map { $_->finish($patience)->sqlstate } $two, $one),
	'40P01 00000',
	'a mapping that does not work any more hides nothing from the others');
$_->safe('ROLLBACK') foreach $one, $two;
$_->close foreach $one, $two;
$cluster->sql("ALTER USER MAPPING FOR app SERVER shard_1 OPTIONS (SET user 'app')");

# A server that leads to another shard than before.
detector_ended() or die 'the detector is still there';
my @before = begin(2);
$_->safe('SELECT * FROM twin LIMIT 1') foreach @before;
$before[0]->safe('UPDATE twin SET balance = balance WHERE id = '
	  . $cluster->id(0, 9));
$before[1]->send('UPDATE twin SET balance = balance WHERE id = '
	  . $cluster->id(0, 9));
wait_for_lock(0);
wait_for_looks(0);
$cluster->sql('ALTER SERVER shard_twin OPTIONS (SET host '
	  . "'@{[$cluster->shard(1)->host]}', SET port '@{[$cluster->shard(1)->port]}')");
($one, $two) = begin(2);
$one->safe(touch(2, 9));
$two->safe(touch(1, 9, 'twin'));
$one->send(touch(1, 9, 'twin'));
wait_for_lock(1);
$two->send(touch(2, 9));
is( join(' ', map { $_->finish($patience)->sqlstate } $two, $one),
	'40P01 00000',
	'a server is asked where it leads to now');
$_->safe('ROLLBACK') foreach $one, $two, $before[0];
$before[1]->finish($patience);
$before[1]->safe('ROLLBACK');
$_->close foreach @before;

# A shard to which nobody can connect, while sessions wait there.
my ($postmaster) =
  slurp_file($cluster->shard(2)->data_dir . '/postmaster.pid') =~ /^(\d+)/;

END
{
	my $status = $?;
	kill 'CONT', $postmaster if $postmaster;
	$? = $status;
}

my @waiting = begin(2);
$waiting[0]->safe(touch(2, 9));
$waiting[1]->safe('SELECT * FROM accounts_2');
$cluster->wait_until(
	sub {
		$cluster->shard_sql(2,
			"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%waits.blocker%' AND pid <> pg_backend_pid()"
		) == 0;
	},
	$patience) or die 'the detector is still connected';
kill 'STOP', $postmaster;
$waiting[1]->send(touch(2, 9));
wait_for_lock(2);
is(cross(9), '40P01 00000', 'a shard that does not answer hides no other');
like(
	slurp_file($cluster->coordinator->logfile),
	qr/could not look for deadlocks on server "shard_2": no answer in time/,
	'and is told of in the log');
kill 'CONT', $postmaster;
$waiting[0]->safe('ROLLBACK');
is($waiting[1]->finish($patience)->sqlstate, '00000', 'who waits there goes on');
$waiting[1]->safe('ROLLBACK');
$_->close foreach @waiting;

# ---- the end ----

$_->close foreach $one, $two, $keeper, @three;
ok(detector_ended(), 'the detector ends');
$cluster->settled_ok(30, 'nothing is left');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing();
