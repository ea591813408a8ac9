
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Planning - time and memory of planning, with many partitions

=head1 DESCRIPTION

EXPLAIN (SUMMARY) in new sessions: the first plan, which loads caches, and the
median of ten more.  Memory is the growth of the session's resident size at its
peak while it plans once more, and what the session keeps in CacheMemoryContext.
No shard is asked for anything, so the foreign tables lead nowhere.

=cut

package Bench::Table::Planning;

use strict;
use warnings;

use Bench::Cpu;
use Bench::Numbers qw(median spread ratio);
use Bench::Servers;
use Carp;

use constant MEGABYTE => 1024 * 1024;

# Queries; :n stands for the number of partitions.  Scans: per partition, or
# in all where the key says which partition it is.
my @queries = (
	{ name => 'by key', sql => 'SELECT * FROM t:n WHERE k = 77', scans => 1 },
	{
		name => 'no key',
		sql => 'SELECT * FROM t:n WHERE v = 77',
		per_part => 1
	},
	{
		name => 'ORDER BY ... LIMIT 10',
		sql => 'SELECT * FROM t:n ORDER BY v LIMIT 10',
		per_part => 1
	},
	{
		name => 'GROUP BY key',
		sql => 'SELECT k, count(*) FROM t:n GROUP BY k',
		per_part => 1
	},
	{
		name => 'join by key',
		sql => 'SELECT * FROM t:n t JOIN u:n u USING (k)',
		per_part => 1
	},
	{
		name => 'UPDATE by key',
		sql => 'UPDATE t:n SET v = 1 WHERE k = 77',
		scans => 1
	},
	{
		name => 'UPDATE, no key',
		sql => 'UPDATE t:n SET v = 1 WHERE v = 77',
		per_part => 1
	});

my @ways = ('shard_fdw', 'postgres_fdw');

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless {
		run => $run,
		result => $result,
		counts => $run->pick([ 8, 72, 256, 1024 ], [ 8, 72 ])
	}, $class;

	$self->_create;
	foreach my $query (@queries)
	{
		$self->_measure_query($query, $_) foreach @{ $self->{counts} };
		$self->{run}->progress('  %s', $query->{name});
	}
	$self->{servers}->stop;
	$result->table(
		'Planning: ms, and MB of the session',
		[
			'query', 'partitions', 'wrapper', 'first plan, ms',
			'again, ms', 'peak growth, MB', 'kept in caches, MB',
			'scans in plan'
		],
		$self->{rows});
	return;
}

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} = Bench::Servers->far($self->{run}, 8);
	foreach my $way (@ways)
	{
		my $schema = $servers->make_servers($way);
		foreach my $n (@{ $self->{counts} })
		{
			$servers->make_table($schema, "$_$n", 'k int8, v int4, note text',
				$n, 8)
			  foreach qw(t u);
		}
	}
	$self->{run}->progress('  tables created');
	return;
}

sub _plan
{
	my ($session, $sql) = @_;
	my $plan = $session->safe("EXPLAIN (SUMMARY, COSTS OFF) $sql");
	my ($ms) = $plan =~ /^Planning Time: ([\d.]+) ms/m;
	my $scans = () = $plan =~ /Foreign (?:Scan|Update)/g;
	return ($ms, $scans);
}

# The view had the parent's name up to 17, and has the path from 18 on.
sub _kept_in_caches
{
	my ($self, $session) = @_;
	return $session->safe(
		$self->{servers}{version} < 18
		? q(SELECT sum(total_bytes) FROM pg_backend_memory_contexts
			WHERE 'CacheMemoryContext' IN (name, parent))
		: q(SELECT sum(c.total_bytes) FROM pg_backend_memory_contexts c,
			pg_backend_memory_contexts p
			WHERE p.name = 'CacheMemoryContext'
			AND c.path[p.level] = p.path[p.level]));
}

# One session: what is measured of it.
sub _plan_in_session
{
	my ($self, $way, $sql) = @_;
	my $session = $self->{servers}->session($way);
	my $pid = $session->pid;

	# so that loading the library does not count
	$session->safe('SELECT 1 FROM '
		  . ($way eq 'shard_fdw' ? 'ours' : 'best')
		  . '.t8 WHERE false');
	my $caches = $self->_kept_in_caches($session);
	Bench::Cpu::reset_peak($pid);
	my $before = Bench::Cpu::resident($pid);
	my ($first, $scans) = _plan($session, $sql);
	my $peak = Bench::Cpu::peak($pid) - $before;
	my $kept = $self->_kept_in_caches($session) - $caches;
	my @again = map { (_plan($session, $sql))[0] } 1 .. 10;

	$session->close;
	return {
		first => $first,
		again => median(@again),
		peak => $peak / MEGABYTE,
		kept => $kept / MEGABYTE,
		scans => $scans
	};
}

sub _measure_query
{
	my ($self, $query, $n) = @_;
	my $sql = $query->{sql} =~ s/:n/$n/gr;
	my $sample = $self->{run}->measure([@ways], $self->{run}->pick(5, 1),
		sub { $self->_plan_in_session($_[0], $sql) });
	my %typical;

	foreach my $way (@ways)
	{
		my @all = @{ $sample->{$way} };
		my $scans = $all[0]{scans};
		my $expected = $query->{scans} // $n;

		# an UPDATE that is not run on the shard has a scan and an update
		croak "$query->{name}, $n partitions, $way: $scans scans"
		  if $scans != $expected && $scans != 2 * $expected;
		foreach my $what (qw(first again peak))
		{
			$typical{$way}{$what} = median(map { $_->{$what} } @all);
		}
		push @{ $self->{rows} },
		  [
			$query->{name}, $n, $way,
			sprintf('%.2f', $typical{$way}{first}),
			spread('%.2f', map { $_->{again} } @all),
			sprintf('%.1f', $typical{$way}{peak}),
			sprintf('%.1f', median(map { $_->{kept} } @all)),
			$scans
		  ];
	}
	$self->_target($query, $n, \%typical)
	  if $query->{name} =~ /^(?:by|no) key/;
	return;
}

# No slower and no larger than postgres_fdw, give or take a tenth; tenths of a
# millisecond and of a megabyte are below what can be told apart.
sub _target
{
	my ($self, $query, $n, $typical) = @_;
	my ($ours, $peer) = @$typical{@ways};
	my $ms = $peer->{again} * 1.1 + 0.1;
	my $mb = $peer->{peak} * 1.1 + 0.3;

	$self->{result}->target(
		"planning, $query->{name}, $n partitions",
		sprintf('<= %.2f ms, %.1f MB (postgres_fdw: %.2f, %.1f)',
			$ms, $mb, $peer->{again}, $peer->{peak}),
		sprintf('%.2f ms, %.1f MB', $ours->{again}, $ours->{peak}),
		$ours->{again} <= $ms && $ours->{peak} <= $mb);
	return;
}

1;
