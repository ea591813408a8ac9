
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Cpu - who uses the processors, and how much memory a process has

=head1 DESCRIPTION

All of it from F</proc>.  Times are seconds of one processor; the kernel counts
them in ticks of 10 ms, so they mean something for spans of half a second and
more.

=cut

package Bench::Cpu;

use strict;
use warnings;

use List::Util qw(sum0);
use POSIX qw(sysconf _SC_CLK_TCK);

my $tick = sysconf(_SC_CLK_TCK);

sub _read
{
	my ($file) = @_;
	open(my $fh, '<', $file) or return '';
	local $/;
	return readline($fh) // '';
}

# Times of a process: its own, and those of its children that have ended.
sub _times
{
	my ($pid) = @_;
	my $stat = _read("/proc/$pid/stat");

	$stat =~ s/^\d+ \(.*\) // or return (0, 0, 0);
	my ($ppid, $user, $system, $ended_user, $ended_system) =
	  (split(/ /, $stat))[ 1, 11 .. 14 ];
	return (
		($user + $system) / $tick,
		($ended_user + $ended_system) / $tick, $ppid);
}

=pod

=over

=item Bench::Cpu::tree(@pids)

What these processes and their children, ended or not, have used.

=cut

sub tree
{
	my (@pids) = @_;
	my $used;

	# a child whose parent took note of its end meanwhile would be counted
	# twice or not at all
	foreach my $try (1 .. 10)
	{
		my $ended = sum0(map { (_times($_))[1] } @pids);
		$used = _tree_once(@pids);
		last if $ended == sum0(map { (_times($_))[1] } @pids);
	}
	return $used;
}

sub _tree_once
{
	my (@pids) = @_;
	my %is_root = map { $_ => 1 } @pids;
	my $used = 0;

	foreach my $dir (glob '/proc/[0-9]*')
	{
		my ($pid) = $dir =~ /(\d+)$/;
		my ($own, $ended, $parent) = _times($pid);
		next unless $parent;
		if ($is_root{$pid}) { $used += $own + $ended; }
		elsif ($is_root{$parent}) { $used += $own; }
	}
	return $used;
}

=pod

=item Bench::Cpu::kernel_threads

The process whose children they are, if it can be seen here.

=cut

sub kernel_threads
{
	return _read('/proc/2/comm') eq "kthreadd\n" ? (2) : ();
}

=pod

=item Bench::Cpu::machine

What the machine has used, what it was idle, and what its host took away.
Interrupts are left out: they belong to nobody.

=cut

sub machine
{
	my ($user, $nice, $system, $idle, $wait, $irq, $softirq, $steal) =
	  _read('/proc/stat') =~ /^cpu +(\d+(?: \d+)*)/ ? split(/ /, $1) : ();
	return {
		busy => sum0($user, $nice, $system) / $tick,
		idle => sum0($idle, $wait) / $tick,
		stolen => ($steal // 0) / $tick,
	};
}

=pod

=item Bench::Cpu::count

Processors.

=cut

sub count
{
	my @all = _read('/proc/stat') =~ /^cpu\d/mg;
	return scalar @all;
}

=pod

=item Bench::Cpu::private_memory($pid)

Bytes that this process alone has written to: its heap, and no shared buffers
that others use, too.

=item Bench::Cpu::reset_peak($pid), peak($pid), resident($pid)

The resident size in bytes, and its highest value since it was reset.

=back

=cut

sub private_memory
{
	my ($pid) = @_;
	return _read("/proc/$pid/smaps_rollup") =~ /^Private_Dirty: +(\d+) kB/m
	  ? $1 * 1024
	  : 0;
}

sub reset_peak
{
	my ($pid) = @_;
	open(my $fh, '>', "/proc/$pid/clear_refs") or return;
	print $fh '5';
	close($fh);
	return;
}

sub _status
{
	my ($pid, $field) = @_;
	return _read("/proc/$pid/status") =~ /^$field:\s+(\d+) kB/m
	  ? $1 * 1024
	  : 0;
}

sub peak { my ($pid) = @_; return _status($pid, 'VmHWM'); }
sub resident { my ($pid) = @_; return _status($pid, 'VmRSS'); }

1;
