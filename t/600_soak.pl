
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Clients move money between four shards while processes are killed, shards
# go down and the network fails.  Afterwards every transaction is on all of its
# shards or on none, as its client was told (I), and nothing is left.
#
# SOAK_SECONDS: how long (60; "make soak" makes it 300).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use ShardSoak;
use Test::More;
use Time::HiRes qw(time);

my $seconds = $ENV{SOAK_SECONDS} || 60;
my $cluster = ShardCluster->new(
	shards => 4,
	relay => 1,
	conf => {
		'shard_fdw.connect_timeout' => '2s',
		'shard_fdw.response_timeout' => '5s',
	});
my $soak = ShardSoak->new($cluster, clients => 6);
my $start = time();

$soak->start;
while (time() < $start + $seconds)
{
	my $fault = $soak->break_something;
	note sprintf('%6.1f s: %s', time() - $start, $fault) if $fault;
	$soak->watch(rand(2));
}
is($soak->stop, 0, 'every client got every answer in time');

my $took = $cluster->wait_settled(10);
$cluster->settled_ok(1, 'after the last fault');
is(scalar($cluster->in_doubt), 0, 'nothing is in doubt');
is($cluster->sql('SELECT count(*) FROM pg_prepared_xacts'),
	0, 'nothing is prepared on the coordinator');
$cluster->assert_atomic('in the end');
is(join("\n", $soak->violations),
	'', 'every transaction is as its client was told');
$cluster->logs_clean_ok;

my %transaction = $soak->transactions;
my %told;
$told{ $_->{told} }++ foreach values %transaction;
my %faults = $soak->faults;
my $nfaults = 0;
$nfaults += $_ foreach values %faults;
my ($in_doubt, $longest) = $soak->in_doubt;
cmp_ok($told{committed} // 0, '>', 0, 'work was done');
cmp_ok($nfaults, '>', $seconds / 10, 'faults were injected');
diag sprintf('soak: %d s, %d faults, %d transactions (%s), %d branches in'
	  . ' doubt for over 1 s, longest %.1f s, settled %.1f s after the last',
	time() - $start, $nfaults, scalar(keys %transaction),
	join(', ', map { "$told{$_} $_" } sort keys %told),
	$in_doubt, $longest, $took // 0);
note "$faults{$_} x $_" foreach sort keys %faults;

my %error;
foreach my $entry (grep { $_->{told} ne 'committed' } values %transaction)
{
	my ($line) = split(/\n/, $entry->{error});
	$line =~ s/"[^"]*"/*/g;
	$error{"$entry->{told}: $line"}++;
}
note "$error{$_} x $_" foreach sort keys %error;

$cluster->stop;
done_testing;
