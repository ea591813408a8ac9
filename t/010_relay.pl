
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# The relay does what it says: without it, no other test here means anything.
# It stands between plain clients and a server, no extension is involved.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ShardRelay;
use ShardSession;
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('server');
$node->init;
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$node->start;
my $target = $node->host . '/.s.PGSQL.' . $node->port;
my $relay = ShardRelay->new(a => $target, b => $target);
my $direct =
  ShardSession->connect(host => $node->host, port => $node->port);
$direct->safe('CREATE TABLE t (n int)');

sub through
{
	my ($route) = @_;
	return ShardSession->connect(
		host => '127.0.0.1',
		port => $relay->port($route // 'a'));
}

sub rows { return $direct->safe('SELECT count(*) FROM t'); }

# ---- passing on ----

my $session = through();
is($session->query('SELECT 1')->text, 1, 'a query');
is( length(
		$session->query("SELECT repeat('x', 4000000)")->text),
	4_000_000,
	'a large answer');
is( length(
		$session->query(
			"SELECT '" . ('y' x 2_000_000) . "'")->text),
	2_000_000,
	'a large query');
is($session->query('SELECT 1/0')->sqlstate, '22012', 'an error');
is_deeply(
	[ grep { /1$/ } $relay->statements('a') ],
	['SELECT 1'],
	'the transcript has the statement');
is(scalar($relay->statements('b')), 0, 'on its route only');
$relay->forget;
is(scalar($relay->transcript), 0, 'and it can be emptied');

# ---- requests ----

my $rule = $relay->rule(match => '^INSERT', action => 'hold', nth => 2);
$session->safe('INSERT INTO t VALUES (1)');
is(rows(), 1, 'hold, nth 2: the first passes');
$session->send('INSERT INTO t VALUES (2)');
ok($rule->wait_fired(10), 'the second is held');
ok(!$session->is_done(0.1), 'no answer');
is(rows(), 1, 'it has not reached the server');
$rule->release;
ok($session->finish(10)->is_ok, 'released');
is(rows(), 2, 'now it has');
$session->safe('INSERT INTO t VALUES (3)');
is($rule->fired, 1, 'times 1: the third passes');

foreach my $action (qw(cut reset))
{
	$rule = $relay->rule(match => '^INSERT', action => $action);
	is($session->query('INSERT INTO t VALUES (4)')->sqlstate,
		'lost', "$action of a request: the client notices");
	is(rows(), 3, "$action of a request: it does not reach the server");
	$session = through();
}

$rule = $relay->rule(match => '^INSERT', action => 'delay', ms => 300);
my $start = time();
$session->safe('INSERT INTO t VALUES (4)');
cmp_ok(time() - $start, '>', 0.29, 'delay of a request');
$relay->clear;

# ---- answers ----

$rule = $relay->rule(match => '^INSERT', side => 'answer', action => 'hold');
$session->send('INSERT INTO t VALUES (5)');
ok($rule->wait_fired(10), 'hold of an answer');
is(rows(), 5, 'it took effect');
ok(!$session->is_done(0.1), 'the client does not know');
$rule->release;
ok($session->finish(10)->is_ok, 'released');

foreach my $action (qw(cut reset))
{
	$rule = $relay->rule(
		match => '^INSERT',
		side => 'answer',
		action => $action);
	my $before = rows();
	is($session->query('INSERT INTO t VALUES (6)')->sqlstate,
		'lost', "$action of an answer: the client is not told");
	is(rows(), $before + 1, "$action of an answer: it took effect");
	$session = through();
}

$rule = $relay->rule(match => '^INSERT', side => 'answer', action => 'hold');
$session->send('INSERT INTO t VALUES (7)');
ok($rule->wait_fired(10), 'held');
is($rule->discard, 1, 'discard: one connection');
is($session->finish(10)->sqlstate, 'lost', 'it is lost');

# ---- what is behind in a queue stays behind ----

$session = through();
$rule = $relay->rule(match => '^INSERT', action => 'hold');
my $before = rows();
$session->send('INSERT INTO t VALUES (8)');
ok($rule->wait_fired(10), 'held');
$session->close;
$rule->release;
my $deadline = time() + 10;
1 until rows() == $before + 1 || time() > $deadline;
is(rows(), $before + 1, 'a held message arrives though its sender has gone');

# ---- connections ----

foreach my $on (qw(connect startup))
{
	$rule = $relay->rule(on => $on, action => 'cut', route => 'a');
	my $failed = ShardSession->try_connect(
		host => '127.0.0.1',
		port => $relay->port('a'));
	ok($failed->{error}, "cut at $on");
	is($rule->fired, 1, "cut at $on: by the rule");
	ok(through('a'), 'the next one gets through');
}

$relay->clear;
$session = through('a');
my $other = through('b');
$relay->partition('a');
$session->send('SELECT 1');
ok(!$session->is_done(0.3), 'partition: silence');
is($other->query('SELECT 2')->text, 2, 'the other route works');
$relay->heal('a');
is($session->finish(10)->sqlstate, 'lost', 'healing resets it');
is(through('a')->query('SELECT 3')->text, 3, 'new connections work');
is($relay->cut('b'), 1, 'cut of a route');
is($other->query('SELECT 1')->sqlstate, 'lost', 'its session is lost');

# ---- extended protocol: prepared statements, pipelines, COPY ----

my $script = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
append_to_file($script, "INSERT INTO t VALUES (100);\nSELECT 17;\n");
$relay->forget;
$rule = $relay->rule(
	match => '^INSERT',
	on => 'statement',
	action => 'delay',
	ms => 200,
	nth => 3);
$before = rows();
$start = time();
my $host = '127.0.0.1';
command_ok(
	[
		'pgbench', '-n', '-M', 'prepared', '-t', '5', '-f', $script, '-h',
		$host, '-p', $relay->port('a'), 'postgres'
	],
	'pgbench with prepared statements');
cmp_ok(time() - $start, '>', 0.2, 'one Bind was delayed');
is(rows(), $before + 5, 'all were executed');
is($rule->seen, 5, 'a Bind is known by the text of its statement');
is( scalar(
		grep { $_->{kind} eq 'parse' && $_->{text} =~ /^INSERT/ }
		  $relay->transcript),
	1,
	'parsed once');
is( scalar(
		grep { $_->{kind} eq 'execute' && $_->{text} =~ /^INSERT/ }
		  $relay->transcript),
	5,
	'an Execute, too');
$relay->clear;

$rule = $relay->rule(
	match => '^SELECT 17',
	side => 'answer',
	action => 'cut',
	nth => 2);
command_fails(
	[
		'pgbench', '-n', '-M', 'prepared', '-t', '5', '-f', $script, '-h',
		$host, '-p', $relay->port('a'), 'postgres'
	],
	'the answer to a Bind is cut');
is($rule->fired, 1, 'by the rule');
is(rows(), $before + 7, 'what came before was executed');
$relay->clear;

append_to_file("$script.copy",
	join('', map { "$_\n" } 1 .. 50_000));
$rule = $relay->rule(on => 'copydone', action => 'hold');
my $copy = IPC::Run::start(
	[
		'psql', '-X', '-h', $host, '-p', $relay->port('a'), '-c',
		"\\copy t from '$script.copy'", 'postgres'
	],
	'>',
	\my $out);
ok($rule->wait_fired(30), 'the end of COPY is held');
is(rows(), $before + 7, 'nothing is visible yet');
$rule->release;
$copy->finish;
is(rows(), $before + 50_007, 'COPY went through');

# ---- cancel ----

$session = through('a');
my $pid = $session->pid;
$session->send('SELECT pg_sleep(60)');
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid"
	  . " AND wait_event = 'PgSleep'");
$session->cancel;
is($session->finish(10)->sqlstate, '57014', 'cancel requests pass');
$rule = $relay->rule(on => 'cancel', action => 'blackhole');
$session->send('SELECT pg_sleep(1)');
my $canceller = fork();
if ($canceller == 0) { $session->cancel; POSIX::_exit(0); }
ok($rule->wait_fired(10), 'and can be met by a rule');
is($session->finish(10)->sqlstate, '00000', 'then nothing is cancelled');
kill('KILL', $canceller);
waitpid($canceller, 0);

# ---- distance ----

$relay->clear;
$session = through('a');
foreach my $ms (0, 20)
{
	$relay->delay($ms);
	$start = time();
	$session->safe('SELECT 1') foreach 1 .. 5;
	my $took = (time() - $start) * 1000;
	cmp_ok($took, '>=', 5 * 2 * $ms, "delay $ms ms: both ways");
	cmp_ok($took, '<', 5 * 2 * $ms + 150, "delay $ms ms: and not more");
}
$relay->delay(0);

$relay->stop;
$node->stop;
done_testing;
