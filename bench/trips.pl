#!/usr/bin/perl

# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Round trips of typical statements, shard_fdw beside postgres_fdw; run it
# with tools/bench-trips.  Arguments: wrappers (all three), and --rounds=N.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use ShardTrips;
use Test::More;

my ($rounds) = map { /^--rounds=(\d+)$/ ? $1 : () } @ARGV;
my @wrappers = grep { !/^--/ } @ARGV;
@wrappers = qw(shard_fdw postgres_fdw postgres_fdw+) unless @wrappers;

my $trips = ShardTrips->new(wrappers => \@wrappers);
diag sprintf('%-56s' . ' %14s' x @wrappers, 'round trips', @wrappers);
foreach my $case (ShardTrips::cases())
{
	my @count = map { $trips->measure($_, $case, $rounds) } @wrappers;
	diag sprintf('%-56s' . ' %14.1f' x @count, $case, @count);
}
$trips->stop;
pass('measured');
done_testing;
