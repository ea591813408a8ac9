
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Load - COPY and INSERT ... SELECT of many rows into four shards

=head1 DESCRIPTION

Ways that send row by row get a tenth of the rows; what is compared is rows per
second.  The tables are emptied before each run, and counted and summed up on
every shard after it.

=cut

package Bench::Table::Load;

use strict;
use warnings;

use Bench::Numbers qw(median spread ratio);
use Bench::Psql;
use Bench::Servers;
use Carp;
use PostgreSQL::Test::Utils;

use constant NSHARDS => 4;

my $columns = 'k int8, user_id int8, note text, amount numeric,'
  . ' at timestamptz, score float8';

my %title = (
	ours => 'shard_fdw',
	best => 'postgres_fdw, batch_size 1000',
	plain => 'postgres_fdw, defaults',
	direct => 'into one shard directly');
my @ways = qw(ours best plain direct);

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless {
		run => $run,
		result => $result,
		rows => $run->pick(1_000_000, 20_000),
	}, $class;

	$self->_create;
	foreach my $statement ('COPY', 'INSERT ... SELECT')
	{
		my $sample = $run->measure(\@ways, $run->pick(3, 1),
			sub { $self->_load($statement, $_[0]) });
		$self->_report($statement, $sample);
		$run->progress(
			'  %s: %s',
			$statement,
			join(
				', ',
				map {
					sprintf('%s %.0f', $title{$_}, median(@{ $sample->{$_} }))
				} @ways));
	}
	$self->{servers}->stop;
	return;
}

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} =
	  Bench::Servers->near($self->{run}, NSHARDS);
	my $cluster = $servers->cluster;

	foreach my $way ('shard_fdw', 'postgres_fdw', 'postgres_fdw, defaults')
	{
		my $schema = $servers->make_servers($way);
		$servers->make_table($schema, 't', $columns, NSHARDS, NSHARDS);
	}
	$cluster->shard_sql($_, "CREATE TABLE t_$_ ($columns)")
	  foreach 0 .. NSHARDS - 1;

	# the rows, as a file and as a table, on both sides
	my $few = $self->{rows} / 10;
	my $source = <<~SQL;
		CREATE TABLE source AS SELECT g::int8 AS k, g % 1000 AS user_id,
		    'note number ' || g AS note, (g * 7 % 100000) / 100.0 AS amount,
		    '2024-01-01'::timestamptz + g * interval '1 second' AS at,
		    g / 7.0::float8 AS score
		  FROM generate_series(1, $self->{rows}) g;
		ANALYZE source;
		CREATE VIEW few AS SELECT * FROM source WHERE k <= $few;
		SQL
	$cluster->sql($source);
	$cluster->shard_sql(0,
		"CREATE SCHEMA direct; CREATE TABLE direct.t ($columns); $source");
	my $dir = PostgreSQL::Test::Utils::tempdir();
	%{ $self->{file} } = (source => "$dir/source", few => "$dir/few");
	$cluster->sql("COPY (SELECT * FROM $_) TO '$self->{file}{$_}'")
	  foreach keys %{ $self->{file} };
	$self->{run}->progress('  tables created');
	return;
}

# How many rows a way gets, and from where.
sub _source
{
	my ($self, $statement, $way) = @_;
	my $is_slow = $way eq 'plain'
	  || ($way eq 'best'
		&& $statement eq 'COPY'
		&& $self->{servers}{version} < 16);
	return $is_slow
	  ? ('few', $self->{rows} / 10)
	  : ('source', $self->{rows});
}

sub _load
{
	my ($self, $statement, $way) = @_;
	my $servers = $self->{servers};
	my $cluster = $servers->cluster;
	my ($source, $rows) = $self->_source($statement, $way);

	$cluster->shard_sql($_, "TRUNCATE t_$_") foreach 0 .. NSHARDS - 1;
	$cluster->shard_sql(0, 'TRUNCATE direct.t');
	my $measured = Bench::Psql::timed(
		$way eq 'direct' ? $cluster->shard(0) : $cluster->coordinator,
		before => "SELECT count(*) FROM $way.t",
		sql => $statement eq 'COPY'
		? "\\copy $way.t FROM '$self->{file}{$source}'"
		: "INSERT INTO $way.t SELECT * FROM public.$source",
		options => $servers->session_options(
			$way eq 'direct' ? 'direct' : $way));
	$self->_check_rows($way, $rows);
	return $rows / $measured->{ms} * 1000;
}

sub _check_rows
{
	my ($self, $way, $rows) = @_;
	my $cluster = $self->{servers}->cluster;
	my ($count, $sum) = (0, 0);

	$cluster->wait_settled(60) if $way eq 'ours';
	foreach my $n ($way eq 'direct' ? 0 : 0 .. NSHARDS - 1)
	{
		my $table = $way eq 'direct' ? 'direct.t' : "public.t_$n";
		my ($here, $sum_here) = split(/\|/,
			$cluster->shard_sql($n, "SELECT count(*), sum(k) FROM $table"));
		croak "shard $n has no rows" if !$here;
		$count += $here;
		$sum += $sum_here;
	}
	croak "$way: $count rows, sum $sum"
	  if $count != $rows || $sum != $rows * ($rows + 1) / 2;
	return;
}

# ---- what is printed ----------------------------------------------------------

sub _report
{
	my ($self, $statement, $sample) = @_;
	my %rate = map { $_ => median(@{ $sample->{$_} }) } @ways;
	my %limit = (best => 3, plain => 10, direct => 0.6);

	$self->{result}->table(
		"$statement into 4 shards",
		[ 'way', 'rows', 'rows per second', 'shard_fdw is so many times as fast' ],
		[
			map {
				[
					$title{$_}, ($self->_source($statement, $_))[1],
					spread('%.0f', @{ $sample->{$_} }),
					sprintf('%.2f', ratio($rate{ours}, $rate{$_}))
				]
			} @ways
		]);
	foreach my $way (qw(best plain direct))
	{
		my $times = ratio($rate{ours}, $rate{$way});
		$self->{result}->target(
			"$statement of $self->{rows} rows, times as fast as $title{$way}",
			">= $limit{$way}", sprintf('%.2f', $times),
			$times >= $limit{$way});
	}
	return;
}

1;
