
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# How many network round trips typical statements wait for, measured through
# a relay that delays.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardTrips;
use Test::More;

plan skip_all => 'needs a C compiler'
  if system(($ENV{CC} || 'cc') . ' --version >/dev/null 2>&1') != 0;

my $trips = ShardTrips->new(
	wrappers => [ 'shard_fdw', 'postgres_fdw' ],
	is_loaded => 1);
my $tolerance = 0.45;
my %measured;

# Noise only ever comes from outside, so a second look is fair.
sub measure
{
	my ($wrapper, $case, $expected) = @_;
	my $count;
	foreach my $try (1 .. 3)
	{
		$count = $trips->measure($wrapper, $case, 11);
		last unless defined $expected;
		last if abs($count - $expected) < $tolerance;
		note sprintf('%s: %.2f, measured again', $case, $count);
	}
	note sprintf('%s, %s: %.2f', $wrapper, $case, $count);
	return $measured{$case} = $count;
}

sub trips_ok
{
	my ($case, $expected) = @_;
	my $count = measure('shard_fdw', $case, $expected);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(abs($count - $expected) < $tolerance,
		"$case: $expected round trip" . ($expected == 1 ? '' : 's'))
	  or diag sprintf('measured: %.2f', $count);
	return;
}

# The measure itself: START TRANSACTION, DECLARE, FETCH, CLOSE, COMMIT.
my $count = measure('postgres_fdw', 'by key', 5);
ok(abs($count - 5) < $tolerance, 'postgres_fdw by key: 5')
  or diag sprintf('measured: %.2f', $count);

trips_ok('by key', 1);
trips_ok('all of 4 shards', 1);
trips_ok('all of 8 shards', 1);
trips_ok('all of 8 shards, 72 partitions', 1);

# Planning with the shards' estimates takes a trip for the table, one more for
# the sums, however many there are to ask.
trips_ok('EXPLAIN by key, remote estimates', 1);
trips_ok('EXPLAIN of 8 shards, remote estimates', 1);
trips_ok('EXPLAIN of 8 shards, 72 partitions, remote estimates', 1);
trips_ok('EXPLAIN of a sum, 72 partitions, remote estimates', 2);

# The table as a whole takes two, then each of its partitions.
trips_ok('ANALYZE of 4 shards', 2 + 4 * 2);
trips_ok('UPDATE on 1 shard', 2);
trips_ok('UPDATEs on 2 shards', 4);
trips_ok('TRUNCATE of 4 shards', 3);
trips_ok('INSERT of 40 rows on 8 shards', 3);
trips_ok('INSERT of 40 rows on 8 shards, RETURNING', 3);

# Connecting to 8 shards takes no longer than connecting to one.
my $one = measure('shard_fdw', 'by key, new session', 3);
my $all = measure('shard_fdw', 'all of 8 shards, new session', $one);
ok(abs($all - $one) < 2 * $tolerance, 'connecting to 8 shards at once')
  or diag sprintf('one shard: %.2f, 8 shards: %.2f', $one, $all);
cmp_ok($one, '<', 4, 'a connection and a query take 3 round trips');

$trips->stop;
done_testing;
