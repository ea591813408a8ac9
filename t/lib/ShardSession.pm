
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardSession - one session with a server, by itself or in the background

=head1 SYNOPSIS

  my $session = ShardSession->connect(host => $node->host,
      port => $node->port, dbname => 'postgres');

  my $answer = $session->query('SELECT 1 AS one');
  print $answer->{rows}[0][0];

  $session->send('COMMIT');               # does not wait
  ...
  my $answer = $session->finish;
  is($answer->sqlstate, '08007');

=head1 DESCRIPTION

Speaks the simple query protocol itself, because tests of a commit want to
know exactly what a client was told: every field of an error, notices, and
whether the connection broke before the answer.  Needs trust authentication.
Works with every version of PostgreSQL and of the test modules.

=cut

package ShardSession;

use strict;
use warnings;

use Carp;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Time::HiRes qw(time);

our $default_timeout = $ENV{PG_TEST_TIMEOUT_DEFAULT} || 180;

=pod

=head1 METHODS

=over

=item ShardSession->connect(host =>, port =>, dbname =>, user =>, options =>)

Connects, or dies with the server's message.

=cut

sub connect    ## no critic (ProhibitBuiltinHomonyms)
{
	my ($class, %param) = @_;
	my $self = $class->try_connect(%param);
	croak "could not connect: $self->{error}" if $self->{error};
	return $self;
}

=pod

=item ShardSession->try_connect(...)

The same, but returns a session whose C<error> is set if it did not work.

=cut

sub try_connect
{
	my ($class, %param) = @_;
	my $self = bless { in => '', notices => [], parameters => {} }, $class;

	my $port = $param{port} // 5432;
	$self->{fh} =
	  $param{host} =~ m{^/}
	  ? IO::Socket::UNIX->new(Peer => "$param{host}/.s.PGSQL.$port")
	  : IO::Socket::INET->new(
		PeerHost => $param{host},
		PeerPort => $port,
		Proto => 'tcp');
	if (!$self->{fh})
	{
		$self->{error} = "could not connect to port $port: $!";
		return $self;
	}
	$self->{param} = \%param;
	my %startup = (
		user => $param{user} // scalar(getpwuid($<)),
		database => $param{dbname} // 'postgres',
		application_name => $param{application_name} // 'shard_session');
	$startup{options} = $param{options} if defined $param{options};
	my $body = pack('N', 196608)
	  . join('', map { "$_\0$startup{$_}\0" } sort keys %startup) . "\0";
	$self->_write(pack('N', length($body) + 4) . $body);
	$self->{answer} = ShardSession::Answer->new('');
	my $answer = $self->finish;
	$self->{error} = $answer->message if !$answer->is_ok;
	return $self;
}

sub _write
{
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length($bytes) && !$self->{is_lost})
	{
		my $n = syswrite($self->{fh}, $bytes);
		if (!defined $n)
		{
			# what the server said before it went is still to be read
			$self->{is_broken} = 1;
			return;
		}
		substr($bytes, 0, $n, '');
	}
	return;
}

=pod

=item $session->send($sql)

Sends statements without waiting for anything.

=cut

sub send    ## no critic (ProhibitBuiltinHomonyms)
{
	my ($self, $sql) = @_;
	croak "the answer to '$self->{answer}{sql}' was not read"
	  if $self->{answer};
	$self->{answer} = ShardSession::Answer->new($sql);
	$self->_write(pack('a1NZ*', 'Q', length($sql) + 5, $sql));
	return;
}

=pod

=item $session->is_done([$seconds])

Reads what is there, or waits so long for more; true when the answer is
complete or the connection is lost.

=cut

sub is_done
{
	my ($self, $seconds) = @_;
	my $deadline = time() + ($seconds // 0);

	croak "nothing was sent" unless $self->{answer};
	while (!$self->{answer}{is_done})
	{
		my $left = $deadline - time();
		$left = 0 if $left < 0;
		my $select = IO::Select->new($self->{fh});
		if (!$select->can_read($left))
		{
			return 0 if time() >= $deadline;
			next;
		}
		my $n = sysread($self->{fh}, $self->{in}, 65536, length($self->{in}));
		if (!$n)
		{
			$self->_lose;
			return 1;
		}
		$self->_parse;
	}
	return 1;
}

sub _lose
{
	my ($self) = @_;
	$self->{is_lost} = 1;
	$self->{answer}{is_lost} = 1;
	$self->{answer}{is_done} = 1;
	return;
}

sub _parse
{
	my ($self) = @_;
	my $answer = $self->{answer};

	while (length($self->{in}) >= 5)
	{
		my ($type, $length) = unpack('a1N', $self->{in});
		last if length($self->{in}) < $length + 1;
		my $body = substr(substr($self->{in}, 0, $length + 1, ''), 5);

		if ($type eq 'D')
		{
			push @{ $answer->{rows} }, [ unpack_row($body) ];
		}
		elsif ($type eq 'T')
		{
			$answer->{rows} = [];
			$answer->{columns} =
			  [ length($body) > 2 ? unpack('x2(Z*x18)*', $body) : () ];
		}
		elsif ($type eq 'C')
		{
			$answer->{tag} = unpack('Z*', $body);
			push @{ $answer->{tags} }, $answer->{tag};
		}
		elsif ($type eq 'E')
		{
			$answer->{error} = unpack_fields($body);
			if ($answer->{error}{severity} =~ /FATAL|PANIC/)
			{
				$self->{is_lost} = 1;
				$answer->{is_done} = 1;
			}
		}
		elsif ($type eq 'N')
		{
			push @{ $answer->{notices} }, unpack_fields($body);
		}
		elsif ($type eq 'K')
		{
			($self->{pid}, $self->{key}) = unpack('NN', $body);
		}
		elsif ($type eq 'R')
		{
			my $method = unpack('N', $body);
			croak "authentication method $method is not supported"
			  if $method != 0;
		}
		elsif ($type eq 'G')
		{
			# COPY FROM STDIN: nothing to give
			$self->_write(pack('a1NZ*', 'f', 4 + 1, ''));
		}
		elsif ($type eq 'Z')
		{
			$self->{status} = $body;
			$answer->{is_done} = 1;
		}
	}
	return;
}

sub unpack_row
{
	my ($body) = @_;
	my $n = unpack('n', $body);
	my $at = 2;
	my @row;

	foreach my $column (1 .. $n)
	{
		my $length = unpack('l>', substr($body, $at, 4));
		$at += 4;
		push @row, $length < 0 ? undef : substr($body, $at, $length);
		$at += $length if $length > 0;
	}
	return @row;
}

sub unpack_fields
{
	my ($body) = @_;
	my %name = (
		V => 'severity',
		C => 'sqlstate',
		M => 'message',
		D => 'detail',
		H => 'hint',
		W => 'context',
		s => 'schema',
		t => 'table',
		c => 'column',
		n => 'constraint');
	my %field = map { ($name{ substr($_, 0, 1) } // '') => substr($_, 1) }
	  grep { length } split(/\0/, $body);
	delete $field{''};
	return \%field;
}

=pod

=item $session->finish([$seconds])

Waits for the answer and returns it; dies when it does not come in time.

=cut

sub finish
{
	my ($self, $seconds) = @_;
	$seconds //= $default_timeout;
	$self->is_done($seconds)
	  or croak "no answer to '$self->{answer}{sql}' within $seconds s";
	my $answer = delete $self->{answer};
	return $answer;
}

=pod

=item $session->query($sql)

send() and finish().

=item $session->safe($sql)

The same, but dies on an error; returns the rows as psql -At would.

=cut

sub query
{
	my ($self, $sql, $seconds) = @_;
	$self->send($sql);
	return $self->finish($seconds);
}

sub safe
{
	my ($self, $sql) = @_;
	my $answer = $self->query($sql);
	croak "'$sql' failed: " . $answer->describe unless $answer->is_ok;
	return $answer->text;
}

=pod

=item $session->cancel

Asks the server to stop what the session runs.

=item $session->pid

The process at the other side.

=item $session->is_lost

Is the connection gone?

=item $session->close

Ends it.

=back

=cut

sub cancel
{
	my ($self) = @_;
	my %param = %{ $self->{param} };
	my $port = $param{port} // 5432;
	my $fh =
	  $param{host} =~ m{^/}
	  ? IO::Socket::UNIX->new(Peer => "$param{host}/.s.PGSQL.$port")
	  : IO::Socket::INET->new(PeerHost => $param{host}, PeerPort => $port);
	croak "could not connect to cancel: $!" unless $fh;
	syswrite($fh, pack('NNNN', 16, 80877102, $self->{pid}, $self->{key}));
	# the server closes it when the signal has been sent
	sysread($fh, my $nothing, 1);
	return;
}

sub pid { my ($self) = @_; return $self->{pid}; }
sub is_lost { my ($self) = @_; return $self->{is_lost}; }

sub close    ## no critic (ProhibitBuiltinHomonyms)
{
	my ($self) = @_;
	$self->_write(pack('a1N', 'X', 4)) unless $self->{is_lost};
	close($self->{fh}) if $self->{fh};
	$self->{is_lost} = 1;
	return;
}

=pod

=head1 ANSWERS

An answer has C<rows> (of the last statement with a result), C<columns>,
C<tag>, C<tags>, C<error> and C<notices> (hashes with C<severity>,
C<sqlstate>, C<message>, C<detail>, C<hint>, C<context>) and

=over

=item $answer->is_ok

No error, and the connection is still there.

=item $answer->sqlstate

C<00000>, that of the error, or C<lost> when the connection broke without one.

=item $answer->message, detail, hint, context

Of the error; empty strings if there is none.

=item $answer->text

The rows as psql -At prints them.

=item $answer->describe

Everything, for a failed test's diagnostics.

=back

=cut

package ShardSession::Answer;

use strict;
use warnings;

sub new
{
	my ($class, $sql) = @_;
	return bless {
		sql => $sql,
		rows => [],
		columns => [],
		tags => [],
		tag => '',
		notices => []
	}, $class;
}

sub is_ok
{
	my ($self) = @_;
	return !$self->{error} && !$self->{is_lost};
}

sub sqlstate
{
	my ($self) = @_;
	return $self->{error}{sqlstate} if $self->{error};
	return 'lost' if $self->{is_lost};
	return '00000';
}

sub _field
{
	my ($self, $field) = @_;
	return $self->{error} ? $self->{error}{$field} // '' : '';
}

sub message
{
	my ($self) = @_;
	return 'connection lost' if $self->{is_lost} && !$self->{error};
	return $self->_field('message');
}
sub detail { my ($self) = @_; return $self->_field('detail'); }
sub hint { my ($self) = @_; return $self->_field('hint'); }
sub context { my ($self) = @_; return $self->_field('context'); }

sub text
{
	my ($self) = @_;
	return join("\n",
		map { join('|', map { $_ // '' } @$_) } @{ $self->{rows} });
}

sub describe
{
	my ($self) = @_;
	my $error = $self->{error} // {};
	return join("\n",
		$self->sqlstate . ' ' . $self->message,
		(map { "  $_: $error->{$_}" }
			  grep { defined $error->{$_} } qw(detail hint context)),
		(map { "  $_->{severity}: $_->{sqlstate} $_->{message}" }
			  @{ $self->{notices} }));
}

1;
