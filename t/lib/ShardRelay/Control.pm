
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardRelay::Control - what the relay does when it is told to

=head1 DESCRIPTION

The half of L<ShardRelay::Server> that reads the control socket.  Requests are
JSON objects, one per line, with the name of a command and its arguments; the
method C<_command_NAME> returns the answer.  Nothing here touches a byte of the
connections: commands set flags that the event loop acts upon.

=cut

package ShardRelay::Control;

use strict;
use warnings;

use Errno qw(EAGAIN EINTR);
use JSON::PP;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use constant READ_SIZE => 65536;

my %is_action = map { $_ => 1 } qw(hold drop cut reset blackhole delay
  replace);

sub now
{
	return clock_gettime(CLOCK_MONOTONIC);
}

sub _read_control
{
	my ($self) = @_;
	my $control = $self->{control};
	my $n = sysread($control->{fh}, my $bytes, READ_SIZE);

	return if !defined $n && ($! == EAGAIN || $! == EINTR);
	exit 0 unless $n;
	$control->{in} .= $bytes;
	while ($control->{in} =~ s/^(.*)\n//)
	{
		my $request = decode_json($1);
		my $method = "_command_$request->{command}";
		my $answer = eval { $self->$method($request) };
		$answer = { error => "$@" } if $@;
		$self->_reply($answer) if $answer;
	}
	return;
}

sub _reply
{
	my ($self, $answer) = @_;
	my $fh = $self->{control}{fh};
	my $line = JSON::PP->new->canonical->latin1->encode($answer) . "\n";

	$fh->blocking(1);
	while (length($line))
	{
		my $n = syswrite($fh, $line);
		exit 0 unless defined $n;
		substr($line, 0, $n, '');
	}
	$fh->blocking(0);
	return;
}

sub _rule
{
	my ($self, $request) = @_;
	return $self->{rules}{ $request->{rule} // '' }
	  // die "there is no rule " . ($request->{rule} // '(none)') . "\n";
}

sub _selected_connections
{
	my ($self, $request) = @_;
	return
	  grep { !$request->{route} || $_->{route}{name} eq $request->{route} }
	  values %{ $self->{connections} };
}

sub _selected_routes
{
	my ($self, $request) = @_;
	return values %{ $self->{routes} } unless $request->{route};
	return $self->{routes}{ $request->{route} }
	  // die "there is no route $request->{route}\n";
}

sub _command_ports
{
	my ($self) = @_;
	return {
		ports => { map { $_->{name} => $_->{port} }
			  values %{ $self->{routes} } }
	};
}

sub _command_rule
{
	my ($self, $request) = @_;
	my %rule = (
		on => 'statement',
		side => 'request',
		until => 'ready',
		nth => 1,
		times => 1,
		ms => 0,
		%$request,
		id => $self->{next_rule}++,
		seen => 0,
		fired => 0);

	die "there is no action " . ($rule{action} // '(none)') . "\n"
	  unless $rule{action} && $is_action{ $rule{action} };
	die "there is no side $rule{side}\n"
	  unless $rule{side} =~ /^(request|answer)$/;
	$self->_selected_routes($request);
	$rule{regex} = qr/$rule{match}/ if defined $rule{match};
	$self->{rules}{ $rule{id} } = \%rule;
	return { rule => $rule{id} };
}

# Answers when the rule has done its work so many times.
sub _command_wait
{
	my ($self, $request) = @_;
	push @{ $self->{waiters} },
	  {
		rule => $self->_rule($request),
		count => $request->{count} // 1,
		deadline => now() + ($request->{seconds} // 60),
	  };
	return;
}

sub _answer_waiters
{
	my ($self, $next) = @_;
	my @still;

	foreach my $waiter (@{ $self->{waiters} })
	{
		my $fired = $waiter->{rule}{fired};
		if ($fired >= $waiter->{count} || now() >= $waiter->{deadline})
		{
			$self->_reply({ fired => $fired });
			next;
		}
		push @still, $waiter;
		$next = $waiter->{deadline}
		  if !defined $next || $waiter->{deadline} < $next;
	}
	$self->{waiters} = \@still;
	return $next;
}

sub _command_status
{
	my ($self, $request) = @_;
	my $rule = $self->_rule($request);
	return { seen => $rule->{seen}, fired => $rule->{fired} };
}

# Lets pass what the rule holds, and what it would have held.
sub _command_release
{
	my ($self, $request) = @_;
	$self->_rule($request)->{is_released} = 1;
	return {};
}

# Ends the connections that the rule holds something on.
sub _command_discard
{
	my ($self, $request) = @_;
	my $rule = $self->_rule($request);
	my $n = 0;

	foreach my $conn (values %{ $self->{connections} })
	{
		my @gates = grep { $_->{gate} && $_->{gate} == $rule }
		  map { @{ $conn->{queue}{$_} } } qw(client server);
		next unless @gates;
		$self->_close($conn, $request->{is_reset});
		$n++;
	}
	return { connections => $n };
}

# Forgets all rules; what they hold goes on its way.
sub _command_clear
{
	my ($self) = @_;
	$_->{is_released} = 1 foreach values %{ $self->{rules} };
	$self->{rules} = {};
	return {};
}

sub _command_delay
{
	my ($self, $request) = @_;
	$_->{delay} = $request->{ms} / 1000
	  foreach $self->_selected_routes($request);
	return {};
}

# Forwards bytes without looking at them; only for connections to come.
sub _command_raw
{
	my ($self, $request) = @_;
	$_->{is_raw} = $request->{value}
	  foreach $self->_selected_routes($request);
	return {};
}

sub _command_cut
{
	my ($self, $request) = @_;
	my @connections = $self->_selected_connections($request);
	$self->_close($_, $request->{is_reset}) foreach @connections;
	return { connections => scalar(@connections) };
}

# From now on nothing gets through, and nobody is told.
sub _command_partition
{
	my ($self, $request) = @_;
	$_->{is_partitioned} = 1 foreach $self->_selected_routes($request);
	$self->_make_blackhole($_)
	  foreach $self->_selected_connections($request);
	return {};
}

# New connections work again; those that were swallowed are reset.
sub _command_heal
{
	my ($self, $request) = @_;
	$_->{is_partitioned} = 0 foreach $self->_selected_routes($request);
	$self->_close($_, 1)
	  foreach grep { $_->{is_blackhole} }
	  $self->_selected_connections($request);
	return {};
}

sub _command_connections
{
	my ($self, $request) = @_;
	return {
		connections => [
			map { { id => $_->{id}, route => $_->{route}{name} } }
			  $self->_selected_connections($request)
		]
	};
}

sub _command_transcript
{
	my ($self, $request) = @_;
	my @lines = grep { !$request->{route} || $_->{route} eq $request->{route} }
	  @{ $self->{transcript} };
	return { transcript => \@lines };
}

sub _command_forget
{
	my ($self) = @_;
	$self->{transcript} = [];
	return {};
}

1;
