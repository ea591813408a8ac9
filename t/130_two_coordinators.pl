
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Invariant F: two coordinators, one of them with two databases, and an
# application with prepared transactions of its own share the shards; each
# touches only what belongs to it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use Test::More;

my $first = ShardCluster->new(shards => 2, name => 'a_');
my $second = ShardCluster->new(shards_of => $first, name => 'b_');
$first->setup_database('second_db');

# three users of the shards, each with tables of its own
my %place = (
	'coordinator a' => [ $first, 'postgres', 'accounts' ],
	'second database' => [ $first, 'second_db', 'accounts_2' ],
	'coordinator b' => [ $second, 'postgres', 'accounts_3' ]);
foreach my $name (sort keys %place)
{
	my ($cluster, $dbname, $table) = @{ $place{$name} };
	$cluster->create_accounts(dbname => $dbname, table => $table);
}

# What the application has prepared, some of it under names that look like
# ours: another identity, and texts that gid_format() would not have written.
my $like_ours = 'sfdw1_0123456789abcdef_5_1790000000123456_740_fedcba9876543210_0_16384_10';
my @foreign = (
	'app-1', $like_ours, "$like_ours ", 'sfdw1_', "X$like_ours",
	'sfdw2_0123456789abcdef_5_1790000000123456_740_fedcba9876543210_0_16384_10');
$first->shard_sql(0, 'CREATE TABLE app (n int)');
foreach my $gid (@foreign)
{
	$first->shard_sql(0,
		"BEGIN; INSERT INTO app VALUES (1); PREPARE TRANSACTION '$gid'");
}

# Stops a transfer of each between PREPARE and the decision.
my (%blocker, %session, %transfer);
foreach my $name (sort keys %place)
{
	my ($cluster, $dbname, $table) = @{ $place{$name} };
	$blocker{$name} = $cluster->session(dbname => $dbname);
	$blocker{$name}->safe('BEGIN');
	$blocker{$name}->safe('LOCK TABLE shard_fdw.commit_log IN SHARE MODE');
	$session{$name} = $cluster->session(dbname => $dbname);
	$transfer{$name} = $cluster->transfer(0, 1, 10, $table);
	$session{$name}->safe($_) foreach $transfer{$name}->statements;
	$session{$name}->send('COMMIT');
}

sub ours
{
	return grep { my $gid = $_; !grep { "shard_0 $_" eq $gid } @foreign }
	  $first->prepared;
}

sub resolve_all
{
	foreach my $name (sort keys %place)
	{
		my ($cluster, $dbname) = @{ $place{$name} };
		$cluster->sql('SELECT count(*) FROM shard_fdw.resolve()', $dbname);
	}
	return;
}

sub foreign_untouched_ok
{
	my ($name) = @_;
	my %prepared = map { $_ => 1 } $first->prepared_on(0);
	is(scalar(grep { $prepared{$_} } @foreign),
		scalar(@foreign), "$name: those of others are untouched");
	return;
}

$first->wait_until(sub { ours() == 6 }, 30);
is(scalar(ours()), 6, 'six branches are prepared') or diag join "\n", ours();
resolve_all();
is(scalar(ours()), 6, 'recovery leaves running transactions alone');
foreign_untouched_ok('while running');

# One backend of the first coordinator dies: only its own go.
my $name = 'coordinator a';
$first->sql('SELECT pg_terminate_backend(' . $session{$name}->pid . ')');
ok(!$session{$name}->finish->is_ok, 'the transfer of coordinator a fails');
$blocker{$name}->close;
$first->wait_until(sub { ours() == 4 }, 10);
resolve_all();
is(scalar(ours()), 4, 'its branches are rolled back, the others wait');
is($transfer{$name}->outcome, 'none', 'its transfer did not happen');
foreign_untouched_ok('after a termination');

# The first coordinator crashes: its second database's go, too.
$name = 'second database';
$first->kill_server($first->coordinator);
ok(!$session{$name}->finish->is_ok, 'the second database loses its client');
$second->sql('SELECT count(*) FROM shard_fdw.resolve()');
is(scalar(ours()), 4, 'the second coordinator does not touch them');
$first->restart_coordinator;
$first->wait_until(sub { ours() == 2 }, 10);
is(scalar(ours()), 2, 'after its restart the first one rolls them back');
is($transfer{$name}->outcome, 'none', 'the transfer did not happen');
foreign_untouched_ok('after a crash');

# The second coordinator is let go: commits.
$name = 'coordinator b';
$blocker{$name}->safe('COMMIT');
ok($session{$name}->finish->is_ok, 'the transfer of coordinator b commits');
is($transfer{$name}->outcome, 'all', 'on both shards');
$second->wait_until(sub { ours() == 0 && $second->log_rows == 0 }, 10);
is(scalar(ours()), 0, 'nothing of ours is left');
is($second->log_rows, 0, 'nor in the log');
resolve_all();
foreign_untouched_ok('in the end');
$first->shard_sql(0, "COMMIT PREPARED '$_'") foreach @foreign;
is($first->shard_sql(0, 'SELECT count(*) FROM app'),
	scalar(@foreign), 'their owner can commit them');

foreach my $place (sort keys %place)
{
	my ($cluster, $dbname, $table) = @{ $place{$place} };
	$cluster->assert_atomic($place, $table);
	is($cluster->log_rows($dbname), 0, "$place: its log is empty");
}
$first->logs_clean_ok;
$second->logs_clean_ok;
$second->coordinator->stop('immediate');
$first->stop;
done_testing;
