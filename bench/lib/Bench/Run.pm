
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Run - one run of the benchmark: its size, its rounds, its progress

=head1 SYNOPSIS

  my $run = Bench::Run->new(quick => 0, out => $fh);
  my $rounds = $run->rounds(5);
  my $sample = $rounds->measure([qw(ours peer)], sub {
      my ($way) = @_;
      ...
      return $value;
  });
  $sample->{ours};    # array of values

=head1 DESCRIPTION

Ways that are compared are measured by turns, and each round begins with
another of them.  A measurement during which processes that are not ours used
more than a tenth of a processor, or the host took more than a twentieth, is
thrown away and repeated, at most twice, and in one table at most half as
often as there are measurements.  The kernel's own threads count as ours: mostly
they write what the servers wrote.  What is spoilt after that counts, and the
number of such is printed with the table.

=cut

package Bench::Run;

use strict;
use warnings;

use Bench::Cpu;
use Time::HiRes qw(time);

use constant { FOREIGN_LIMIT => 0.10, STOLEN_LIMIT => 0.05, REPEATS => 2 };

=pod

=head1 METHODS

=over

=item Bench::Run->new(quick =>, rounds =>, no_repeat =>, out =>)

=item $run->is_quick

=item $run->pick($full, $quick)

One of the two, for sizes.

=item $run->progress($format, ...)

=item $run->watch($node, ...)

From now on the CPU time of these servers is ours.

=item $run->forget_servers

=item $run->measured, repeated, kept

Counts since begin().

=item $run->begin

A new table begins.

=item $run->measure(\@ways, $rounds, $once)

Calls C<$once> with each way in each round; returns what it returned, as a hash
of arrays by way.

=back

=cut

sub new
{
	my ($class, %param) = @_;
	my $self = bless {%param, started => time()}, $class;
	$self->forget_servers;
	$self->begin;
	return $self;
}

sub begin
{
	my ($self) = @_;
	@$self{qw(measured repeated kept)} = (0, 0, 0);
	return;
}

sub is_quick { my ($self) = @_; return $self->{quick}; }

sub pick
{
	my ($self, $full, $quick) = @_;
	return $self->{quick} ? $quick : $full;
}

sub progress
{
	my ($self, $format, @values) = @_;
	my $took = time() - $self->{started};
	my $out = $self->{out};

	printf $out "%02d:%02d $format\n", $took / 60, $took % 60, @values;
	return;
}

sub watch
{
	my ($self, @nodes) = @_;
	foreach my $node (@nodes)
	{
		open(my $fh, '<', $node->data_dir . '/postmaster.pid') or next;
		my $pid = readline($fh);
		chomp($pid);
		$self->{pids}{$pid} = 1;
	}
	return;
}

sub forget_servers
{
	my ($self) = @_;
	$self->{pids} = { $$ => 1, map { $_ => 1 } Bench::Cpu::kernel_threads() };
	return;
}

sub _snapshot
{
	my ($self) = @_;
	return {
		time => time(),
		ours => Bench::Cpu::tree(keys %{ $self->{pids} }),
		%{ Bench::Cpu::machine() },
	};
}

# Ticks are coarse, so a short measurement is given some of them.
sub _is_spoilt
{
	my ($self, $before) = @_;
	my $now = $self->_snapshot;
	my %spent = map { $_ => $now->{$_} - $before->{$_} } keys %$now;
	my $foreign = $spent{busy} - $spent{ours};

	return $foreign > FOREIGN_LIMIT * $spent{time} + 0.05
	  || $spent{stolen} > STOLEN_LIMIT * $spent{time} + 0.02;
}

sub _measure_one
{
	my ($self, $once, $way, $limit) = @_;
	foreach my $try (0 .. REPEATS)
	{
		my $before = $self->_snapshot;
		my $value = $once->($way);
		my $is_spoilt = $self->_is_spoilt($before);

		$self->{measured}++;
		return $value unless $is_spoilt;
		if ($self->{no_repeat} || $try == REPEATS || $self->{repeated} >= $limit)
		{
			$self->{kept}++;
			return $value;
		}
		$self->{repeated}++;
	}
	return;
}

sub measure
{
	my ($self, $ways, $rounds, $once) = @_;
	my %sample;

	$rounds = $self->{rounds} // $rounds;
	my $limit = $self->{repeated} + @$ways * $rounds / 2;

	foreach my $round (0 .. $rounds - 1)
	{
		foreach my $n (0 .. $#$ways)
		{
			my $way = $ways->[ ($n + $round) % @$ways ];
			push @{ $sample{$way} }, $self->_measure_one($once, $way, $limit);
		}
	}
	return \%sample;
}

1;
