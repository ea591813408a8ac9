
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Servers - the servers that are measured

=head1 DESCRIPTION

There are two kinds.  C<far> has up to 32 shards as databases of one server,
behind a relay that delays: what counts there is how often one waits, not what
the processors or the disk do, so fsync is off.  C<near> has a coordinator and four shards, each a server of
its own with fsync on, connected by Unix sockets.

Every wrapper that is compared has a schema of its own with the same tables, so
a query differs by search_path only.

=cut

package Bench::Servers;

use strict;
use warnings;

use Carp;
use ShardCluster;
use ShardDelay;

# The configurations: wrapper, options of its servers from the version on that
# has them, and settings of its sessions.
my %way = (
	'shard_fdw' => { fdw => 'shard_fdw', schema => 'ours' },
	'postgres_fdw' => {
		fdw => 'postgres_fdw',
		schema => 'best',
		options => [
			[ 'async_capable', 'true', 14 ],
			[ 'parallel_commit', 'true', 15 ],
			[ 'parallel_abort', 'true', 16 ],
			[ 'batch_size', '1000', 14 ],
			[ 'fetch_size', '10000', 9 ]
		],
		set => {
			enable_partitionwise_join => 'on',
			enable_partitionwise_aggregate => 'on'
		},
	},
	'postgres_fdw, async' => {
		fdw => 'postgres_fdw',
		schema => 'async',
		options => [ [ 'async_capable', 'true', 14 ] ],
	},
	'postgres_fdw, defaults' =>
	  { fdw => 'postgres_fdw', schema => 'plain' });

# Settings of every server.
my %conf = (
	fsync => 'on',
	wal_level => 'replica',
	max_connections => 300,
	max_prepared_transactions => 100,
	shared_buffers => '256MB',
	max_wal_size => '8GB',
	checkpoint_timeout => '1h',
	autovacuum => 'off',
	jit => 'off',
	max_parallel_workers_per_gather => 0,
	log_min_messages => 'warning');

=pod

=head1 METHODS

=over

=item Bench::Servers->far($run, $nshards), ->near($run, $nshards)

=item $servers->cluster, relay

=item $servers->make_servers($way, [ name =>, options => {}, user => ])

Creates schema, foreign servers and user mappings of a configuration; returns
the name of the schema.  C<name> makes a variant of it with these
options, or with this user and the password of the same name.

=item $servers->make_table($schema, $name, $columns, $parts, $shards)

A table partitioned by hash of its first column into so many foreign tables
over the first C<$shards> shards; the remote ones are C<NAME_0>, ...

=item $servers->session($way_or_schema)

A session with search_path and settings of the configuration.

=item $servers->stop

=item Bench::Servers::settings

Settings and options, as text.

=back

=cut

sub far
{
	my ($class, $run, $nshards) = @_;
	my $self = $class->_start(
		$run,
		{ %conf, fsync => 'off' },
		shards => $nshards,
		one_server => 1);
	$self->{relay} = ShardDelay->new($self->{cluster}->shard(0));
	return $self;
}

sub near
{
	my ($class, $run, $nshards) = @_;
	return $class->_start($run, \%conf, shards => $nshards);
}

sub _start
{
	my ($class, $run, $conf, %param) = @_;
	my $cluster = ShardCluster->new(
		setup => 0,
		conf => { %$conf, shared_preload_libraries => 'shard_fdw' },
		shard_conf => $conf,
		%param);

	$cluster->sql("CREATE EXTENSION $_") foreach qw(shard_fdw postgres_fdw);
	my @nodes = ($cluster->coordinator,
		map { $cluster->shard($_) } 0 .. $param{shards} - 1);
	foreach my $node (@nodes)
	{
		# the test modules have their own idea of it
		croak 'fsync is wrong'
		  if $node->safe_psql('postgres', 'SHOW fsync') ne $conf->{fsync};
	}
	$run->watch(@nodes);
	my ($version) = $cluster->sql('SHOW server_version_num') =~ /^(\d+)\d{4}$/;
	return bless {
		cluster => $cluster,
		nshards => $param{shards},
		version => $version,
		run => $run,
		set => {}
	}, $class;
}

sub cluster { my ($self) = @_; return $self->{cluster}; }
sub relay { my ($self) = @_; return $self->{relay}; }

sub make_servers
{
	my ($self, $name, %param) = @_;
	my $way = $way{$name} // croak "no configuration $name";
	my $schema = $param{name} // $way->{schema};
	my %options = (
		(map { $_->[0] => $_->[1] }
			  grep { $_->[2] <= $self->{version} } @{ $way->{options} // [] }),
		%{ $param{options} // {} });
	my $cluster = $self->{cluster};

	if ($self->{relay})
	{
		@options{qw(host port)} = ('127.0.0.1', $self->{relay}->port);
	}
	my $login = '';
	$login = " OPTIONS (user '$param{user}', password '$param{user}')"
	  if $param{user};
	local $ShardCluster::fdw = $way->{fdw};
	$cluster->sql("CREATE SCHEMA $schema");
	foreach my $n (0 .. $self->{nshards} - 1)
	{
		$cluster->sql(
			$cluster->create_server_sql($n, %options,
				name => "${schema}_$n"));
		$cluster->sql("CREATE USER MAPPING FOR CURRENT_USER"
			  . " SERVER ${schema}_$n$login");
	}
	$self->{set}{$schema} = $way->{set} // {};
	return $schema;
}

sub make_table
{
	my ($self, $schema, $name, $columns, $parts, $shards) = @_;
	my ($key) = $columns =~ /^(\w+)/;
	my @sql = ("CREATE TABLE $schema.$name ($columns) PARTITION BY HASH ($key)");

	foreach my $part (0 .. $parts - 1)
	{
		push @sql,
		  "CREATE FOREIGN TABLE $schema.${name}_$part PARTITION OF"
		  . " $schema.$name FOR VALUES WITH (MODULUS $parts, REMAINDER $part)"
		  . " SERVER ${schema}_"
		  . $part % $shards
		  . " OPTIONS (schema_name 'public', table_name '${name}_$part')";
	}
	$self->{cluster}->sql(join('; ', @sql));
	return;
}

sub session
{
	my ($self, $name) = @_;
	my $schema = $way{$name} ? $way{$name}{schema} : $name;
	my $set = $self->{set}{$schema} // {};
	my $session = $self->{cluster}->session;

	$session->safe("SET search_path = $schema, public");
	$session->safe("SET $_ = $set->{$_}") foreach sort keys %$set;
	return $session;
}

# What PGOPTIONS gives to pgbench and psql for the same.
sub session_options
{
	my ($self, $name) = @_;
	my $schema = $way{$name} ? $way{$name}{schema} : $name;
	my $set = $self->{set}{$schema} // {};

	return join(' ',
		"-csearch_path=$schema,public",
		map { "-c$_=$set->{$_}" } sort keys %$set);
}

sub stop
{
	my ($self) = @_;
	$self->{cluster}->stop;
	$self->{relay}->stop if $self->{relay};
	$self->{run}->forget_servers;
	return;
}

sub settings
{
	my $best = $way{postgres_fdw};
	return {
		servers => join(', ', map { "$_ = $conf{$_}" } sort keys %conf),
		postgres_fdw =>
		  join(', ', map { "$_->[0] '$_->[1]'" } @{ $best->{options} })
		  . '; '
		  . join(', ', map { "$_ = $best->{set}{$_}" }
			  sort keys %{ $best->{set} }),
	};
}

1;
