
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Memory - memory of the coordinator's session for many rows

=head1 DESCRIPTION

What the session alone has written to (Private_Dirty in smaps_rollup), looked at
ten times a second while it loads and while it reads, above what it had when
connected and idle.

=cut

package Bench::Table::Memory;

use strict;
use warnings;

use Bench::Cpu;
use Bench::Servers;
use Carp;
use List::Util qw(max);

use constant { NSHARDS => 4, MEGABYTE => 1024 * 1024 };

my $columns = 'k int8, note text';

sub measure
{
	my ($class, $run, $result) = @_;
	my $rows = $run->pick(10_000_000, 200_000);
	my $self = bless { run => $run, result => $result, rows => $rows }, $class;

	$self->_create;
	my $awk = q({ print $1 "\tnote number " $1 });
	$self->_watch("loading $rows rows by COPY",
		"COPY t FROM PROGRAM \$\$seq 1 $rows | awk '$awk'\$\$", 128);
	$self->_check_rows;
	$self->_watch("reading $rows rows", "COPY (SELECT * FROM t) TO '/dev/null'",
		64);
	$self->_watch("reading $rows rows through a cursor",
		"DO \$\$DECLARE r record; n int8 := 0; BEGIN"
		  . ' FOR r IN SELECT * FROM t LOOP n := n + 1; END LOOP;'
		  . " IF n <> $rows THEN RAISE 'only % rows', n; END IF; END\$\$",
		64);
	$self->{servers}->stop;
	$result->table(
		'Memory of the session on the coordinator, MB',
		[
			'statement', 'idle', 'most, first half',
			'most, second half', 'most above idle', 'times looked at'
		],
		$self->{table});
	return;
}

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} =
	  Bench::Servers->near($self->{run}, NSHARDS);
	my $cluster = $servers->cluster;
	my $schema = $servers->make_servers('shard_fdw');

	$servers->make_table($schema, 't', $columns, NSHARDS, NSHARDS);
	$cluster->shard_sql($_, "CREATE TABLE t_$_ ($columns)")
	  foreach 0 .. NSHARDS - 1;
	return;
}

sub _check_rows
{
	my ($self) = @_;
	my $rows = 0;
	$rows +=
	  $self->{servers}->cluster->shard_sql($_, "SELECT count(*) FROM t_$_")
	  foreach 0 .. NSHARDS - 1;
	croak "$rows rows are there" if $rows != $self->{rows};
	return;
}

sub _watch
{
	my ($self, $what, $sql, $limit) = @_;
	my $session = $self->{servers}->session('shard_fdw');
	my @seen;

	$session->safe('SELECT count(*) FROM t');
	my $idle = Bench::Cpu::private_memory($session->pid);
	$session->send($sql);
	until ($session->is_done(0.1))
	{
		push @seen, Bench::Cpu::private_memory($session->pid);
	}
	my $answer = $session->finish;
	croak "$what failed: " . $answer->describe unless $answer->is_ok;
	push @seen, Bench::Cpu::private_memory($session->pid);
	$session->close;

	my $half = int(@seen / 2);
	my ($first, $second) = map { max(@$_) // $idle }
	  [ @seen[ 0 .. $half - 1 ] ], [ @seen[ $half .. $#seen ] ];
	my $growth = max(0, $first - $idle, $second - $idle);
	my $is_flat = $second <= $first + 4 * MEGABYTE;
	my $mb = sub { sprintf('%.1f', $_[0] / MEGABYTE) };

	push @{ $self->{table} },
	  [
		$what, map({ $mb->($_) } $idle, $first, $second, $growth),
		scalar @seen
	  ];
	$self->{result}->target(
		"memory, $what",
		"< $limit MB above idle, and flat",
		$mb->($growth) . ' MB' . ($is_flat ? '' : ', growing'),
		$growth < $limit * MEGABYTE && $is_flat);
	$self->{run}->progress('  %s: %s MB', $what, $mb->($growth));
	return;
}

1;
