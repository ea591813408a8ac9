
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardRelay - put faults between a coordinator and its shards

=head1 SYNOPSIS

  use ShardRelay;

  my $relay = ShardRelay->new(
      shard_0 => '/tmp/a/.s.PGSQL.5433',
      shard_1 => '127.0.0.1:5434');
  my $port = $relay->port('shard_0');     # connect to 127.0.0.1:$port

  my $rule = $relay->rule(
      route => 'shard_0',
      match => '^COMMIT PREPARED',
      action => 'hold');
  ...                                     # start something that commits
  $rule->wait_fired;                      # it stands before the shard now
  ...                                     # do what must happen meanwhile
  $rule->release;

  print "$_->{kind} $_->{text}\n" foreach $relay->transcript;

=head1 DESCRIPTION

A relay is one process (L<ShardRelay::Server>) that forwards PostgreSQL
connections of any number of routes and interferes where a rule tells it to.
It knows the protocol: a rule names a statement, not a byte.  It ends with
the program that started it.

=cut

package ShardRelay;

use strict;
use warnings;

use Carp;
use Cwd qw(abs_path);
use File::Temp;
use IO::Socket::UNIX;
use JSON::PP;
use POSIX ();
use Time::HiRes qw(usleep);

=pod

=head1 METHODS

=over

=item ShardRelay->new(name => target, ...)

Starts a relay with these routes.  A target is the path of a Unix socket or
HOST:PORT.

=cut

sub new
{
	my ($class, %targets) = @_;
	# the X are for File::Temp to fill in
	my $dir = File::Temp->newdir('shard_relay.XXXXXX', TMPDIR => 1);
	my $path = "$dir/control";
	my $program = abs_path(__FILE__);
	$program =~ s/\.pm$/\/Server.pm/;

	my $pid = fork() // croak "could not fork: $!";
	if ($pid == 0)
	{
		exec($^X, $program, $path, map { "$_=$targets{$_}" } sort keys %targets)
		  or POSIX::_exit(1);
	}

	my $self = bless { dir => $dir, pid => $pid }, $class;
	my $tries = 0;
	until ($self->{control} = IO::Socket::UNIX->new(Peer => $path))
	{
		croak "the relay did not start" if $tries++ > 3000;
		usleep(10_000);    # between two looks for the socket
	}
	$self->{ports} = $self->_command('ports')->{ports};
	return $self;
}

sub _command
{
	my ($self, $command, %arguments) = @_;
	my $control = $self->{control};

	print $control encode_json({ command => $command, %arguments }), "\n";
	$control->flush;
	my $line = <$control> // croak "the relay has gone";
	my $answer = JSON::PP->new->latin1->decode($line);
	croak "relay: $answer->{error}" if $answer->{error};
	return $answer;
}

=pod

=item $relay->port($route)

The port on 127.0.0.1 that stands for the route's target.

=item $relay->rule(action => ..., ...)

Adds a rule and returns it.  A message is subject to the first rule that
matches it.  The fields:

=over

=item action

C<hold> keeps the message, and all that comes after it in the same direction,
until release(), discard() or clear(); C<drop> swallows it (all messages of
the statement, so that the rest of the stream stays in step); C<cut> ends the
connection in its place; C<reset> does the same with a TCP reset; C<blackhole>
leaves the connection open but forwards nothing more in either direction;
C<delay> lets it wait C<ms> milliseconds; C<replace> puts the statement
C<with> in the place of the one in a C<query> or C<parse> message.

=item route

The name of a route; all of them by default.

=item match

A regular expression for the text of the statement (for C<startup> the
parameters as C<name=value>, sorted).

=item on

The kind of message: C<statement> (the default: a Query, or a Bind of a
statement parsed before), C<query>, C<parse>, C<bind>, C<describe>,
C<execute>, C<close>, C<sync>, C<flush>, C<terminate>, C<copydata>,
C<copydone>, C<copyfail>, C<password>, C<startup>, C<connect> (a new
connection, before its first byte), C<cancel>.

=item side

C<request> (the default): the message is met before it reaches the server.
C<answer>: it reaches the server, and its answer is met before it reaches the
client.

=item until

For answers, when the rule acts: C<ready> (the default) when the ReadyForQuery
after it has come, so the statement has taken effect; C<complete> with its
CommandComplete or error; C<first> with its first message.  All of the answer
is kept back meanwhile.

=item nth, times

The rule acts from the C<nth> match on (1), C<times> times (1; 0 means always).

=back

=cut

sub rule
{
	my ($self, %rule) = @_;
	my $id = $self->_command('rule', %rule)->{rule};
	return bless { relay => $self, id => $id }, 'ShardRelay::Rule';
}

=pod

=item $relay->clear

Forgets all rules; what they held goes on its way.

=item $relay->delay($ms [, $route])

From now on everything takes so long in each direction.  It works like the
distance to a server: what is sent in one go arrives in one go.

=item $relay->cut($route), $relay->reset($route)

Ends all connections of the route, or of all routes.

=item $relay->partition($route), $relay->heal($route)

Nothing gets through any more, on old connections and new ones, and nobody is
told; heal() ends that and resets what was swallowed.

=item $relay->connections($route)

How many connections there are.

=item $relay->raw($value [, $route])

Connections to come are forwarded without looking at them: no rules and no
transcript, but less work per byte.

=cut

sub port { my ($self, $route) = @_; return $self->{ports}{$route}; }
sub clear { my ($self) = @_; $self->_command('clear'); return; }

sub delay
{
	my ($self, $ms, $route) = @_;
	$self->_command('delay', ms => $ms, _route($route));
	return;
}

sub raw
{
	my ($self, $value, $route) = @_;
	$self->_command('raw', value => $value, _route($route));
	return;
}

sub cut
{
	my ($self, $route) = @_;
	return $self->_command('cut', _route($route))->{connections};
}

sub reset    ## no critic (ProhibitBuiltinHomonyms)
{
	my ($self, $route) = @_;
	return $self->_command('cut', is_reset => 1, _route($route))
	  ->{connections};
}

sub partition
{
	my ($self, $route) = @_;
	$self->_command('partition', _route($route));
	return;
}

sub heal
{
	my ($self, $route) = @_;
	$self->_command('heal', _route($route));
	return;
}

sub connections
{
	my ($self, $route) = @_;
	my $answer = $self->_command('connections', _route($route));
	return scalar @{ $answer->{connections} };
}

sub _route
{
	my ($route) = @_;
	return defined $route ? (route => $route) : ();
}

=pod

=item $relay->transcript([$route])

What passed so far, as a list of hashes: C<at> (seconds), C<route>,
C<connection>, C<direction> (C<< > >> to the server, C<< < >> to the client,
C<*> for what the relay did), C<kind>, C<text>.  Rows and COPY data are left
out.

=item $relay->statements([$route])

Only the texts of the statements executed, in order.

=item $relay->forget

Empties the transcript.

=cut

sub transcript
{
	my ($self, $route) = @_;
	return @{ $self->_command('transcript', _route($route))->{transcript} };
}

sub statements
{
	my ($self, $route) = @_;
	return map { $_->{text} }
	  grep { $_->{direction} eq '>' && $_->{kind} =~ /^(query|bind)$/ }
	  $self->transcript($route);
}

sub forget { my ($self) = @_; $self->_command('forget'); return; }

=pod

=item $relay->stop

Ends the process.

=back

=cut

sub stop
{
	my ($self) = @_;
	return unless $self->{pid};
	local $?;
	close($self->{control}) if $self->{control};
	waitpid($self->{pid}, 0);
	delete $self->{pid};
	return;
}

sub DESTROY
{
	my ($self) = @_;
	$self->stop;
	return;
}

=pod

=head1 RULES

=over

=item $rule->wait_fired([$seconds [, $count]])

Waits until the rule has acted, so often (1); false when it has not after so
long (60 s).  For a C<hold> this is the moment at which the message stands at
the relay.

=item $rule->fired, $rule->seen

How often it acted, and how often its pattern matched.

=item $rule->release

Lets pass what it holds, now and from now on.

=item $rule->discard, $rule->discard_reset

Ends the connections on which it holds something; that is lost.

=back

=cut

package ShardRelay::Rule;

use strict;
use warnings;

sub _command
{
	my ($self, $command, %arguments) = @_;
	return $self->{relay}
	  ->_command($command, rule => $self->{id}, %arguments);
}

sub wait_fired
{
	my ($self, $seconds, $count) = @_;
	$seconds //= 60;
	$count //= 1;
	my $answer =
	  $self->_command('wait', seconds => $seconds, count => $count);
	return $answer->{fired} >= $count;
}

sub fired { my ($self) = @_; return $self->_command('status')->{fired}; }
sub seen { my ($self) = @_; return $self->_command('status')->{seen}; }
sub release { my ($self) = @_; $self->_command('release'); return; }

sub discard
{
	my ($self) = @_;
	return $self->_command('discard')->{connections};
}

sub discard_reset
{
	my ($self) = @_;
	return $self->_command('discard', is_reset => 1)->{connections};
}

1;
