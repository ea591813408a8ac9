
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardRelay::Server - the process between a coordinator and its shards

=head1 SYNOPSIS

  perl t/lib/ShardRelay/Server.pm CONTROL_SOCKET NAME=TARGET ...

=head1 DESCRIPTION

One single-threaded, event-driven process.  For each route it listens on a TCP
port of its own on 127.0.0.1, connects each client to the target (the path of
a Unix socket, or HOST:PORT) and forwards protocol messages of PostgreSQL's
version 3 in both directions.  It knows where messages begin and end, which
answer belongs to which request (simple and extended protocol, pipelines,
COPY) and the text of the statement that a Bind or Execute stands for.  It
never speaks TLS or GSS: a client that asks for them is told no.

What a test may do with it is documented in L<ShardRelay>, which starts this
program and talks to its control socket: one JSON object per line, one JSON
object per line back.

=head2 How it works

Each connection has a queue in each direction.  A queue is a list of items
that are worked off strictly in order: bytes with the time at which they are
due, gates, and the end of the stream.  A rule that applies to a message puts
a gate in front of it; the gate does what the rule says when everything
before it has left, so a delayed, held and cut message all keep their place.
A gate for an answer is put in front of the first message of the answer and
acts when its last one has arrived.  Nothing is decided in any other place.

=cut

package ShardRelay::Server;

use strict;
use warnings;

use Errno qw(EAGAIN EINTR EINPROGRESS EWOULDBLOCK);
use IO::Handle;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(SOL_SOCKET SO_LINGER IPPROTO_TCP TCP_NODELAY SOMAXCONN);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use FindBin;
use lib "$FindBin::RealBin/..";
use parent 'ShardRelay::Control';

use constant {
	CANCEL_CODE => 80877102,
	SSL_CODE => 80877103,
	GSS_CODE => 80877104,
	READ_SIZE => 65536,
	QUEUE_LIMIT => 4 * 1024 * 1024,
	TRANSCRIPT_LIMIT => 200_000,
};

# Frontend messages by type byte: the kind that a rule's "on" names.
my %frontend = (
	Q => 'query',
	P => 'parse',
	B => 'bind',
	D => 'describe',
	E => 'execute',
	S => 'sync',
	C => 'close',
	H => 'flush',
	X => 'terminate',
	F => 'function',
	d => 'copydata',
	c => 'copydone',
	f => 'copyfail',
	p => 'password');

# Backend messages, for the transcript.
my %backend = (
	R => 'Authentication',
	S => 'ParameterStatus',
	K => 'BackendKeyData',
	Z => 'ReadyForQuery',
	T => 'RowDescription',
	D => 'DataRow',
	C => 'CommandComplete',
	E => 'ErrorResponse',
	N => 'NoticeResponse',
	A => 'NotificationResponse',
	1 => 'ParseComplete',
	2 => 'BindComplete',
	3 => 'CloseComplete',
	n => 'NoData',
	t => 'ParameterDescription',
	s => 'PortalSuspended',
	I => 'EmptyQueryResponse',
	G => 'CopyInResponse',
	H => 'CopyOutResponse',
	W => 'CopyBothResponse',
	d => 'CopyData',
	c => 'CopyDone',
	v => 'NegotiateProtocolVersion');

# The backend messages that end the answer to one extended-protocol message.
my %answer_end = (
	parse => qr/[1E]/,
	bind => qr/[2E]/,
	describe => qr/[TnE]/,
	execute => qr/[CsIE]/,
	close => qr/[3E]/,
	sync => qr/Z/,
	query => qr/Z/,
	function => qr/Z/,
	startup => qr/Z/);

sub now
{
	return clock_gettime(CLOCK_MONOTONIC);
}

sub new
{
	my ($class, $control_path, %targets) = @_;
	my $self = bless {
		routes => {},
		connections => {},
		next_connection => 1,
		rules => {},
		next_rule => 1,
		transcript => [],
		started => now(),
		waiters => [],
		readers => {},
		readable => '',
	}, $class;

	foreach my $name (sort keys %targets)
	{
		my $listener = IO::Socket::INET->new(
			LocalAddr => '127.0.0.1',
			Listen => SOMAXCONN,
			Proto => 'tcp') or die "could not listen: $!";
		$listener->blocking(0);
		$self->{routes}{$name} = {
			name => $name,
			target => $targets{$name},
			listener => $listener,
			port => $listener->sockport,
			delay => 0,
			is_partitioned => 0,
			is_raw => 0,
		};
		$self->_watch($listener, sub { $self->_accept($name) });
	}

	unlink $control_path;
	my $control = IO::Socket::UNIX->new(
		Local => $control_path,
		Listen => 1) or die "could not listen on $control_path: $!";
	$self->{control_listener} = $control;
	$self->_watch(
		$control,
		sub {
			my $client = $control->accept or return;
			$client->blocking(0);
			$self->{control} = { fh => $client, in => '' };
			$self->_watch($client, sub { $self->_read_control });
		});
	return $self;
}

# ---- the event loop ----

sub _watch
{
	my ($self, $fh, $callback) = @_;
	my $fd = fileno($fh);
	$self->{readers}{$fd} = $callback;
	vec($self->{readable}, $fd, 1) = 1;
	return;
}

sub _unwatch
{
	my ($self, $fh) = @_;
	my $fd = fileno($fh);
	return unless defined $fd;
	delete $self->{readers}{$fd};
	vec($self->{readable}, $fd, 1) = 0;
	return;
}

sub run
{
	my ($self) = @_;
	my $give_up = now() + 60;

	while (1)
	{
		my $writable = '';
		my $next = $self->_pump_queues(\$writable);
		$next = $self->_answer_waiters($next);

		# Without a controller there is nobody to relay for.
		exit 0 if !$self->{control} && now() > $give_up;
		$next = $give_up if !$self->{control};

		my $timeout;
		if (defined $next)
		{
			$timeout = $next - now();
			$timeout = 0 if $timeout < 0;
		}
		my $n = select(my $r = $self->{readable},
			my $w = $writable, undef, $timeout);
		next if $n <= 0;
		foreach my $fd (keys %{ $self->{readers} })
		{
			next unless vec($r, $fd, 1);
			my $callback = $self->{readers}{$fd} or next;
			$callback->();
		}
	}
	return;
}

# Works off the queues of all connections as far as they go.  Returns the time
# of the next item that is only waiting for its time.
sub _pump_queues
{
	my ($self, $writable) = @_;
	my $next;

	foreach my $conn (values %{ $self->{connections} })
	{
		foreach my $side (qw(server client))
		{
			my $due = $self->_pump_queue($conn, $side, $writable);
			$next = $due if defined $due && (!defined $next || $due < $next);
			last if $conn->{is_gone};
		}
	}
	return $next;
}

# Works off one queue.  side names the receiver.
sub _pump_queue
{
	my ($self, $conn, $side, $writable) = @_;
	my $queue = $conn->{queue}{$side};

	while (@$queue && !$conn->{is_gone} && !$conn->{is_blackhole})
	{
		my $item = $queue->[0];

		return $item->{due} if $item->{due} && $item->{due} > now();
		if ($item->{gate})
		{
			return $item->{due} if !$self->_pass_gate($conn, $side, $item);
			shift @$queue unless $conn->{is_gone};
		}
		elsif ($item->{is_end})
		{
			$self->_close($conn);
		}
		else
		{
			my $fh = $conn->{$side};
			my $n =
			  $conn->{"${side}_is_dead"}
			  ? length($item->{bytes})
			  : syswrite($fh, $item->{bytes});
			if (!defined $n)
			{
				if ($! == EAGAIN || $! == EINTR || $! == EWOULDBLOCK)
				{
					vec($$writable, fileno($fh), 1) = 1;
					return;
				}
				$conn->{"${side}_is_dead"} = 1;
				next;
			}
			$conn->{queued}{$side} -= $n;
			substr($item->{bytes}, 0, $n, '');
			shift @$queue if $item->{bytes} eq '';
			$self->_resume($conn, $side)
			  if $conn->{queued}{$side} < QUEUE_LIMIT / 2;
		}
	}
	return;
}

# Reads again from the side that had to wait for this one.
sub _resume
{
	my ($self, $conn, $to) = @_;
	my $from = $to eq 'client' ? 'server' : 'client';

	return unless delete $conn->{"${from}_is_paused"};
	$self->_watch($conn->{$from}, sub { $self->_read($conn, $from) });
	return;
}

# Does what the gate's rule says.  Returns true when the gate is open.
sub _pass_gate
{
	my ($self, $conn, $side, $item) = @_;
	my $rule = $item->{gate};

	return 0 unless $item->{is_ready};
	if (!$item->{is_fired})
	{
		$item->{is_fired} = 1;
		$self->_fire($rule, $conn);
		if ($rule->{action} eq 'delay')
		{
			$item->{due} = now() + $rule->{ms} / 1000;
			return 0;
		}
	}
	if ($rule->{action} eq 'hold')
	{
		return $rule->{is_released} || $item->{is_released};
	}
	return 1 if $rule->{action} eq 'delay';
	if ($rule->{action} eq 'cut')
	{
		$self->_close($conn);
	}
	elsif ($rule->{action} eq 'reset')
	{
		$self->_close($conn, 1);
	}
	elsif ($rule->{action} eq 'blackhole')
	{
		$self->_make_blackhole($conn);
		return 0;
	}
	return 1;
}

sub _fire
{
	my ($self, $rule, $conn) = @_;
	$rule->{fired}++;
	$self->_record($conn, '*', $rule->{action}, "rule $rule->{id}");
	return;
}

sub _enqueue
{
	my ($self, $conn, $side, $bytes, $due) = @_;
	my $queue = $conn->{queue}{$side};

	$conn->{queued}{$side} += length($bytes);
	if (@$queue)
	{
		my $last = $queue->[-1];
		if (defined $last->{bytes} && $last->{due} == $due)
		{
			$last->{bytes} .= $bytes;
			return;
		}
	}
	push @$queue, { bytes => $bytes, due => $due };
	return;
}

sub _enqueue_gate
{
	my ($self, $conn, $side, $rule, $due, $is_ready) = @_;
	my $gate = { gate => $rule, due => $due, is_ready => $is_ready };
	push @{ $conn->{queue}{$side} }, $gate;
	return $gate;
}

# ---- connections ----

sub _accept
{
	my ($self, $name) = @_;
	my $route = $self->{routes}{$name};
	my $client = $route->{listener}->accept or return;
	my $conn = {
		id => $self->{next_connection}++,
		route => $route,
		client => $client,
		is_starting => 1,
		in => { client => '', server => '' },
		queue => { client => [], server => [] },
		queued => { client => 0, server => 0 },
		pending => [],
		statements => {},
		portals => {},
	};

	$client->blocking(0);
	setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1);
	$self->{connections}{ $conn->{id} } = $conn;
	$self->_record($conn, '>', 'connect', '');
	if ($route->{is_partitioned})
	{
		$self->_make_blackhole($conn);
		return;
	}

	my $server =
	  $route->{target} =~ m{^/}
	  ? IO::Socket::UNIX->new(Peer => $route->{target})
	  : IO::Socket::INET->new(PeerAddr => $route->{target}, Proto => 'tcp');
	if (!$server)
	{
		$self->_close($conn);
		return;
	}
	$server->blocking(0);
	setsockopt($server, IPPROTO_TCP, TCP_NODELAY, 1)
	  if $route->{target} !~ m{^/};
	$conn->{server} = $server;
	my $rule = $self->_match($conn, ['connect'], '');
	$self->_enqueue_gate($conn, 'server', $rule, 0, 1) if $rule;
	$self->_watch($client, sub { $self->_read($conn, 'client') });
	$self->_watch($server, sub { $self->_read($conn, 'server') });
	return;
}

sub _make_blackhole
{
	my ($self, $conn) = @_;
	$conn->{is_blackhole} = 1;
	$self->_unwatch($conn->{$_}) foreach grep { $conn->{$_} } qw(client server);
	return;
}

# Ends a connection in both directions.
sub _close
{
	my ($self, $conn, $is_reset) = @_;
	return if $conn->{is_gone};
	$conn->{is_gone} = 1;
	foreach my $side (qw(client server))
	{
		my $fh = $conn->{$side} or next;
		$self->_unwatch($fh);
		setsockopt($fh, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)) if $is_reset;
		close($fh);
	}
	$self->_record($conn, '*', 'closed', '');
	delete $self->{connections}{ $conn->{id} };
	return;
}

# Reads from one side.
sub _read
{
	my ($self, $conn, $from) = @_;
	my $to = $from eq 'client' ? 'server' : 'client';

	return if $conn->{is_gone} || $conn->{is_blackhole};

	# The receiver is slower than the sender: let the sender wait, too.
	if ($conn->{queued}{$to} > QUEUE_LIMIT && !$self->_is_gated($conn, $to))
	{
		$self->_unwatch($conn->{$from});
		$conn->{"${from}_is_paused"} = 1;
		return;
	}

	my $n = sysread($conn->{$from}, my $bytes, READ_SIZE);
	if (!defined $n)
	{
		return if $! == EAGAIN || $! == EINTR || $! == EWOULDBLOCK;
		$n = 0;
	}
	my $due = $conn->{route}{delay} ? now() + $conn->{route}{delay} : 0;
	if ($n == 0)
	{
		$self->_unwatch($conn->{$from});
		$conn->{"${from}_is_dead"} = 1;
		push @{ $conn->{queue}{$to} }, { is_end => 1, due => $due };
		return;
	}
	if ($conn->{route}{is_raw})
	{
		$self->_enqueue($conn, $to, $bytes, $due);
		return;
	}
	$conn->{in}{$from} .= $bytes;
	if ($from eq 'client')
	{
		$self->_parse_client($conn, $due);
	}
	else
	{
		$self->_parse_server($conn, $due);
	}
	return;
}

sub _is_gated
{
	my ($self, $conn, $to) = @_;
	return grep { $_->{gate} } @{ $conn->{queue}{$to} };
}

# ---- from the client ----

sub _parse_client
{
	my ($self, $conn, $due) = @_;

	while ($conn->{is_starting})
	{
		return unless $self->_parse_startup($conn, $due);
	}
	while (length($conn->{in}{client}) >= 5)
	{
		my ($type, $length) = unpack('a1N', $conn->{in}{client});
		last if length($conn->{in}{client}) < $length + 1;
		my $message = substr($conn->{in}{client}, 0, $length + 1, '');
		$self->_request($conn, $type, $message, $due);
	}
	return;
}

# The messages before the type bytes begin.  False when more must arrive.
sub _parse_startup
{
	my ($self, $conn, $due) = @_;
	my $in = \$conn->{in}{client};

	return 0 if length($$in) < 8;
	my ($length, $code) = unpack('NN', $$in);
	return 0 if length($$in) < $length;
	my $message = substr($$in, 0, $length, '');
	if ($code == SSL_CODE || $code == GSS_CODE)
	{
		# the question has to travel before the answer can
		my $back = $due ? $due + $conn->{route}{delay} : 0;
		$self->_enqueue($conn, 'client', 'N', $back);
		return 1;
	}
	$conn->{is_starting} = 0;
	if ($code == CANCEL_CODE)
	{
		$conn->{is_cancel} = 1;
		$self->_record($conn, '>', 'cancel', '');
		my $rule = $self->_match($conn, ['cancel'], '');
		$self->_forward($conn, $message, $due, $rule);
		return 1;
	}
	my %parameter = split(/\0/, substr($message, 8));
	my $text = join(' ', map { "$_=$parameter{$_}" } sort keys %parameter);
	$self->_record($conn, '>', 'startup', $text);
	my $rule = $self->_match($conn, ['startup'], $text);
	my $entry = { kind => 'startup', group => { text => $text } };
	push @{ $conn->{pending} }, $entry;
	$self->_apply($conn, $message, $due, $rule, $entry->{group});
	return 1;
}

# One message of the normal protocol.
sub _request
{
	my ($self, $conn, $type, $message, $due) = @_;
	my $kind = $frontend{$type} // "'$type'";
	my $group = $self->_group_of($conn, $kind, $message);
	my $text = $group->{text} // '';

	$self->_record($conn, '>', $kind, $text) unless $kind eq 'copydata';
	my @kinds = ($kind);
	push @kinds, 'statement' if $kind eq 'query' || $kind eq 'bind';
	my $rule = $self->_match($conn, \@kinds, $text);

	push @{ $conn->{pending} }, { kind => $kind, group => $group }
	  if exists $answer_end{$kind};
	$self->_apply($conn, $message, $due, $rule, $group);
	return;
}

# What belongs to one execution of one statement: its text and its fate.
sub _group_of
{
	my ($self, $conn, $kind, $message) = @_;
	my $body = substr($message, 5);

	if ($kind eq 'query')
	{
		return { text => (split(/\0/, $body, 2))[0] };
	}
	if ($kind eq 'parse')
	{
		my ($name, $text) = split(/\0/, $body, 3);
		$conn->{statements}{$name} = $text;
		return { text => $text };
	}
	if ($kind eq 'bind')
	{
		my ($portal, $name) = split(/\0/, $body, 3);
		my $group = { text => $conn->{statements}{$name} // '' };
		$conn->{portals}{$portal} = $group;
		return $group;
	}
	if ($kind eq 'execute')
	{
		my ($portal) = split(/\0/, $body, 2);
		return $conn->{portals}{$portal} // {};
	}
	if ($kind eq 'describe' || $kind eq 'close')
	{
		my ($what, $name) = unpack('a1Z*', $body);
		return $conn->{portals}{$name} // {}
		  if $kind eq 'describe' && $what eq 'P';
		return { text => "statement " . ($conn->{statements}{$name} // '') }
		  if $what eq 'S';
		return { text => "portal $name" };
	}
	return {};
}

# Sends a message on its way, under the rule that applies to it, if any.
sub _apply
{
	my ($self, $conn, $message, $due, $rule, $group) = @_;

	if ($rule && $rule->{side} eq 'answer')
	{
		$group->{answer_rule} = $rule;
		undef $rule;
	}
	if ($rule && $rule->{action} eq 'replace')
	{
		$message = _with_text($message, $rule->{with});
		$self->_fire($rule, $conn);
		undef $rule;
	}
	if ($rule && $rule->{action} eq 'drop')
	{
		$group->{is_dropped} = 1;
		$self->_fire($rule, $conn);
	}
	if ($group->{is_dropped})
	{
		# no answer will come for it
		my $last = $conn->{pending}[-1];
		pop @{ $conn->{pending} } if $last && $last->{group} == $group;
		return;
	}
	$self->_forward($conn, $message, $due, $rule);
	return;
}

# A Query or Parse message with another statement in it.
sub _with_text
{
	my ($message, $text) = @_;
	my $type = substr($message, 0, 1);
	my $body = substr($message, 5);

	if ($type eq 'Q')
	{
		$body = "$text\0";
	}
	elsif ($type eq 'P')
	{
		my ($name, $old, $rest) = split(/\0/, $body, 3);
		$body = "$name\0$text\0$rest";
	}
	return pack('a1N', $type, length($body) + 4) . $body;
}

sub _forward
{
	my ($self, $conn, $message, $due, $rule) = @_;
	return if $rule && $rule->{action} eq 'drop';
	$self->_enqueue_gate($conn, 'server', $rule, $due, 1) if $rule;
	$self->_enqueue($conn, 'server', $message, $due);
	return;
}

# The first active rule for a message of one of these kinds.
sub _match
{
	my ($self, $conn, $kinds, $text) = @_;
	my $found;

	foreach my $id (sort { $a <=> $b } keys %{ $self->{rules} })
	{
		my $rule = $self->{rules}{$id};
		next if $rule->{route} && $rule->{route} ne $conn->{route}{name};
		next unless grep { $_ eq $rule->{on} } @$kinds;
		next if defined $rule->{regex} && $text !~ $rule->{regex};
		$rule->{seen}++;
		next if $rule->{seen} < $rule->{nth};
		next
		  if $rule->{times} && $rule->{seen} >= $rule->{nth} + $rule->{times};
		$found //= $rule;
	}
	return $found;
}

# ---- from the server ----

sub _parse_server
{
	my ($self, $conn, $due) = @_;
	my $in = \$conn->{in}{server};

	while (length($$in) >= 5)
	{
		my ($type, $length) = unpack('a1N', $$in);
		last if length($$in) < $length + 1;
		my $message = substr($$in, 0, $length + 1, '');
		$self->_answer($conn, $type, $message, $due);
	}
	return;
}

sub _answer
{
	my ($self, $conn, $type, $message, $due) = @_;
	my $pending = $conn->{pending};
	my $entry = $pending->[0];

	$self->_record($conn, '<', $backend{$type} // "'$type'",
		_answer_text($type, $message))
	  unless $type eq 'D' || $type eq 'd';

	# A failed statement is the answer to all that the server will now skip.
	my @groups = $entry ? ($entry->{group}) : ();
	if ($type eq 'E' && $entry && exists $answer_end{ $entry->{kind} })
	{
		if ($entry->{kind} !~ /^(query|function|startup|sync)$/)
		{
			shift @$pending;
			while (@$pending && $pending->[0]{kind} ne 'sync')
			{
				push @groups, (shift @$pending)->{group};
			}
		}
	}

	foreach my $group (@groups)
	{
		my $rule = $group->{answer_rule} or next;
		if ($rule->{action} eq 'drop')
		{
			next if $group->{is_answer_dropped}++;
			$self->_fire($rule, $conn);
		}
		elsif (!$group->{gate})
		{
			$group->{gate} =
			  $self->_enqueue_gate($conn, 'client', $rule, $due, 0);
			push @{ $conn->{closing_gates} }, $group->{gate};
		}
		$group->{gate}{is_ready} = 1
		  if $group->{gate}
		  && ( $rule->{until} eq 'first'
			|| $rule->{until} eq 'complete' && $type =~ /[CEIs]/);
	}
	if ($type eq 'Z' || $entry && $entry->{kind} eq 'startup' && $type eq 'E')
	{
		$_->{is_ready} = 1 foreach @{ $conn->{closing_gates} // [] };
		$conn->{closing_gates} = [];
	}

	$self->_enqueue($conn, 'client', $message, $due)
	  unless $type ne 'Z' && grep { $_->{is_answer_dropped} } @groups;

	# what was answered is no longer pending
	if (   $entry
		&& @$pending
		&& $pending->[0] == $entry
		&& $type =~ $answer_end{ $entry->{kind} })
	{
		shift @$pending;
	}
	return;
}

sub _answer_text
{
	my ($type, $message) = @_;
	my $body = substr($message, 5);

	return unpack('Z*', $body) if $type eq 'C';
	return $body if $type eq 'Z';
	return join('=', split(/\0/, $body)) if $type eq 'S';
	if ($type eq 'E' || $type eq 'N')
	{
		my %field = map { substr($_, 0, 1) => substr($_, 1) }
		  grep { length } split(/\0/, $body);
		return join(' ', map { $field{$_} // '' } qw(V C M));
	}
	return '';
}

# ---- the transcript ----

sub _record
{
	my ($self, $conn, $direction, $kind, $text) = @_;
	my $transcript = $self->{transcript};

	shift @$transcript if @$transcript >= TRANSCRIPT_LIMIT;
	push @$transcript,
	  {
		at => sprintf('%.6f', now() - $self->{started}),
		route => $conn->{route}{name},
		connection => $conn->{id},
		direction => $direction,
		kind => $kind,
		text => $text,
	  };
	return;
}

sub main
{
	my ($control, @routes) = @_;
	die "usage: $0 CONTROL_SOCKET NAME=TARGET ...\n" unless @routes;
	$SIG{PIPE} = 'IGNORE';
	ShardRelay::Server->new($control, map { split(/=/, $_, 2) } @routes)->run;
	return;
}

main(@ARGV) unless caller;

1;
