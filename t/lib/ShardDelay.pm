
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardDelay - a relay before a server that behaves like distance

=head1 SYNOPSIS

  my $relay = ShardDelay->new($node);
  $relay->set(1);    # ms each way
  ... connect to 127.0.0.1, port $relay->port ...
  $relay->stop;

=head1 DESCRIPTION

Runs F<bench/delay_relay.c>, which it compiles first.

=cut

package ShardDelay;

use strict;
use warnings;

use Carp;
use File::Basename;
use IPC::Open2;
use PostgreSQL::Test::Utils;

=pod

=head1 METHODS

=over

=item ShardDelay->new($node)

=item $relay->port, $relay->pid

=item $relay->set($ms)

The delay in each direction, for what arrives from now on.

=item $relay->charge_handshake($is_charged)

Whether new connections wait for one more round trip, that of TCP's handshake;
over the loopback interface it takes no time.

=item $relay->stop

=back

=cut

sub new
{
	my ($class, $node) = @_;
	my $self = bless {}, $class;
	my $source = dirname(__FILE__) . '/../../bench/delay_relay.c';
	my $program = PostgreSQL::Test::Utils::tempdir() . '/delay_relay';

	system($ENV{CC} || 'cc', '-O2', '-o', $program, $source) == 0
	  or croak "could not compile $source";
	$self->{pid} = open2($self->{out}, $self->{in}, $program,
		$node->host . '/.s.PGSQL.' . $node->port);
	$self->{port} = $self->_answer;
	return $self;
}

sub _answer
{
	my ($self) = @_;
	my $line = readline($self->{out}) // croak 'the relay has gone';
	chomp($line);
	return $line;
}

sub _command
{
	my ($self, $command) = @_;
	my $fh = $self->{in};

	print $fh "$command\n";
	$fh->flush;
	$self->_answer;
	return;
}

sub port { my ($self) = @_; return $self->{port}; }
sub pid { my ($self) = @_; return $self->{pid}; }

sub set
{
	my ($self, $ms) = @_;
	return $self->_command(sprintf('delay %d', $ms * 1000));
}

sub charge_handshake
{
	my ($self, $is_charged) = @_;
	return $self->_command('handshake ' . ($is_charged ? 1 : 0));
}

sub stop
{
	my ($self) = @_;
	close($self->{in});
	waitpid($self->{pid}, 0);
	return;
}

1;
