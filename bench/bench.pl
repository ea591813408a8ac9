#!/usr/bin/perl

# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Measures tables of the benchmark and writes what it found as JSON; started by
# bench/run, which chooses the PostgreSQL and the user.
#
#	bench.pl [--quick] [--rounds N] [--no-repeat] --output FILE TABLE...

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../t/lib";

# the test modules redirect it to a log
our $out;
BEGIN { open($out, '>&', \*STDOUT) or die "could not copy stdout: $!"; }

use Getopt::Long;
use JSON::PP;
use POSIX qw(strftime);
use PostgreSQL::Test::Utils;
use Test::More;

use Bench::Result;
use Bench::Run;
use Bench::Servers;

my ($quick, $rounds, $no_repeat, $output);
GetOptions(
	'quick' => \$quick,
	'rounds=i' => \$rounds,
	'no-repeat' => \$no_repeat,
	'output=s' => \$output)
  or die "bench.pl: wrong options\n";
$out->autoflush;

my $run = Bench::Run->new(
	quick => $quick,
	rounds => $rounds,
	no_repeat => $quick || $no_repeat,
	out => $out);
my %found;

sub first_line
{
	my ($command) = @_;
	my ($line) = split(/\n/, `$command`);
	return $line // '';
}

sub describe_machine
{
	my $cpu = first_line("sed -n 's/^model name.*: //p' /proc/cpuinfo");
	my $memory = first_line(
		"awk '/^MemTotal/ { printf \"%.0f\", \$2 / 1e6 }' /proc/meminfo");
	my $system = first_line("sed -n 's/^PRETTY_NAME=//p' /etc/os-release");

	$system =~ tr/"//d;
	return sprintf('%d processors (%s), %d GB, %s, kernel %s',
		first_line('nproc'), $cpu, $memory, $system, first_line('uname -r'));
}

sub load
{
	return first_line('cut -d " " -f 1 /proc/loadavg');
}

sub measure_table
{
	my ($name) = @_;
	my $module = 'Bench::Table::' . ucfirst($name);
	my $result = Bench::Result->new($name);
	my $load = load();

	eval "require $module; 1" or die $@;    ## no critic (ProhibitStringyEval)
	$run->progress('%s', $name);
	$run->begin;
	$module->measure($run, $result);
	my $data = $result->data;
	$data->{rounds} = { map { $_ => $run->{$_} } qw(measured repeated kept) };
	$data->{date} = strftime('%Y-%m-%d', gmtime);
	$data->{load} = $load;
	$data->{quick} = $quick ? 1 : 0;
	$data->{version} = first_line('postgres --version');
	$data->{machine} = describe_machine();
	$data->{settings} = Bench::Servers::settings();
	return $data;
}

foreach my $name (@ARGV)
{
	# one table that fails must not lose the others
	$found{$name} = eval { measure_table($name) };
	if (!$found{$name})
	{
		delete $found{$name};
		my $error = $@;
		print $out "bench: $name failed: $error\n";
		fail($name);
		$run->forget_servers;
		next;
	}
	pass($name);
	open(my $fh, '>', $output) or die "could not write $output: $!";
	print $fh JSON::PP->new->canonical->pretty->encode(\%found);
	close($fh);
}
$run->progress('measured');
done_testing;
