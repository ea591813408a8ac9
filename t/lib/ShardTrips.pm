
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardTrips - count the network round trips of queries

=head1 SYNOPSIS

  use ShardTrips;

  my $trips = ShardTrips->new(wrappers => [ 'shard_fdw', 'postgres_fdw' ]);
  printf "%.1f\n", $trips->measure('shard_fdw', 'by key');

=head1 DESCRIPTION

One coordinator and 8 shards (databases of one server, which is enough when
only latency counts), connected through a relay that delays everything by the
same time in each direction (F<bench/delay_relay.c>, compiled on the fly).  A
statement is run at 1 ms and at 3 ms each way by turns; the medians differ by
4 ms for each round trip that it waits for, and what it computes cancels out.

The client is on the coordinator's machine, so its own trips do not count.

=cut

package ShardTrips;

use strict;
use warnings;

use Carp;
use List::Util qw(min);
use Time::HiRes qw(time);

use ShardCluster;
use ShardDelay;

use constant NSHARDS => 8;

# Tables by name: partitions, shards they are spread over, and more options.
my %table = (
	t4 => [ 4, 4, '' ],
	t8 => [ 8, 8, '' ],
	t72 => [ 72, 8, '' ],
	x4 => [ 4, 4, '' ],
	x8 => [ 8, 8, '' ],
	e8 => [ 8, 8, ", use_remote_estimate 'true'" ],
	e72 => [ 72, 8, ", use_remote_estimate 'true'" ]);

# Keys that are new each time.
my $insert = 'INSERT INTO x8 VALUES '
  . join(', ', ("(nextval('keys'), 1)") x 40);

# What can be measured: the statements, which are run one by one in one
# session and timed together; is_new has a new session each time.  There
# processes are started, which takes longer than a trip and varies, so the
# delays are longer.
my %case = (
	'by key' => { sql => ['SELECT v FROM t8 WHERE k = 1'] },
	'all of 4 shards' => { sql => ['SELECT sum(v) FROM t4'] },
	'all of 8 shards' => { sql => ['SELECT sum(v) FROM t8'] },
	'all of 8 shards, 72 partitions' => { sql => ['SELECT sum(v) FROM t72'] },
	'EXPLAIN by key, remote estimates' =>
	  { sql => ['EXPLAIN SELECT v FROM e8 WHERE k = 1'] },
	'EXPLAIN of 8 shards, remote estimates' =>
	  { sql => ['EXPLAIN SELECT v FROM e8'] },
	'EXPLAIN of 8 shards, 72 partitions, remote estimates' =>
	  { sql => ['EXPLAIN SELECT v FROM e72'] },
	'EXPLAIN of a sum, 72 partitions, remote estimates' =>
	  { sql => ['EXPLAIN SELECT sum(v) FROM e72'] },
	'ANALYZE of 4 shards' => { sql => ['ANALYZE t4'] },
	'by key, new session' =>
	  { sql => ['SELECT v FROM t8 WHERE k = 1'], is_new => 1 },
	'all of 8 shards, new session' =>
	  { sql => ['SELECT sum(v) FROM t8'], is_new => 1 },
	'TRUNCATE of 4 shards' => { sql => ['TRUNCATE x4'] },
	'INSERT of 40 rows on 8 shards' => { sql => [$insert] },
	'INSERT of 40 rows on 8 shards, RETURNING' =>
	  { sql => ["$insert RETURNING k, v"] },
	'UPDATE on 1 shard' => { sql => ['UPDATE t8 SET v = v WHERE k = 1'] },
	'UPDATEs on 2 shards' => {
		sql => [
			'BEGIN',
			'UPDATE t8 SET v = v WHERE k = 1',
			'UPDATE t8 SET v = v WHERE k = :other',
			'COMMIT'
		]
	});

=pod

=head1 METHODS

=over

=item ShardTrips::cases

The names of what can be measured.

=cut

sub cases
{
	return (
		'by key',
		'all of 4 shards',
		'all of 8 shards',
		'all of 8 shards, 72 partitions',
		'EXPLAIN by key, remote estimates',
		'EXPLAIN of 8 shards, remote estimates',
		'EXPLAIN of 8 shards, 72 partitions, remote estimates',
		'EXPLAIN of a sum, 72 partitions, remote estimates',
		'ANALYZE of 4 shards',
		'by key, new session',
		'all of 8 shards, new session',
		'TRUNCATE of 4 shards',
		'INSERT of 40 rows on 8 shards',
		'INSERT of 40 rows on 8 shards, RETURNING',
		'UPDATE on 1 shard',
		'UPDATEs on 2 shards');
}

=pod

=item ShardTrips->new(wrappers => [...] [, is_loaded => 1])

Starts the servers and the relay.  Wrappers: C<shard_fdw>, C<postgres_fdw>,
and C<postgres_fdw+> (async_capable and parallel_commit on).  On a machine that
may be busy with other things (is_loaded) the shortest of all runs counts in
place of the median, since other load only adds, and the delays are longer.

=cut

sub new
{
	my ($class, %param) = @_;
	my $self =
	  bless { sessions => {}, is_loaded => $param{is_loaded} }, $class;
	my $preload =
	  (grep { $_ eq 'shard_fdw' } @{ $param{wrappers} }) ? 'shard_fdw' : '';
	my $cluster = ShardCluster->new(
		shards => NSHARDS,
		one_server => 1,
		setup => 0,
		conf => {
			shared_preload_libraries => $preload,
			jit => 'off',
			autovacuum => 'off',
		},
		shard_conf => {
			max_connections => 200,
			jit => 'off',
			autovacuum => 'off',
		});

	$self->{cluster} = $cluster;
	$self->{relay} = ShardDelay->new($cluster->shard(0));
	$self->_create_remote_tables;
	$self->_create_local_tables($_) foreach @{ $param{wrappers} };
	return $self;
}

sub _create_remote_tables
{
	my ($self) = @_;
	foreach my $name (sort keys %table)
	{
		my ($parts, $shards) = @{ $table{$name} };
		foreach my $part (0 .. $parts - 1)
		{
			$self->{cluster}->shard_sql($part % $shards,
				"CREATE TABLE ${name}_$part (k int PRIMARY KEY, v int)");
		}
	}
	return;
}

sub _schema
{
	my ($wrapper) = @_;
	return { 'shard_fdw' => 's', 'postgres_fdw' => 'p',
		'postgres_fdw+' => 'o' }->{$wrapper}
	  // croak "no wrapper $wrapper";
}

sub _create_local_tables
{
	my ($self, $wrapper) = @_;
	my $cluster = $self->{cluster};
	my $port = $self->{relay}->port;
	my $schema = _schema($wrapper);
	my ($fdw) = $wrapper =~ /^(\w+)/;
	my $options = $wrapper =~ /\+/ ? ", async_capable 'true'" : '';

	$options .= ", parallel_commit 'true'"
	  if $wrapper =~ /\+/ && $cluster->sql('SHOW server_version_num') >= 150000;
	$cluster->sql("CREATE EXTENSION IF NOT EXISTS $fdw");
	$cluster->sql("CREATE SCHEMA $schema");
	$cluster->sql("CREATE SEQUENCE $schema.keys START 1000");
	foreach my $n (0 .. NSHARDS - 1)
	{
		$cluster->sql("CREATE SERVER ${schema}_$n FOREIGN DATA WRAPPER $fdw"
			  . " OPTIONS (host '127.0.0.1', port '$port',"
			  . " dbname 'shard_$n'$options)");
		$cluster->sql(
			"CREATE USER MAPPING FOR CURRENT_USER SERVER ${schema}_$n");
	}
	foreach my $name (sort keys %table)
	{
		my ($parts, $shards, $more) = @{ $table{$name} };
		$cluster->sql("CREATE TABLE $schema.$name (k int, v int)"
			  . ' PARTITION BY HASH (k)');
		foreach my $part (0 .. $parts - 1)
		{
			my $server = "${schema}_" . $part % $shards;
			$cluster->sql("CREATE FOREIGN TABLE $schema.${name}_$part"
				  . " PARTITION OF $schema.$name FOR VALUES"
				  . " WITH (MODULUS $parts, REMAINDER $part)"
				  . " SERVER $server OPTIONS (schema_name 'public',"
				  . " table_name '${name}_$part'$more)");
		}
	}
	$self->_fill($schema) unless $self->{is_filled}++;
	return;
}

# A few rows, and the key of one that is not where key 1 is.
sub _fill
{
	my ($self, $schema) = @_;
	my $cluster = $self->{cluster};

	foreach my $name (sort keys %table)
	{
		my ($parts, $shards) = @{ $table{$name} };
		foreach my $part (0 .. $parts - 1)
		{
			my $keys = $cluster->sql(
				    'SELECT string_agg(format($$(%s,1)$$, i), $$,$$)'
				  . ' FROM generate_series(1, 400) i WHERE'
				  . " satisfies_hash_partition('$schema.$name'::regclass,"
				  . " $parts, $part, i)");
			$cluster->shard_sql($part % $shards,
				"INSERT INTO ${name}_$part VALUES $keys")
			  if $keys;
			$self->{other} = $1
			  if $name eq 't8' && $keys =~ /^\((\d+)/ && $1 != 1;
		}
	}
	return;
}

sub _session
{
	my ($self, $wrapper) = @_;
	my $schema = _schema($wrapper);
	my $session = $self->{cluster}->session;
	$session->safe("SET search_path = $schema");
	return $session;
}

# Runs a case once; returns milliseconds.
sub _run
{
	my ($self, $wrapper, $case) = @_;
	my $session =
	  $case->{is_new}
	  ? $self->_session($wrapper)
	  : ($self->{sessions}{$wrapper} //= $self->_session($wrapper));
	my @sql = map { s/:other/$self->{other}/r } @{ $case->{sql} };

	my $start = time();
	$session->safe($_) foreach @sql;
	my $took = (time() - $start) * 1000;
	$session->close if $case->{is_new};
	return $took;
}

sub _median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ @sorted / 2 ];
}

sub _typical
{
	my ($self, @took) = @_;
	return $self->{is_loaded} ? min(@took) : _median(@took);
}

=pod

=item $trips->measure($wrapper, $case [, $rounds])

Returns the round trips; runs it so many times (15) at each delay.

=item $trips->stop

=back

=cut

sub measure
{
	my ($self, $wrapper, $name, $rounds) = @_;
	my $case = $case{$name} // croak "no case '$name'";
	my ($short, $long) =
	  $case->{is_new} ? (5, 25) : $self->{is_loaded} ? (3, 15) : (1, 3);
	my %took;

	$rounds //= 15;
	$self->{relay}->set(0);
	$self->_run($wrapper, $case) foreach 1 .. 6;
	foreach my $round (1 .. $rounds)
	{
		foreach my $ms ($short, $long)
		{
			$self->{relay}->set($ms);

			# what the last run left on its way must not count
			$self->_run($wrapper, $case) unless $case->{is_new};
			push @{ $took{$ms} }, $self->_run($wrapper, $case);
		}
	}
	$self->{relay}->set(0);
	return ($self->_typical(@{ $took{$long} }) -
		  $self->_typical(@{ $took{$short} })) / (2 * ($long - $short));
}

sub stop
{
	my ($self) = @_;
	$_->close foreach values %{ $self->{sessions} };
	$self->{cluster}->stop;
	$self->{relay}->stop;
	return;
}

1;
