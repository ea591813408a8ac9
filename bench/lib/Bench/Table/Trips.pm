
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Trips - how many round trips a statement waits for

=head1 DESCRIPTION

Each statement is run with no delay, 1 ms and 3 ms each way.  The times at 3 ms
and at 1 ms differ by 4 ms for each round trip that it waits for; whatever else
it costs is the same in both and cancels out.  Of the runs of a round at one
delay the fastest counts, since other load only ever adds; the median is that
of the rounds.

=cut

package Bench::Table::Trips;

use strict;
use warnings;

use Bench::Numbers qw(median spread);
use Bench::Servers;
use Carp;
use List::Util qw(max min sum0);
use Time::HiRes qw(time);

use constant ROWS_PER_PART => 40;

# Statements; :one and :two are keys on two shards, :rows two rows per shard.
my @cases = (
	{ name => 'by key', sql => ['SELECT v FROM t WHERE k = :one'] },
	{
		name => 'no key',
		sql => [q(SELECT k, v FROM t WHERE note = 'note 7')],
	},
	{
		name => 'ORDER BY ... LIMIT 10',
		sql => ['SELECT k, v FROM t ORDER BY v, k LIMIT 10']
	},
	{
		name => 'count, sum, avg',
		sql => ['SELECT count(*), sum(v), round(avg(v), 9) FROM t']
	},
	{
		name => 'co-located join',
		sql => [
			q(SELECT t.k, u.v FROM t JOIN u USING (k) WHERE t.note = 'note 7')
		]
	},
	{
		name => 'INSERT of rows for all shards',
		sql => ['INSERT INTO w VALUES :rows'],
		writes => 'all'
	},
	{
		name => 'UPDATE of a row on all shards',
		sql => ['UPDATE t SET hits = hits + 1 WHERE mark = 1'],
		writes => 'all'
	},
	{
		name => 'UPDATE by key',
		sql => ['UPDATE t SET hits = hits + 1 WHERE k = :one'],
		writes => 1
	},
	{
		name => 'two UPDATEs on two shards',
		sql => [
			'BEGIN',
			'UPDATE t SET hits = hits + 1 WHERE k = :one',
			'UPDATE t SET hits = hits + 1 WHERE k = :two',
			'COMMIT'
		],
		writes => 2,
		from => 2
	});

my @delays = (0, 1, 3);

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless {
		run => $run,
		result => $result,
		sessions => {},
		updates => {},
		inserts => {},
		sizes => $run->pick([ 1, 2, 4, 8, 16, 32 ], [ 1, 4 ]),
		parts => $run->pick(72, 16),
		parts_on => $run->pick(8, 4),
	}, $class;

	$self->_create($self->{sizes}[-1]);
	$self->_measure_all;
	$self->_check_writes;
	$self->_report;
	$_->close foreach values %{ $self->{sessions} };
	$self->{servers}->stop;
	return;
}

# Tables by what their names end with: parts and shards.  That with more parts
# than shards is the last of them.
sub _sets
{
	my ($self) = @_;
	return (
		(map { $_ => [ $_, $_ ] } @{ $self->{sizes} }),
		$self->{parts} => [ $self->{parts}, $self->{parts_on} ]);
}

sub _all_sizes
{
	my ($self) = @_;
	return (@{ $self->{sizes} }, $self->{parts});
}

sub _create
{
	my ($self, $nshards) = @_;
	my $servers = $self->{servers} =
	  Bench::Servers->far($self->{run}, $nshards);
	my %set = $self->_sets;
	my $columns = 'k int8, v int4, note text, mark int4, hits int4';

	$self->{run}->progress('  creating tables');
	foreach my $way ('shard_fdw', 'postgres_fdw', 'postgres_fdw, async',
		'postgres_fdw, defaults')
	{
		my $schema = $servers->make_servers($way);
		foreach my $size (sort keys %set)
		{
			$servers->make_table($schema, "$_$size", $columns,
				@{ $set{$size} })
			  foreach qw(t u w);
		}
	}
	$self->_fill($_, @{ $set{$_} }) foreach sort keys %set;
	return;
}

# Keys 1 to 40 per part; the first of each part is marked.
sub _fill
{
	my ($self, $size, $parts, $shards) = @_;
	my $cluster = $self->{servers}->cluster;

	foreach my $part (0 .. $parts - 1)
	{
		my @keys = split(
			/\n/,
			$cluster->sql(
				    'SELECT i FROM generate_series(1::int8, '
				  . ROWS_PER_PART * $parts
				  . ") i WHERE satisfies_hash_partition('ours.t$size'::regclass,"
				  . " $parts, $part, i) ORDER BY i"));
		my $list = join(',', @keys);
		$self->{keys}{$size}[$part] = \@keys;
		$cluster->shard_sql($part % $shards,
			join(
				'; ',
				map {
					    "CREATE TABLE ${_}${size}_$part (k int8 "
					  . ($_ eq 'w' ? 'NOT NULL' : 'PRIMARY KEY')
					  . ', v int4, note text, mark int4, hits int4)'
				} qw(t u w))
			  . '; '
			  . join(
				'; ',
				map {
					    "INSERT INTO ${_}${size}_$part SELECT k, k * 7 % 1000,"
					  . " 'note ' || k, (k = $keys[0])::int, 0"
					  . " FROM unnest('{$list}'::int8[]) k;"
					  . " ANALYZE ${_}${size}_$part"
				} qw(t u)));
	}
	return;
}

# The statements of a case with the keys of a table.
sub _statements
{
	my ($self, $case, $size) = @_;
	my $keys = $self->{keys}{$size};
	my $one = $keys->[0][1];
	my $two = $keys->[ $#$keys ? 1 : 0 ][1];
	my $rows = join(', ',
		map { my $part = $_; map { "($_, 1, 'new', 0, 0)" } @$part[ 0, 1 ] }
		  @$keys);

	return map {
		s/:one/$one/gr =~ s/:two/$two/gr =~ s/:rows/$rows/gr
		  =~ s/\b([tuw])\b(?=$| USING| WHERE| SET| ORDER| JOIN| VALUES)/$1$size/gr
		  =~ s/\b([tuw])\./$1$size./gr
	} @{ $case->{sql} };
}

# What it must answer, computed from how the tables were filled.
sub _expected
{
	my ($self, $case, $size) = @_;
	my @keys = sort { $a <=> $b } map { @$_ } @{ $self->{keys}{$size} };
	my %v = map { $_ => $_ * 7 % 1000 } @keys;
	my $name = $case->{name};

	return $v{ $self->{keys}{$size}[0][1] } if $name eq 'by key';
	return '7|49' if $name eq 'no key' || $name eq 'co-located join';
	if ($name =~ /^ORDER/)
	{
		my @sorted = sort { $v{$a} <=> $v{$b} || $a <=> $b } @keys;
		return join("\n", map { "$_|$v{$_}" } @sorted[ 0 .. 9 ]);
	}
	if ($name =~ /^count/)
	{
		my $sum = sum0(values %v);
		return sprintf('%d|%d|%.9f', scalar(@keys), $sum, $sum / @keys);
	}
	return;
}

sub _run_once
{
	my ($self, $session, $case, $size, $sql, $expected) = @_;
	my $start = time();
	my $answer = join('', map { $session->safe($_) } @$sql);
	my $took = (time() - $start) * 1000;

	croak "$case->{name}, $size: '$answer' in place of '$expected'"
	  if defined $expected && $answer ne $expected;
	if ($case->{writes} && $sql->[0] =~ /^INSERT/)
	{
		$self->{inserts}{$size}++;
	}
	elsif ($case->{writes})
	{
		$self->{updates}{$size} +=
		  $case->{writes} eq 'all'
		  ? @{ $self->{keys}{$size} }
		  : $case->{writes};
	}
	return $took;
}

# Milliseconds at each delay: median of some runs.
sub _time
{
	my ($self, $way, $case, $size) = @_;
	my $session = $self->{sessions}{$way} //=
	  $self->{servers}->session($way);
	my @sql = $self->_statements($case, $size);
	my $expected = $self->_expected($case, $size);
	my %took;

	foreach my $delay (@delays)
	{
		$self->{servers}->relay->set($delay);

		# the first connects, or waits for what the last left on its way
		my $first =
		  $self->_run_once($session, $case, $size, \@sql, $expected);
		my $runs =
			$self->{run}->is_quick ? 2
		  : $first > 50 ? 3
		  : $first > 20 ? 9
		  : 21;
		my @took = map {
			$self->_run_once($session, $case, $size, \@sql, $expected)
		} 1 .. $runs;
		$took{$delay} = min(@took);
	}
	return \%took;
}

# The other configurations of postgres_fdw only where a table or a plot has
# them; they are slow.
sub _ways
{
	my ($self, $case, $size) = @_;
	my $is_compared = grep { $_ == $size } $self->_compared_sizes;
	my @ways = ('shard_fdw', 'postgres_fdw');

	return @ways unless $case->{name} =~ /^(?:by|no) key|^UPDATE of/;
	push @ways, 'postgres_fdw, async' if $is_compared;
	push @ways, 'postgres_fdw, defaults'
	  if $is_compared || $case->{name} ne 'by key';
	return @ways;
}

sub _compared_sizes
{
	my ($self) = @_;
	return
	  grep { $_ == 4 || $_ == 8 || $_ == $self->{parts} } $self->_all_sizes;
}

sub _measure_all
{
	my ($self) = @_;
	my $rounds = $self->{run}->pick(3, 1);

	foreach my $case (@cases)
	{
		foreach my $size ($self->_all_sizes)
		{
			next if $size < ($case->{from} // 1);
			my @ways = $self->_ways($case, $size);
			my $sample = $self->{run}->measure(\@ways, $rounds,
				sub { $self->_time($_[0], $case, $size) });
			$self->{took}{ $case->{name} }{$size} = $sample;
			$self->{run}->progress(
				'  %s, %s: %s', $case->{name}, $self->_size_name($size),
				join(', ',
					map { "$_ " . $self->_trips($case->{name}, $size, $_) }
					  @ways));
		}
	}
	$self->{servers}->relay->set(0);
	return;
}

# Every shard has what was written to it, and nothing else.
sub _check_writes
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my %set = $self->_sets;

	foreach my $size (keys %set)
	{
		my ($parts, $shards) = @{ $set{$size} };
		my $hits = 0;
		foreach my $part (0 .. $parts - 1)
		{
			$hits += $cluster->shard_sql($part % $shards,
				"SELECT sum(hits) FROM t${size}_$part");
			my $rows = $cluster->shard_sql($part % $shards,
				"SELECT count(*) FROM w${size}_$part");
			croak "w${size}_$part has $rows rows"
			  if $rows != 2 * ($self->{inserts}{$size} // 0);
		}
		croak "t$size was updated $hits times in place of"
		  . " $self->{updates}{$size}"
		  if $hits != $self->{updates}{$size};
	}
	return;
}

# ---- what is printed ----------------------------------------------------------

sub _size_name
{
	my ($self, $size) = @_;
	return "$size partitions on $self->{parts_on}"
	  if $size == $self->{parts};
	return $size == 1 ? '1 shard' : "$size shards";
}

sub _trip_values
{
	my ($self, $case, $size, $way) = @_;
	return
	  map { ($_->{3} - $_->{1}) / 4 }
	  @{ $self->{took}{$case}{$size}{$way} // [] };
}

sub _trips
{
	my ($self, $case, $size, $way) = @_;
	return spread('%.1f', $self->_trip_values($case, $size, $way));
}

sub _times
{
	my ($self, $case, $size, $way) = @_;
	my @samples = @{ $self->{took}{$case}{$size}{$way} // [] };
	return '' unless @samples;
	return join(
		' / ',
		map {
			my $delay = $_;
			sprintf('%.1f', median(map { $_->{$delay} } @samples))
		} @delays);
}

sub _report
{
	my ($self) = @_;
	my $result = $self->{result};
	my @sizes = $self->_all_sizes;
	my @names = map { $_->{name} } @cases;

	foreach my $way ('shard_fdw', 'postgres_fdw')
	{
		$result->table(
			"Round trips, $way" . ($way eq 'shard_fdw' ? '' : ', best settings'),
			[ 'statement', map { $self->_size_name($_) } @sizes ],
			[
				map {
					my $name = $_;
					[
						$name,
						map { $self->_trips_cell($name, $_, $way) } @sizes
					]
				} @names
			]);
	}
	$self->_report_configurations;
	$self->_report_series;
	$self->_report_targets;
	return;
}

sub _trips_cell
{
	my ($self, $name, $size, $way) = @_;
	return $self->{took}{$name}{$size}
	  ? $self->_trips($name, $size, $way)
	  : '';
}

# The configurations of postgres_fdw beside each other.
sub _report_configurations
{
	my ($self) = @_;
	my @sizes = $self->_compared_sizes;
	my @rows;
	my @times;

	foreach my $name ('by key', 'no key', 'UPDATE of a row on all shards')
	{
		foreach my $way ('shard_fdw', 'postgres_fdw', 'postgres_fdw, async',
			'postgres_fdw, defaults')
		{
			my $title = "$name; " . ($way eq 'postgres_fdw' ? "$way, best" : $way);
			push @rows,
			  [ $title, map { $self->_trips_cell($name, $_, $way) } @sizes ];
			push @times,
			  [ $title, map { $self->_times($name, $_, $way) } @sizes ];
		}
	}
	my @head = map { $self->_size_name($_) } @sizes;
	$self->{result}->table('Round trips by configuration',
		[ 'statement; configuration', @head ], \@rows);
	$self->{result}->table(
		'Time of one statement, ms (no delay / 1 ms each way / 3 ms)',
		[ 'statement; configuration', @head ], \@times);
	return;
}

sub _report_series
{
	my ($self) = @_;
	my %plot = (
		'no key' => 'select',
		'UPDATE of a row on all shards' => 'update');

	foreach my $name (sort keys %plot)
	{
		foreach my $way ('shard_fdw', 'postgres_fdw',
			'postgres_fdw, defaults')
		{
			my $title = $way eq 'postgres_fdw' ? "$way, best" : $way;
			$self->{result}->series(
				"trips-$plot{$name}",
				$title,
				[
					map { [ $_, median($self->_trip_values($name, $_, $way)) ] }
					  @{ $self->{sizes} }
				]);
			$self->{result}->series(
				"time-$plot{$name}",
				$title,
				[
					map {
						my $samples = $self->{took}{$name}{$_}{$way};
						[ $_, median(map { $_->{1} } @$samples) ]
					} @{ $self->{sizes} }
				]);
		}
	}
	return;
}

sub _report_targets
{
	my ($self) = @_;

	$self->_target($_, 1.3, 1.3)
	  foreach ('by key', 'no key', 'ORDER BY ... LIMIT 10',
		'count, sum, avg', 'co-located join');

	# the statement, PREPARE TRANSACTION, COMMIT PREPARED; on one shard COMMIT
	$self->_target('INSERT of rows for all shards', 3.3, 2.3);
	$self->_target('UPDATE of a row on all shards', 3.3, 2.3);

	my $name = 'two UPDATEs on two shards';
	my $ours = max(map { median($self->_trip_values($name, $_, 'shard_fdw')) }
		  grep { $_ > 1 } @{ $self->{sizes} });
	my $peer =
	  min(map { median($self->_trip_values($name, $_, 'postgres_fdw')) }
		  grep { $_ > 1 } @{ $self->{sizes} });
	$self->{result}->target(
		"round trips, $name, atomic",
		sprintf('<= 4.3, and <= postgres_fdw without atomicity (%.1f)', $peer),
		sprintf('%.1f', $ours),
		$ours <= 4.3 && $ours <= $peer + 0.3);
	return;
}

# Within the limit everywhere, which also makes it flat.
sub _target
{
	my ($self, $name, $limit, $limit_on_one) = @_;
	my %trips = map { $_ => median($self->_trip_values($name, $_, 'shard_fdw')) }
	  $self->_all_sizes;
	my $one = delete $trips{1};
	my @all = sort { $a <=> $b } values %trips;

	$self->{result}->target(
		"round trips, $name, 1 to $self->{sizes}[-1] shards,"
		  . " $self->{parts} partitions",
		"<= $limit"
		  . ($limit == $limit_on_one ? '' : " (one shard: $limit_on_one)"),
		sprintf('%.1f to %.1f (one shard: %.1f)', $all[0], $all[-1], $one),
		$all[-1] <= $limit && $one <= $limit_on_one);
	return;
}

1;
