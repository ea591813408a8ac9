
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Result - what one run of one table's module has found

=head1 DESCRIPTION

Tables of text, targets and series to plot, as plain data that is kept in
F<doc/performance/results.json>.

=over

=item Bench::Result->new($name)

=item $result->table($title, \@columns, \@rows)

=item $result->target($what, $limit, $measured, $is_met)

=item $result->series($plot, $name, \@points)

Points are C<[x, y]>.

=item $result->note($text)

A line below the tables.

=item $result->data

=item Bench::Result::format_table(\@columns, \@rows)

The table in Markdown, which is readable as it stands.

=back

=cut

package Bench::Result;

use strict;
use warnings;

use List::Util qw(max);

sub new
{
	my ($class, $name) = @_;
	return bless {
		name => $name,
		tables => [],
		targets => [],
		series => [],
		notes => []
	}, $class;
}

sub table
{
	my ($self, $title, $columns, $rows) = @_;
	push @{ $self->{tables} },
	  { title => $title, columns => $columns, rows => $rows };
	return;
}

sub target
{
	my ($self, $what, $limit, $measured, $is_met) = @_;
	push @{ $self->{targets} },
	  [ $what, $limit, $measured, $is_met ? 'yes' : 'NO' ];
	return;
}

sub series
{
	my ($self, $plot, $name, $points) = @_;
	push @{ $self->{series} },
	  { plot => $plot, name => $name, points => $points };
	return;
}

sub note
{
	my ($self, $text) = @_;
	push @{ $self->{notes} }, $text;
	return;
}

sub data
{
	my ($self) = @_;
	return {%$self};
}

sub format_table
{
	my ($columns, $rows) = @_;
	my @width;
	foreach my $row ($columns, @$rows)
	{
		$width[$_] = max($width[$_] // 3, length($row->[$_] // ''))
		  foreach 0 .. $#$columns;
	}
	my $line = sub {
		my ($row) = @_;
		return '| '
		  . join(' | ',
			map { sprintf('%-*s', $width[$_], $row->[$_] // '') }
			  0 .. $#$columns)
		  . " |\n";
	};
	return
		$line->($columns)
	  . '|' . join('|', map { '-' x ($_ + 2) } @width) . "|\n"
	  . join('', map { $line->($_) } @$rows);
}

1;
