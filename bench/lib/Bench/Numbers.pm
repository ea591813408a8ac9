
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Numbers - medians, and how to print them

=over

=item median(@values)

=item spread($format, @values)

The median, then the lowest and the highest: C<5.1 [5.0..5.3]>.

=item ratio($a, $b)

=back

=cut

package Bench::Numbers;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(min max);

our @EXPORT_OK = qw(median spread ratio);

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ $#sorted / 2 ];
}

sub spread
{
	my ($format, @values) = @_;
	return 'not measured' unless @values;
	return sprintf($format, $values[0]) if @values == 1;
	return sprintf("$format [$format..$format]",
		median(@values), min(@values), max(@values));
}

sub ratio
{
	my ($a, $b) = @_;
	return $b ? $a / $b : 0;
}

1;
