
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardFaults - stop a transfer at a step of its commit

=head1 SYNOPSIS

  use ShardFaults;

  foreach my $step (ShardFaults::steps()) {
      my $stopped = ShardFaults->reach($cluster, $step);
      ...                       # break something
      $stopped->let_go;         # what is held is lost, or goes on
      $stopped->judge('name');  # the client's answer, the shards, the rest
  }

=head1 DESCRIPTION

A transfer between shards 0 and 1 of a L<ShardCluster> with a relay is driven
up to the wanted step of its commit (DESIGN 6.2) and stands there until let
go.

=cut

package ShardFaults;

use strict;
use warnings;

use Carp;
use Test::More;

# Each step: how it is reached, and what must have become of the transfer
# when the coordinator dies there.
#
# rules: what the relay holds; lock: the log table is locked.
my @steps = (
	{
		name => 'before PREPARE',
		rules => [ { match => '^PREPARE TRANSACTION', side => 'request' } ],
		held => 2,
		outcome => 'none',
	},
	{
		name => 'PREPARE reached one shard',
		rules => [
			{
				route => 'shard_0',
				match => '^PREPARE TRANSACTION',
				side => 'request',
			}
		],
		prepared => 1,
		held => 1,
		outcome => 'none',
	},
	{
		name => 'PREPARE took effect, its answers are under way',
		rules => [ { match => '^PREPARE TRANSACTION', side => 'answer' } ],
		held => 2,
		prepared => 2,
		outcome => 'none',
	},
	{
		name => 'all prepared, not yet decided',
		lock => 1,
		prepared => 2,
		outcome => 'none',
	},
	{
		name => 'decided, before COMMIT PREPARED',
		rules => [ { match => '^COMMIT PREPARED', side => 'request' } ],
		held => 2,
		prepared => 2,
		outcome => 'all',
	},
	{
		name => 'decided, COMMIT PREPARED reached one shard',
		rules => [
			{
				route => 'shard_1',
				match => '^COMMIT PREPARED',
				side => 'request',
			}
		],
		held => 1,
		prepared => 1,
		outcome => 'all',
	},
	{
		name => 'COMMIT PREPARED took effect, its answers are under way',
		rules => [ { match => '^COMMIT PREPARED', side => 'answer' } ],
		held => 2,
		prepared => 0,
		outcome => 'all',
	});

=pod

=head1 METHODS

=over

=item ShardFaults::steps

The steps: hashes with C<name> and C<outcome> (C<none> or C<all>).

=item ShardFaults->reach($cluster, $step)

Starts a transfer and returns when it stands at the step.

=cut

sub steps { return @steps; }

sub reach
{
	my ($class, $cluster, $step) = @_;
	my $self = bless { cluster => $cluster, step => $step }, $class;

	$self->{transfer} = $cluster->transfer(0, 1, 10);
	$self->{session} = $cluster->session;
	if ($step->{lock})
	{
		$self->{blocker} = $cluster->session;
		$self->{blocker}->safe('BEGIN');
		$self->{blocker}
		  ->safe('LOCK TABLE shard_fdw.commit_log IN SHARE MODE');
	}
	$self->{rules} = [
		map { $cluster->relay->rule(%$_, action => 'hold', times => 0) }
		  @{ $step->{rules} // [] } ];

	$self->{session}->safe($_) foreach $self->{transfer}->statements;
	$self->{session}->send('COMMIT');
	if ($self->{rules}[0])
	{
		$self->{rules}[0]->wait_fired(30, $step->{held})
		  or croak "'$step->{name}' is not reached";
	}
	my $prepared = $step->{prepared} // 0;
	my $count;
	$cluster->wait_until(
		sub { $count = $cluster->prepared; $count == $prepared }, 30)
	  or croak "'$step->{name}': $count instead of $prepared prepared";
	$self->_wait_for_lock if $step->{lock};
	return $self;
}

sub _wait_for_lock
{
	my ($self) = @_;
	my $cluster = $self->{cluster};
	my $pid = $self->{session}->pid;

	$cluster->wait_until(
		sub {
			$cluster->sql("SELECT count(*) FROM pg_locks"
				  . " WHERE pid = $pid AND NOT granted");
		},
		30) or croak 'the commit does not wait for the log';
	return;
}

=pod

=item $stopped->session, $stopped->transfer

=item $stopped->let_go([$how])

Ends what keeps the transfer: the messages held go on their way, or are lost
together with their connections if C<$how> is C<discard>.

=cut

sub session { my ($self) = @_; return $self->{session}; }
sub transfer { my ($self) = @_; return $self->{transfer}; }

sub let_go
{
	my ($self, $how) = @_;
	if (($how // '') eq 'discard')
	{
		$_->discard foreach @{ $self->{rules} };
	}
	$self->{cluster}->relay->clear;
	$self->{blocker}->close if $self->{blocker};
	return;
}

=pod

=item $stopped->judge($name, $outcome [, $answer])

After everything that was broken is whole again: settled within 10 seconds,
the transfer on both shards or on none, as expected (C<all>, C<none>, or
C<told>: as the client was told), and the client not told otherwise.

=back

=cut

sub judge
{
	my ($self, $name, $expected, $answer) = @_;
	my $cluster = $self->{cluster};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$answer //= $self->{session}->finish(60);
	note "$name: client: " . $answer->describe;
	$cluster->settled_ok(10, $name);
	my $outcome = $self->{transfer}->outcome;
	$expected = $answer->is_ok ? 'all' : 'none' if $expected eq 'told';
	is($outcome, $expected, "$name: the transfer is on $expected")
	  or diag $answer->describe;

	# "lost" and 08007 promise nothing
	if ($answer->is_ok)
	{
		is($outcome, 'all', "$name: success means committed");
	}
	elsif (!$answer->{is_lost}
		&& $answer->sqlstate !~ /^(08007|57P01|57P02)$/)
	{
		is($outcome, 'none', "$name: an error means aborted")
		  or diag $answer->describe;
	}
	else
	{
		pass("$name: the client does not know");
	}
	$cluster->assert_atomic($name);
	return;
}

1;
