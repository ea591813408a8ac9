
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Session - round trips of the first query of a new session

=head1 DESCRIPTION

The connection of the client to the coordinator is not counted, but those of
the coordinator to its shards are, with and without TLS being asked for, with
a password, and with TCP's own handshake, which costs nothing on the loopback
interface and is added by the relay.

Processes are started on the way, which takes time that varies; where few trips
are waited for the delays are longer than elsewhere, so that this matters less.

=cut

package Bench::Table::Session;

use strict;
use warnings;

use Bench::Numbers qw(median spread);
use Bench::Servers;
use Carp;
use Time::HiRes qw(time);

# Variants: options of the servers, and round trips of one connection.
my @variants = (
	{ name => 'sslmode prefer, trust', tag => 'ssl', options => {}, trips => 2 },
	{
		name => 'sslmode disable, trust',
		tag => 'plain',
		options => { sslmode => 'disable' },
		trips => 1
	},
	{
		name => 'sslmode disable, scram-sha-256',
		tag => 'scram',
		options => { sslmode => 'disable' },
		user => 'with_password',
		trips => 3
	},
	{
		name => 'sslmode disable, trust, TCP handshake charged',
		tag => 'tcp',
		options => { sslmode => 'disable' },
		is_handshake_charged => 1,
		trips => 2
	});

my @queries = (
	{ name => 'by key, 4 shards', sql => 'SELECT v FROM t4 WHERE k = 1' },
	{
		name => 'no key, 4 shards',
		sql => 'SELECT k, v FROM t4 WHERE v = 77'
	},
	{
		name => 'no key, 8 shards',
		sql => 'SELECT k, v FROM t8 WHERE v = 77'
	});

my %way = (
	ours => 'shard_fdw',
	best => 'postgres_fdw',
	plain => 'postgres_fdw, defaults');

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless { run => $run, result => $result }, $class;

	$self->_create;
	$self->_measure_variant($_)
	  foreach $run->is_quick ? @variants[ 0, 2 ] : @variants;
	$self->{servers}->stop;
	$result->table(
		'The first query of a session: round trips',
		[
			'connection; query; wrapper', 'first query', 'second query',
			'difference', 'ms first / second'
		],
		$self->{rows});
	return;
}

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} = Bench::Servers->far($self->{run}, 8);
	my $cluster = $servers->cluster;
	my $node = $cluster->shard(0);

	$cluster->shard_sql(0, "SET password_encryption = 'scram-sha-256';"
		  . " CREATE ROLE with_password SUPERUSER LOGIN"
		  . " PASSWORD 'with_password'");
	my $rules = PostgreSQL::Test::Utils::slurp_file(
		$node->data_dir . '/pg_hba.conf');
	open(my $fh, '>', $node->data_dir . '/pg_hba.conf') or croak $!;
	print $fh "local all with_password scram-sha-256\n$rules";
	close($fh);
	$node->reload;
	foreach my $shards (4, 8)
	{
		$cluster->shard_sql($_,
			"CREATE TABLE t${shards}_$_ (k int8 PRIMARY KEY, v int4)")
		  foreach 0 .. $shards - 1;
	}
	foreach my $variant (@variants)
	{
		foreach my $tag (sort keys %way)
		{
			my $schema = $servers->make_servers(
				$way{$tag},
				name => "${tag}_$variant->{tag}",
				options => $variant->{options},
				user => $variant->{user});
			$servers->make_table($schema, "t$_", 'k int8, v int4', $_, $_)
			  foreach 4, 8;
		}
	}
	$cluster->sql("INSERT INTO ours_plain.t$_"
		  . ' SELECT k, k * 77 FROM generate_series(1, 100) k')
	  foreach 4, 8;
	return;
}

# Milliseconds of the first and the second query of a session.
sub _time
{
	my ($self, $schema, $query, $delay) = @_;
	my $relay = $self->{servers}->relay;
	my $expected = $query->{name} =~ /^by key/ ? '77' : '1|77';
	my @took;

	$relay->set(0);
	my $session = $self->{servers}->session($schema);
	$relay->set($delay);
	foreach my $n (1, 2)
	{
		my $start = time();
		my $answer = $session->safe($query->{sql});
		push @took, (time() - $start) * 1000;
		croak "$schema: '$answer' in place of '$expected'"
		  if $answer ne $expected;
	}
	$session->close;
	return @took;
}

sub _trips
{
	my ($self, $schema, $query, $is_ours) = @_;
	my ($short, $long) = $is_ours ? (5, 25) : (1, 5);
	my @low = $self->_time($schema, $query, $short);
	my @high = $self->_time($schema, $query, $long);
	my @trips =
	  map { ($high[$_] - $low[$_]) / (2 * ($long - $short)) } 0, 1;

	return { trips => \@trips, short => $short, ms => \@low };
}

sub _measure_variant
{
	my ($self, $variant) = @_;
	my $rounds = $self->{run}->pick(5, 1);

	$self->{servers}
	  ->relay->charge_handshake($variant->{is_handshake_charged});
	foreach my $query (@queries)
	{
		my @ways = map { "${_}_$variant->{tag}" } qw(ours best plain);
		my $sample = $self->{run}->measure(\@ways, $rounds,
			sub { $self->_trips($_[0], $query, $_[0] =~ /^ours/) });
		$self->_add_rows($variant, $query, $sample);
		$self->_target($variant, $sample->{ $ways[0] })
		  if $query->{name} =~ /8 shards/;
		$self->{run}->progress('  %s, %s', $variant->{name}, $query->{name});
	}
	$self->{servers}->relay->charge_handshake(0);
	return;
}

sub _add_rows
{
	my ($self, $variant, $query, $sample) = @_;
	foreach my $tag (qw(ours best plain))
	{
		my @all = @{ $sample->{"${tag}_$variant->{tag}"} };
		my @first = map { $_->{trips}[0] } @all;
		my @second = map { $_->{trips}[1] } @all;
		push @{ $self->{rows} },
		  [
			"$variant->{name}; $query->{name}; "
			  . ($tag eq 'best' ? 'postgres_fdw, best' : $way{$tag}),
			spread('%.1f', @first),
			spread('%.1f', @second),
			sprintf('%.1f', median(@first) - median(@second)),
			sprintf(
				'%.1f / %.1f at %d ms each way',
				median(map { $_->{ms}[0] } @all),
				median(map { $_->{ms}[1] } @all),
				$all[0]{short})
		  ];
	}
	return;
}

sub _target
{
	my ($self, $variant, $sample) = @_;
	my $trips = median(map { $_->{trips}[0] } @$sample);

	# starting processes takes longer on 8 shards than on one
	my $limit = $variant->{trips} + 1.4;

	$self->{result}->target(
		"round trips, first query of a session on 8 shards, $variant->{name}",
		"<= $limit (one connection and one query)",
		sprintf('%.1f', $trips),
		$trips <= $limit);
	return;
}

1;
