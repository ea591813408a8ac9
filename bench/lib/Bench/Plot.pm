
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Plot - the pictures of doc/performance.md

=head1 DESCRIPTION

Has gnuplot draw SVG files from the series of the results.

=over

=item Bench::Plot::draw($dir, \%results)

Draws what the results have series for; returns hashes with C<file>, C<title> and
the C<table> it belongs to.

=back

=cut

package Bench::Plot;

use strict;
use warnings;

# The same colour for the same thing everywhere, lines and bars.
my %look = (
	'shard_fdw' => { color => '#1f6fb4', point => 7, dash => 1 },
	'postgres_fdw' => { color => '#d9662b', point => 5, dash => 1 },
	'postgres_fdw, best' => { color => '#d9662b', point => 5, dash => 1 },
	'postgres_fdw, defaults' => { color => '#f0b48a', point => 9, dash => 2 },
	'dblink, two-phase one by one' =>
	  { color => '#8c6bb1', point => 11, dash => 2 },
	'one shard directly' => { color => '#b8b8b8', point => 13, dash => 2 });

# Files: the terminal's size, what is drawn, and its panels by their series.
my @plots = (
	{
		file => 'trips.svg',
		table => 'trips',
		title => 'Round trips against the number of shards',
		size => '960,400',
		layout => '1,2',
		kind => 'lines',
		ylabel => 'round trips waited for',
		panels => [
			[ 'trips-select', 'SELECT without key' ],
			[ 'trips-update', 'UPDATE of a row on each shard' ]
		]
	},
	{
		file => 'time.svg',
		table => 'trips',
		title => 'Time against the number of shards',
		size => '960,400',
		layout => '1,2',
		kind => 'lines',
		ylabel => 'ms, with 1 ms each way',
		panels => [
			[ 'time-select', 'SELECT without key' ],
			[ 'time-update', 'UPDATE of a row on each shard' ]
		]
	},
	{
		file => 'throughput.svg',
		table => 'throughput',
		title => 'Transactions per second',
		size => '960,720',
		layout => '2,2',
		kind => 'bars',
		ylabel => 'transactions per second',
		panels => [
			[ 'throughput-select', 'SELECT by key' ],
			[ 'throughput-update', 'UPDATE by key' ],
			[ 'throughput-insert', 'INSERT by key' ],
			[ 'throughput-transfer', 'Transfer between two shards' ]
		]
	});

sub _series
{
	my ($results) = @_;
	my %series;
	foreach my $table (sort keys %$results)
	{
		push @{ $series{ $_->{plot} } }, $_
		  foreach @{ $results->{$table}{series} };
	}
	return \%series;
}

sub _data_blocks
{
	my ($id, $all) = @_;
	my $text = '';
	foreach my $n (0 .. $#$all)
	{
		$text .= "\$${id}_$n << EOD\n"
		  . join('', map { "$_->[0] $_->[1]\n" } @{ $all->[$n]{points} })
		  . "EOD\n";
	}
	return $text;
}

sub _lines
{
	my ($id, $title, $all) = @_;
	my @curves = map {
		my $look = $look{ $all->[$_]{name} };
		"\$${id}_$_ using 1:2 with linespoints lw 2.5 ps 0.7 pt $look->{point}"
		  . " dt $look->{dash} lc rgb '$look->{color}' title '$all->[$_]{name}'"
	} 0 .. $#$all;

	return
		"set title '$title'\nset logscale xy\nset xlabel 'shards'\n"
	  . "set xtics (1, 2, 4, 8, 16, 32)\nset xrange [0.9:36]\n"
	  . "set key top left Left reverse\nset yrange [0.5:*]\n"
	  . "plot "
	  . join(", \\\n  ", @curves) . "\n";
}

sub _bars
{
	my ($id, $title, $all) = @_;
	my @bars = map {
		my $look = $look{ $all->[$_]{name} };
		"\$${id}_$_ using 2:xtic(1) lc rgb '$look->{color}'"
		  . " title '$all->[$_]{name}'"
	} 0 .. $#$all;

	# the key stands above the bars
	my $headroom = 0.1 + 0.11 * @$all;
	return
		"set title '$title'\nset xlabel 'clients'\nset style data histogram\n"
	  . "set style histogram clustered gap 1\nset style fill solid noborder\n"
	  . "set boxwidth 0.9\nset key top left Left reverse samplen 1.5\n"
	  . "set yrange [0:*]\nset offsets 0, 0, graph $headroom, 0\n"
	  . "plot "
	  . join(", \\\n  ", @bars) . "\n";
}

sub _script
{
	my ($file, $plot, $series) = @_;
	my $text =
		"set terminal svg size $plot->{size} noenhanced background 'white'"
	  . " font 'sans-serif,12'\nset output '$file'\n"
	  . "set border 3\nset tics nomirror out\nset grid ytics lc rgb '#dddddd'\n"
	  . "set ylabel '$plot->{ylabel}'\n";

	foreach my $panel (@{ $plot->{panels} })
	{
		my ($name) = @$panel;
		$text .= _data_blocks($name =~ s/\W/_/gr, $series->{$name});
	}
	$text .= "set multiplot layout $plot->{layout}\n";
	foreach my $panel (@{ $plot->{panels} })
	{
		my ($name, $title) = @$panel;
		my $draw = $plot->{kind} eq 'lines' ? \&_lines : \&_bars;
		$text .= $draw->($name =~ s/\W/_/gr, $title, $series->{$name});
	}
	return $text . "unset multiplot\n";
}

# Without the blanks at the ends of lines and the empty last line that gnuplot
# leaves.
sub _tidy
{
	my ($file) = @_;
	local ($^I, @ARGV) = ('', $file);
	local $/ = undef;
	my $text = readline;

	$text =~ s/[ \t]+$//mg;
	$text =~ s/\n+\z/\n/;
	print $text;
	return;
}

sub draw
{
	my ($dir, $results) = @_;
	my $series = _series($results);
	my @drawn;

	foreach my $plot (@plots)
	{
		next if grep { !$series->{ $_->[0] } } @{ $plot->{panels} };
		open(my $fh, '|-', 'gnuplot') or die "could not run gnuplot: $!\n";
		print $fh _script("$dir/$plot->{file}", $plot, $series);
		close($fh) or die "gnuplot failed for $plot->{file}\n";
		_tidy("$dir/$plot->{file}");
		push @drawn, $plot;
	}
	return @drawn;
}

1;
