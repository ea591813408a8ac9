
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Scan - a full scan of one foreign table, sent on to a client

=head1 DESCRIPTION

psql runs COPY (SELECT * FROM ...) TO STDOUT in a session that is already
connected to the shard, and throws the rows away.  postgres_fdw is measured with
several values of fetch_size.

=cut

package Bench::Table::Scan;

use strict;
use warnings;

use Bench::Numbers qw(median spread ratio);
use Bench::Psql;
use Bench::Servers;
use Carp;
use ShardDelay;

my @fetch_sizes = (100, 1000, 10000, 50000);

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless {
		run => $run,
		result => $result,
		rows => $run->pick(1_000_000, 50_000)
	}, $class;

	$self->_create;
	my @near = ('direct', 'ours', map { "peer$_" } @fetch_sizes);
	my @far = ('far_ours', map { "far_peer$_" } @fetch_sizes);
	$self->_check_answers(@near, @far);
	my $rounds = $run->pick(5, 1);
	$self->{sample} = $run->measure(\@near, $rounds,
		sub { $self->_scan($_[0]) });
	$run->progress('  no delay');
	$self->{relay}->set(1);
	$self->{sample} = {
		%{ $self->{sample} },
		%{ $run->measure(\@far, $run->pick(3, 1), sub { $self->_scan($_[0]) })
		}
	};
	$run->progress('  1 ms each way');
	$self->{relay}->stop;
	$self->{servers}->stop;
	$self->_report(\@near, \@far);
	return;
}

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} = Bench::Servers->near($self->{run}, 1);
	my $cluster = $servers->cluster;
	my $relay = $self->{relay} = ShardDelay->new($cluster->shard(0));
	my %relayed = (host => '127.0.0.1', port => $relay->port);

	$cluster->shard_sql(0, <<~SQL);
		CREATE TABLE wide (id int8 PRIMARY KEY, user_id int8, note text,
		  amount numeric, at timestamptz, score float8);
		INSERT INTO wide SELECT g, g % 1000, 'note number ' || g,
		    (g * 7 % 100000) / 100.0,
		    '2024-01-01'::timestamptz + g * interval '1 second', g / 7.0
		  FROM generate_series(1, $self->{rows}) g;
		ANALYZE wide;
		SQL
	$cluster->shard_sql(0, 'VACUUM wide');
	$cluster->shard_sql(0, 'CHECKPOINT');
	foreach my $prefix ('', 'far_')
	{
		my %options = $prefix ? %relayed : ();
		$self->_make_way("${prefix}ours", 'shard_fdw', %options);
		$self->_make_way("${prefix}peer$_", 'postgres_fdw', %options,
			fetch_size => $_)
		  foreach @fetch_sizes;
	}
	return;
}

sub _make_way
{
	my ($self, $name, $way, %options) = @_;
	my $cluster = $self->{servers}->cluster;

	$self->{servers}->make_servers($way, name => $name, options => \%options);
	$cluster->sql("IMPORT FOREIGN SCHEMA public LIMIT TO (wide)"
		  . " FROM SERVER ${name}_0 INTO $name");
	$cluster->sql("ANALYZE $name.wide");
	return;
}

sub _node
{
	my ($self, $way) = @_;
	my $cluster = $self->{servers}->cluster;
	return $way eq 'direct' ? $cluster->shard(0) : $cluster->coordinator;
}

sub _table
{
	my ($way) = @_;
	return $way eq 'direct' ? 'public.wide' : "$way.wide";
}

sub _check_answers
{
	my ($self, @ways) = @_;
	my $expected;
	foreach my $way (@ways)
	{
		my $sum = Bench::Psql::checksum($self->_node($way),
			'SELECT * FROM ' . _table($way));
		$expected //= $sum;
		croak "$way gives other rows than the shard" if $sum ne $expected;
	}
	return;
}

sub _scan
{
	my ($self, $way) = @_;
	my $table = _table($way);
	return Bench::Psql::timed(
		$self->_node($way),
		before => "SELECT id FROM $table WHERE id = 1",
		sql => "COPY (SELECT * FROM $table) TO STDOUT");
}

# ---- what is printed ----------------------------------------------------------

sub _title
{
	my ($way) = @_;
	return 'on the shard itself' if $way eq 'direct';
	return 'shard_fdw' if $way =~ /ours/;
	return 'postgres_fdw, fetch_size ' . ($way =~ s/\D//gr);
}

sub _ms
{
	my ($self, $way) = @_;
	return map { $_->{ms} } @{ $self->{sample}{$way} };
}

sub _typical
{
	my ($self, $way) = @_;
	return median($self->_ms($way));
}

sub _rows
{
	my ($self, $ours, @ways) = @_;
	return [
		map {
			my $way = $_;
			[
				_title($way),
				spread('%.0f', $self->_ms($way)),
				sprintf('%.0f',
					median(map { $_->{cpu} } @{ $self->{sample}{$way} })),
				sprintf('%.2f',
					ratio($self->_typical($way), $self->_typical($ours)))
			]
		} @ways
	];
}

sub _report
{
	my ($self, $near, $far) = @_;
	my $result = $self->{result};
	my @columns = ('way', 'ms', 'CPU ms of the session', 'ms / shard_fdw');

	$result->table("$self->{rows} rows x 6 columns to a client",
		\@columns, $self->_rows('ours', @$near));
	$result->table(
		"$self->{rows} rows x 6 columns to a client, 1 ms each way to the shard",
		\@columns, $self->_rows('far_ours', @$far));

	my ($best) = sort { $self->_typical($a) <=> $self->_typical($b) }
	  grep { /^peer/ } @$near;
	my ($far_best) = sort { $self->_typical($a) <=> $self->_typical($b) }
	  grep { /^far_peer/ } @$far;
	$self->_target_times('full scan', $best, 'ours', 1.8);
	my $direct = ratio($self->_typical('ours'), $self->_typical('direct'));
	$result->target('full scan, beside the same on the shard',
		'<= 1.5 times', sprintf('%.2f times', $direct), $direct <= 1.5);
	$self->_target_times('full scan, 1 ms each way', 'far_peer100',
		'far_ours', 5);
	$self->_target_times('full scan, 1 ms each way',
		$far_best, 'far_ours', 1.5);
	return;
}

sub _target_times
{
	my ($self, $what, $peer, $ours, $limit) = @_;
	my $times = ratio($self->_typical($peer), $self->_typical($ours));

	$self->{result}->target(
		"$what, times as fast as " . _title($peer),
		">= $limit", sprintf('%.2f', $times), $times >= $limit);
	return;
}

1;
