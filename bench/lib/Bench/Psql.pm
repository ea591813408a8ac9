
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Psql - statements with many rows, and pgbench

=head1 DESCRIPTION

What the tests' own sessions are too slow for.

=over

=item Bench::Psql::timed($node, sql => [, before =>] [, options =>])

Runs both in a session; returns C<ms> and C<cpu>, the milliseconds of the second
and the processor time of the session for it.

=item Bench::Psql::checksum($node, $query)

The same for the same rows in any order.

=item Bench::Psql::pgbench(%param)

Runs a script (C<file>) on C<node> with C<mode>, C<clients>, C<seconds> and
C<options> for the sessions, for C<seconds> (2 at least).  The first second, in which connections are made,
does not count.  Returns C<tps>, the number of all transactions C<done> and
C<failed>, and the processor time of C<pids>' trees by name, in microseconds
for a transaction.

=back

=cut

package Bench::Psql;

use strict;
use warnings;

use Bench::Cpu;
use Carp;
use IPC::Run;
use PostgreSQL::Test::Utils;

sub _connection
{
	my ($node) = @_;
	return ('-h', $node->host, '-p', $node->port);
}

sub timed
{
	my ($node, %param) = @_;
	my $cpu = PostgreSQL::Test::Utils::tempdir() . '/cpu';
	my $read = "\\! sed 's/ .*//' /proc/\$BACKEND/schedstat >>$cpu";
	my $script = join("\n",
		'\set ON_ERROR_STOP 1',
		'\o /dev/null',
		$param{before} ? "$param{before};" : '',
		'SELECT pg_backend_pid() AS backend \gset',
		'\setenv BACKEND :backend',
		$read, '\timing on', "$param{sql};", '\timing off', $read);

	unlink($cpu);
	local $ENV{PGOPTIONS} = $param{options} // '';
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-qAtX', _connection($node), 'postgres' ],
		'<', \$script, '>', \$out, '2>', \$err)
	  or croak "'$param{sql}' failed: $err";
	my ($ms) = $out =~ /^Time: ([\d.]+) ms/m or croak "no time in '$out'";
	my ($before, $after) = split(/\n/, PostgreSQL::Test::Utils::slurp_file($cpu));
	return { ms => $ms, cpu => ($after - $before) / 1e6 };
}

sub checksum
{
	my ($node, $query) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(
		[
			'psql', '-qAtX', _connection($node), '-c',
			"COPY ($query) TO STDOUT", 'postgres'
		],
		'2>',
		\$err,
		'|',
		[ 'sort', '-S', '256M' ],
		'|',
		['md5sum'],
		'>',
		\$out) or croak "'$query' failed: $err";
	croak "'$query' failed: $err" if $err;
	return $out;
}

sub _cpu
{
	my ($pids) = @_;
	return { map { $_ => Bench::Cpu::tree(@{ $pids->{$_} }) } keys %$pids };
}

# The progress lines of a run: each second what has been done, and what the
# processors had done by then.
sub _run_pgbench
{
	my ($pids, @command) = @_;
	my ($output, @seconds) = ('');

	open(my $fh, '-|', join(' ', map { "'$_'" } @command) . ' 2>&1')
	  or croak "could not run pgbench: $!";
	while (my $line = readline($fh))
	{
		$output .= $line;
		next unless $line =~ /^progress: ([\d.]+) s, ([\d.]+) tps/;
		push @seconds,
		  {
			at => $1,
			tps => $2,
			cpu => _cpu($pids),
			idle => Bench::Cpu::machine()->{idle}
		  };
	}
	close($fh) or croak "pgbench failed: $output";
	croak "pgbench was too short: $output" if @seconds < 3;
	return ($output, @seconds);
}

# What was done between two of its lines.
sub _between
{
	my ($from, $to, @seconds) = @_;
	my $transactions = 0;
	$transactions +=
	  $seconds[$_]{tps} * ($seconds[$_]{at} - $seconds[ $_ - 1 ]{at})
	  foreach $from + 1 .. $to;
	return ($transactions, $seconds[$to]{at} - $seconds[$from]{at});
}

sub pgbench
{
	my (%param) = @_;
	my @times = times;
	local $ENV{PGOPTIONS} = $param{options} // '';
	my ($output, @seconds) = _run_pgbench(
		$param{pids},
		'pgbench', '-n', _connection($param{node}), '-M', $param{mode},
		'-c', $param{clients}, '-j', 1, '-T', $param{seconds} + 1,
		'-P', 1, '--max-tries', 100, '-f', $param{file}, 'postgres');
	my @ended = times;
	my ($done) = $output =~ /actually processed: (\d+)/;
	my ($failed) = $output =~ /failed transactions: (\d+)/;

	# sessions end at the last line, which takes time of its own
	my ($counted, $took) = _between(0, $#seconds, @seconds);
	my ($first, $last) = @seconds[ 0, $#seconds - 1 ];
	my ($worked, $worked_for) = _between(0, $#seconds - 1, @seconds);
	$worked ||= 1;
	my %cpu = map {
		$_ => 1e6 * ($last->{cpu}{$_} - $first->{cpu}{$_}) / $worked
	} keys %{ $param{pids} };
	$cpu{pgbench} =
	  1e6 * ($ended[2] + $ended[3] - $times[2] - $times[3]) / ($done || 1);

	return {
		tps => $counted / $took,
		done => $done,
		failed => $failed // 0,
		idle => 100 *
		  ($last->{idle} - $first->{idle}) /
		  ($worked_for * Bench::Cpu::count()),
		cpu => \%cpu
	};
}

1;
