
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Aggregate - aggregates and the first ten of many rows

=head1 DESCRIPTION

Four shards with a million rows each, a server of its own for each shard.
"Rows shipped" are those that EXPLAIN ANALYZE sees come from foreign scans.

"The shards alone" is the same query on each shard's own rows, sent to all of
them at once and awaited: no coordinator can be faster.

=cut

package Bench::Table::Aggregate;

use strict;
use warnings;

use Bench::Numbers qw(median spread ratio);
use Bench::Psql;
use Bench::Servers;
use Carp;
use Time::HiRes qw(time);

use constant { NSHARDS => 4, NGROUPS => 10 };

# "all" has every row come to the coordinator: OFFSET 0 keeps the subquery apart.
my @queries = (
	{ name => 'count(*)', sql => 'SELECT count(*) FROM t', shipped => NSHARDS },
	{
		name => 'avg(numeric)',
		sql => 'SELECT avg(amount) FROM t',
		shipped => NSHARDS
	},
	{
		name => 'stddev(float8)',
		sql => 'SELECT round(stddev(score)::numeric, 6) FROM t',
		shipped => NSHARDS
	},
	{
		name => 'count(*), avg(numeric), 10 groups',
		sql => 'SELECT g, count(*), avg(amount) FROM t GROUP BY g',
		shipped => NSHARDS * NGROUPS
	},
	{
		name => 'first 10 by an index',
		sql => 'SELECT k, score FROM t ORDER BY score, k LIMIT 10',
		all => 'SELECT k, score FROM (SELECT k, score FROM t OFFSET 0) t'
		  . ' ORDER BY score, k LIMIT 10',
	});

my %title = (
	ours => 'shard_fdw',
	shards => 'the shards alone',
	best => 'postgres_fdw',
	all => 'postgres_fdw, all rows shipped');

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless {
		run => $run,
		result => $result,
		rows => NSHARDS * $run->pick(1_000_000, 20_000)
	}, $class;

	$self->_create;
	$self->{shards} = [
		map { $self->{servers}->cluster->shard_session($_) }
		  0 .. NSHARDS - 1
	];
	$self->_measure_query($_) foreach @queries;
	$_->close foreach @{ $self->{shards} };
	$self->{servers}->stop;
	$result->table(
		"Aggregates over $self->{rows} rows on 4 shards",
		[ 'query', 'way', 'ms', 'ms / shard_fdw', 'rows shipped' ],
		$self->{table});
	return;
}

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} =
	  Bench::Servers->near($self->{run}, NSHARDS);
	my $cluster = $servers->cluster;
	my $columns = 'k int8, g int4, amount numeric, score float8, note text';

	foreach my $way ('shard_fdw', 'postgres_fdw')
	{
		my $schema = $servers->make_servers($way);
		$servers->make_table($schema, 't', $columns, NSHARDS, NSHARDS);
	}
	$cluster->shard_sql($_, "CREATE TABLE t_$_ ($columns)")
	  foreach 0 .. NSHARDS - 1;
	$cluster->sql(
		    'INSERT INTO ours.t SELECT i, i % ' . NGROUPS . ','
		  . " (i * 7 % 100000) / 100.0, sqrt(i), 'note ' || i"
		  . " FROM generate_series(1, $self->{rows}) i");
	foreach my $n (0 .. NSHARDS - 1)
	{
		$cluster->shard_sql($n, "CREATE INDEX ON t_$n (score, k)");
		$cluster->shard_sql($n, "VACUUM ANALYZE t_$n");
		$cluster->shard_sql($n, 'CHECKPOINT');
	}
	$cluster->sql("ANALYZE $_.t") foreach qw(ours best);
	$self->{run}->progress('  tables created');
	return;
}

# What the foreign scans of a plan returned.
sub _shipped
{
	my ($self, $way, $sql) = @_;
	my $session = $self->{servers}->session($way eq 'ours' ? 'ours' : 'best');
	my $plan = $session->safe("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $sql");
	my $rows = 0;

	$rows += $1 * $2
	  while $plan =~ /Foreign Scan.*\(actual rows=([\d.]+) loops=(\d+)\)/g;
	$session->close;
	return $rows;
}

sub _time_shards
{
	my ($self, $query) = @_;
	my $start = time;
	foreach my $n (0 .. NSHARDS - 1)
	{
		$self->{shards}[$n]->send($query->{sql} =~ s/FROM t\b/FROM t_$n/r);
	}
	foreach my $session (@{ $self->{shards} })
	{
		my $answer = $session->finish;
		croak $answer->describe unless $answer->is_ok;
	}
	return 1000 * (time - $start);
}

sub _time
{
	my ($self, $way, $query) = @_;
	my $servers = $self->{servers};

	return $self->_time_shards($query) if $way eq 'shards';
	return Bench::Psql::timed(
		$servers->cluster->coordinator,
		before => 'SELECT k FROM t LIMIT 1',
		sql => $way eq 'all' ? $query->{all} : $query->{sql},
		options => $servers->session_options($way eq 'ours' ? $way : 'best')
	)->{ms};
}

sub _check_answers
{
	my ($self, $query, @ways) = @_;
	my $expected;
	foreach my $way (@ways)
	{
		my $session =
		  $self->{servers}->session($way eq 'ours' ? 'ours' : 'best');
		my $sql = $way eq 'all' ? $query->{all} : $query->{sql};
		my $answer =
		  join("\n", sort { $a cmp $b } split(/\n/, $session->safe($sql)));
		$session->close;
		$expected //= $answer;
		croak "$query->{name}, $way: '$answer' in place of '$expected'"
		  if $answer ne $expected;
	}
	return;
}

sub _measure_query
{
	my ($self, $query) = @_;
	my @ways = ('ours', 'best', $query->{all} ? 'all' : ());

	$self->_check_answers($query, @ways);
	my $sample = $self->{run}->measure([ 'shards', @ways ], $self->{run}->pick(3, 1),
		sub { $self->_time($_[0], $query) });
	my %shipped = map {
		$_ => $self->_shipped($_, $_ eq 'all' ? $query->{all} : $query->{sql})
	} @ways;

	foreach my $way ('shards', @ways)
	{
		push @{ $self->{table} },
		  [
			$query->{name},
			$title{$way},
			spread('%.1f', @{ $sample->{$way} }),
			sprintf('%.1f',
				ratio(median(@{ $sample->{$way} }),
					median(@{ $sample->{ours} }))),
			$shipped{$way} // ''
		  ];
	}
	$self->_target($query, $sample, \%shipped);
	$self->{run}->progress(
		'  %s: %s',
		$query->{name},
		join(
			', ',
			map { sprintf('%s %.0f ms', $title{$_}, median(@{ $sample->{$_} })) }
			  'shards', @ways));
	return;
}

sub _target
{
	my ($self, $query, $sample, $shipped) = @_;
	my $peer = $query->{all} ? 'all' : 'best';
	my $times =
	  ratio(median(@{ $sample->{$peer} }), median(@{ $sample->{ours} }));

	$self->{result}->target(
		"$query->{name}, $self->{rows} rows, times as fast as $title{$peer}",
		'>= 20', sprintf('%.1f', $times), $times >= 20)
	  unless $query->{name} =~ /groups/;
	$self->{result}->target(
		"$query->{name}, rows shipped",
		$query->{shipped}, $shipped->{ours},
		$shipped->{ours} == $query->{shipped})
	  if $query->{shipped};
	return;
}

1;
