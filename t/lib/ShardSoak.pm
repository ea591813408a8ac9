
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardSoak - clients that move money while everything is being broken

=head1 SYNOPSIS

  my $soak = ShardSoak->new($cluster, clients => 6);
  $soak->start;
  while (time() < $end)
  {
      my $fault = $soak->break_something;
      $soak->watch(1);
  }
  $soak->stop;
  is(join("\n", $soak->violations), '', 'nothing is half done');

=head1 DESCRIPTION

Each client is a process of its own and writes down what it was told of each
of its transactions.  Every transaction leaves one row in C<ledger> on each
shard that it writes to, so afterwards it can be said what became of it.

=cut

package ShardSoak;

use strict;
use warnings;

use Carp;
use JSON::PP;
use PostgreSQL::Test::Utils;
use POSIX ();
use Time::HiRes qw(time usleep);

use ShardSession;

# what the clients do, by weight
my %kinds = (
	transfer => 5,
	three_shards => 2,
	local_row => 2,
	one_shard => 3,
	order => 2,
	savepoint => 2,
	autocommit => 2,
	user_prepare => 1);

# no answer may take longer than this, whatever is broken
my $answer_limit = 60;

=pod

=head1 METHODS

=over

=item ShardSoak->new($cluster, clients => 6)

Makes the tables.

=cut

sub new
{
	my ($class, $cluster, %param) = @_;
	my $self = bless {
		cluster => $cluster,
		nclients => $param{clients} // 6,
		dir => PostgreSQL::Test::Utils::tempdir('soak'),
		faults => {},
		seen => {},
	}, $class;

	$cluster->create_accounts;
	$cluster->sql('CREATE TABLE ledger (tx bigint, shard int, account int,'
		  . ' amount int, seq int) PARTITION BY LIST (shard)');
	$cluster->sql('CREATE TABLE local_ledger (tx bigint)');
	foreach my $n (0 .. $cluster->nshards - 1)
	{
		$cluster->shard_sql($n,
				'CREATE TABLE ledger (tx bigint, shard int, account int,'
			  . ' amount int, seq int); CREATE TABLE hot (n int);'
			  . ' INSERT INTO hot VALUES (0)');
		$cluster->sql("CREATE FOREIGN TABLE ledger_$n PARTITION OF ledger"
			  . " FOR VALUES IN ($n) SERVER shard_$n"
			  . " OPTIONS (table_name 'ledger')");
		$cluster->sql("CREATE FOREIGN TABLE hot_$n (n int)"
			  . " SERVER shard_$n OPTIONS (table_name 'hot')");
	}
	return $self;
}

=pod

=item $soak->start

Starts the clients.

=item $soak->stop

Tells them to end after their transaction, and waits for it.

=cut

sub start
{
	my ($self) = @_;

	foreach my $client (1 .. $self->{nclients})
	{
		my $pid = fork() // croak "could not fork: $!";
		if ($pid == 0)
		{
			my $is_done = eval { $self->_run_client($client); 1 };
			print STDERR "client $client: $@" unless $is_done;
			POSIX::_exit($is_done ? 0 : 1);
		}
		push @{ $self->{pids} }, $pid;
	}
	return;
}

sub stop
{
	my ($self) = @_;
	my $failed = 0;

	append_to_file("$self->{dir}/stop", "stop\n");
	foreach my $pid (@{ $self->{pids} })
	{
		waitpid($pid, 0);
		$failed++ if $? != 0;
	}
	return $failed;
}

# ---- in the process of a client ----

sub _run_client
{
	my ($self, $client) = @_;
	my $parent = getppid();
	my $number = 0;

	srand($$ ^ int(time()));
	$self->{client} = $client;
	open($self->{record}, '>', "$self->{dir}/client_$client")
	  or croak "could not write: $!";
	$self->{record}->autoflush(1);
	until (-e "$self->{dir}/stop")
	{
		return if getppid() != $parent;
		$self->_connect or next;
		$self->_run_transaction($client * 10_000_000 + ++$number);
		$self->_disconnect if rand() < 0.05;
	}
	$self->_disconnect;
	return;
}

sub _connect
{
	my ($self) = @_;

	return 1 if $self->{session} && !$self->{session}->is_lost;
	my $node = $self->{cluster}->coordinator;
	my $session = ShardSession->try_connect(
		host => $node->host,
		port => $node->port,
		application_name => 'soak');
	if ($session->{error})
	{
		usleep(50_000);    # between two attempts to connect
		return 0;
	}
	$self->{session} = $session;
	return 0
	  unless $session->query("SET statement_timeout = '4s'")->is_ok
	  && $session->query("SET shard_fdw.commit_timeout = '2s'")->is_ok;
	return $self->_finish_user_prepared;
}

sub _disconnect
{
	my ($self) = @_;
	my $session = delete $self->{session} or return;
	$session->close;
	return;
}

# What was prepared here before the connection was lost locks rows.
sub _finish_user_prepared
{
	my ($self) = @_;
	my $answer = $self->{session}
	  ->query('SELECT gid FROM pg_prepared_xacts WHERE gid LIKE'
		  . " 'soak_$self->{client}_%'");
	return 0 unless $answer->is_ok;
	foreach my $gid (map { $_->[0] } @{ $answer->{rows} })
	{
		my ($tx) = $gid =~ /(\d+)$/;
		my $how = rand() < 0.5 ? 'COMMIT' : 'ROLLBACK';
		$answer = $self->{session}->query("$how PREPARED '$gid'");
		return 0 unless $answer->is_ok;
		$self->_record(
			tx => $tx,
			told => $how eq 'COMMIT' ? 'committed' : 'aborted');
	}
	return 1;
}

sub _record
{
	my ($self, %entry) = @_;
	print { $self->{record} } encode_json(\%entry), "\n";
	return;
}

sub _pick
{
	my (%weight) = @_;
	my $total = 0;
	$total += $_ foreach values %weight;
	my $at = rand($total);

	foreach my $key (sort keys %weight)
	{
		$at -= $weight{$key};
		return $key if $at < 0;
	}
	return (sort keys %weight)[0];
}

# The statements of a transaction before its end; rows are locked in the order
# of the shards, so that deadlocks are few.
sub _statements
{
	my ($self, $tx, $kind, @shards) = @_;
	my $cluster = $self->{cluster};
	my $amount = 1 + int(rand(5));
	my @amounts =
	    @shards == 3 ? ($amount, $amount, -2 * $amount)
	  : @shards == 2 ? ($amount, -$amount)
	  : (0) x @shards;
	my @sql = ("/* soak $tx */ BEGIN");

	foreach my $n (0 .. $#shards)
	{
		my $shard = $shards[$n];
		my $id = $cluster->id($shard, int(rand(10)));
		my $seq = 'NULL';
		if ($kind eq 'order')
		{
			push @sql, "UPDATE hot_$shard SET n = n + 1";
			$seq = "(SELECT n FROM hot_$shard)";
		}
		if ($kind eq 'savepoint')
		{
			push @sql, 'SAVEPOINT a',
			  "INSERT INTO ledger VALUES ($tx, $shard, $id, 1000, NULL)",
			  'ROLLBACK TO a';
		}
		push @sql,
		  "UPDATE accounts SET balance = balance + ($amounts[$n])"
		  . " WHERE id = $id"
		  if $amounts[$n];
		push @sql,
		  "INSERT INTO ledger VALUES ($tx, $shard, $id, $amounts[$n], $seq)";
		push @sql, "SELECT balance FROM accounts WHERE id = $id"
		  if rand() < 0.2;
	}
	push @sql, "INSERT INTO local_ledger VALUES ($tx)"
	  if $kind eq 'local_row';
	return @sql;
}

sub _pick_shards
{
	my ($self, $kind) = @_;
	my @all = 0 .. $self->{cluster}->nshards - 1;
	my %count = (one_shard => 1, three_shards => 3, order => scalar(@all));
	my $left = $count{$kind} // 2;

	while (@all > $left)
	{
		splice(@all, int(rand(@all)), 1);
	}
	return @all;
}

sub _run_transaction
{
	my ($self, $tx) = @_;
	my $kind = _pick(%kinds);
	my @shards = $self->_pick_shards($kind);
	my @sql = $self->_statements($tx, $kind, @shards);
	my @end = ('COMMIT');

	if ($kind eq 'autocommit')
	{
		@end = ('INSERT INTO ledger VALUES '
			  . join(', ', map { "($tx, $_, NULL, 0, NULL)" } @shards));
		@sql = ();
	}
	elsif ($kind eq 'user_prepare')
	{
		my $gid = "soak_$self->{client}_$tx";
		@end = ("PREPARE TRANSACTION '$gid'", "COMMIT PREPARED '$gid'");
	}
	my $told = $self->_run_statements(\@sql, \@end);
	$self->_record(
		tx => $tx,
		kind => $kind,
		shards => \@shards,
		told => $told,
		error => $self->{error});
	return;
}

# Runs all of it and says what the client may conclude.
sub _run_statements
{
	my ($self, $sql, $end) = @_;
	my $session = $self->{session};
	my $answer;

	$self->{error} = '';
	foreach my $statement (@$sql)
	{
		$answer = $session->query($statement, $answer_limit);
		next if $answer->is_ok;
		$self->{error} = $answer->describe;
		$session->query('ROLLBACK', $answer_limit) unless $session->is_lost;
		return 'aborted';
	}
	foreach my $statement (@$end)
	{
		$answer = $session->query($statement, $answer_limit);
		last unless $answer->is_ok;
	}
	$self->{error} = $answer->describe;
	return $answer->{tag} eq 'ROLLBACK' ? 'aborted' : 'committed'
	  if $answer->is_ok;
	return 'unknown' if $session->is_lost || $answer->sqlstate eq '08007';

	# a COMMIT PREPARED of the user's that fails has decided nothing
	if ($answer->{sql} =~ /^COMMIT PREPARED/)
	{
		$self->_disconnect;
		return 'unknown';
	}
	return 'aborted';
}

# ---- faults, in the process of the test ----

sub _coordinator_pid
{
	my ($self, $condition) = @_;
	return $self->{cluster}->sql('SELECT pid FROM pg_stat_activity'
		  . " WHERE $condition ORDER BY query LIKE 'COMMIT%' DESC, random()"
		  . ' LIMIT 1') || die "no such process\n";
}

sub _shard_pid
{
	my ($self, $shard) = @_;
	return $self->{cluster}->shard_sql($shard,
			"SELECT pid FROM pg_stat_activity WHERE backend_type ="
		  . " 'client backend' AND application_name <> 'shard_session'"
		  . " ORDER BY state = 'active' DESC, random() LIMIT 1")
	  || die "no such process\n";
}

sub _client_pid
{
	my ($self) = @_;
	return $self->_coordinator_pid("application_name = 'soak'");
}

# A rule that acts once, or a hold for a moment.
sub _break_message
{
	my ($self, $action) = @_;
	my $relay = $self->{cluster}->relay;
	my @messages = (
		'^PREPARE TRANSACTION',
		'^COMMIT PREPARED',
		'^COMMIT$',
		'^ROLLBACK PREPARED',
		'^BEGIN',
		'ledger',
		'pg_xact_status',
		'pg_prepared_xacts');
	my $rule = $relay->rule(
		match => $messages[ int(rand(@messages)) ],
		side => rand() < 0.5 ? 'request' : 'answer',
		action => $action);
	$rule->wait_fired(1);
	$self->watch(rand(3)) if $action =~ /hold|blackhole/;
	$relay->clear;
	$relay->heal if $action eq 'blackhole';
	return;
}

my %break = (
	'SIGKILL of a coordinator backend' => sub {
		my ($self) = @_;
		$self->{cluster}->kill_backend($self->_client_pid);
	},
	'SIGKILL of the recovery worker' => sub {
		my ($self) = @_;
		$self->{cluster}->kill_backend(
			$self->_coordinator_pid("backend_type LIKE 'shard_fdw%'"));
	},
	'SIGKILL of the coordinator postmaster' => sub {
		my ($self) = @_;
		$self->{cluster}->kill_coordinator;
		$self->{cluster}->restart_coordinator;
	},
	'loss of the whole coordinator' => sub {
		my ($self) = @_;
		$self->{cluster}->kill_server($self->{cluster}->coordinator);
		$self->{cluster}->restart_coordinator;
	},
	'cancel' => sub {
		my ($self) = @_;
		my $pid = $self->_client_pid;
		$self->{cluster}->sql("SELECT pg_cancel_backend($pid)");
	},
	'terminate' => sub {
		my ($self) = @_;
		my $pid = $self->_client_pid;
		$self->{cluster}->sql("SELECT pg_terminate_backend($pid)");
	},
	'SIGKILL of a shard backend' => sub {
		my ($self, $shard) = @_;
		$self->{cluster}->kill_backend($self->_shard_pid($shard),
			$self->{cluster}->shard($shard));
	},
	'immediate stop of a shard' => sub {
		my ($self, $shard) = @_;
		$self->{cluster}->shard($shard)->stop('immediate');
		$self->watch(rand(3));
		$self->{cluster}->restart_shard($shard);
	},
	'shard connections cut' => sub {
		my ($self, $shard) = @_;
		$self->{cluster}->relay->cut("shard_$shard");
	},
	'shard connections reset' => sub {
		my ($self, $shard) = @_;
		$self->{cluster}->relay->reset("shard_$shard");
	},
	'network silent for a while' => sub {
		my ($self, $shard) = @_;
		$self->{cluster}->relay->partition("shard_$shard");
		$self->watch(rand(5));
		$self->{cluster}->relay->heal("shard_$shard");
	},
	(
		map {
			my $action = $_;
			("message: $action" => sub { $_[0]->_break_message($action) })
		} qw(cut reset blackhole hold)));

=pod

=item $soak->break_something

One fault at random, mended when it returns.  Returns its name, or undef when
there was nothing to break.

=cut

sub break_something
{
	my ($self) = @_;
	my @names = sort keys %break;
	my $name = $names[ int(rand(@names)) ];
	my $shard = int(rand($self->{cluster}->nshards));

	if (!eval { $break{$name}->($self, $shard); 1 })
	{
		# the process may have ended by itself
		return if $@ =~ /no such process|could not kill/i;
		die $@;
	}
	$self->{faults}{$name}++;
	return $name;
}

=pod

=item $soak->watch($seconds)

Looks at the transactions prepared on the shards for so long.

=cut

sub watch
{
	my ($self, $seconds) = @_;
	my $end = time() + $seconds;

	do
	{
		$self->_look($_) foreach 0 .. $self->{cluster}->nshards - 1;
		usleep(100_000);    # between two looks at the shards
	} while (time() < $end);
	return;
}

sub _look
{
	my ($self, $shard) = @_;
	my @gids = eval { $self->{cluster}->prepared_on($shard) };
	my $now = time();

	foreach my $gid (@gids)
	{
		my $seen = $self->{seen}{"$shard $gid"} //= { first => $now };
		$seen->{last} = $now;
	}
	return;
}

=pod

=item $soak->faults

How often each fault happened, as a hash.

=item $soak->in_doubt

How many branches stayed prepared for more than a second, and the longest time.

=cut

sub faults { my ($self) = @_; return %{ $self->{faults} }; }

sub in_doubt
{
	my ($self) = @_;
	my @times = sort { $b <=> $a }
	  grep { $_ > 1 }
	  map { $_->{last} - $_->{first} } values %{ $self->{seen} };
	return (scalar(@times), $times[0] // 0);
}

# ---- afterwards ----

=pod

=item $soak->transactions

What the clients were told, as hashes by C<tx>.

=item $soak->violations

Everything that must not be, as lines of text.

=back

=cut

sub transactions
{
	my ($self) = @_;
	my %transaction;

	foreach my $client (1 .. $self->{nclients})
	{
		foreach
		  my $line (split(/\n/, slurp_file("$self->{dir}/client_$client")))
		{
			my $entry = decode_json($line);
			my $tx = $entry->{tx};
			$transaction{$tx} = { %{ $transaction{$tx} // {} }, %$entry };
		}
	}
	return %transaction;
}

sub _ledger
{
	my ($self) = @_;
	my $cluster = $self->{cluster};
	my %ledger;

	foreach my $n (0 .. $cluster->nshards - 1)
	{
		my $rows = $cluster->shard_sql($n, 'SELECT tx, seq FROM ledger');
		foreach my $row (split(/\n/, $rows))
		{
			my ($tx, $seq) = split(/\|/, $row);
			push @{ $ledger{$tx}{$n} }, $seq // '';
		}
	}
	return %ledger;
}

sub violations
{
	my ($self) = @_;
	my $cluster = $self->{cluster};
	my %ledger = $self->_ledger;
	my %is_local = map { $_ => 1 }
	  split(/\n/, $cluster->sql('SELECT tx FROM local_ledger'));
	my %transaction = $self->transactions;
	my @bad;

	foreach my $tx (sort { $a <=> $b } keys %transaction)
	{
		my $entry = $transaction{$tx};
		my $problem = _judge($entry, $ledger{$tx} // {}, $is_local{$tx});
		push @bad, "transaction $tx ($entry->{kind}): $problem; client:"
		  . " $entry->{told} $entry->{error}"
		  if $problem;
	}
	push @bad, map { "transaction $_ is nobody's" }
	  grep { !$transaction{$_} } keys %ledger;
	foreach my $n (0 .. $cluster->nshards - 1)
	{
		my $wrong = $cluster->shard_sql($n,
			    'SELECT a.id FROM accounts a LEFT JOIN ledger l'
			  . ' ON a.id = l.account GROUP BY a.id, a.balance'
			  . ' HAVING a.balance <> 100 + coalesce(sum(l.amount), 0)');
		push @bad, "shard $n: accounts and ledger differ: $wrong" if $wrong;
	}
	return @bad;
}

# What is wrong with a transaction; '' if nothing is.
sub _judge
{
	my ($entry, $found, $is_local) = @_;
	my @shards = @{ $entry->{shards} };
	my @present = grep { $found->{$_} } @shards;
	my %seq = map { $_ => 1 } map { @$_ } values %$found;

	return 'rows on other shards' if keys %$found != @present;
	return 'more than one row on a shard'
	  if grep { @$_ > 1 } values %$found;
	return 'HALF, only on ' . join(', ', @present)
	  if @present && @present < @shards;
	return 'HALF, the coordinator differs from the shards'
	  if $entry->{kind} eq 'local_row' && !$is_local != !@present;
	return 'another order on another shard: ' . join(', ', sort keys %seq)
	  if keys %seq > 1;
	return 'LOST' if $entry->{told} eq 'committed' && !@present;
	return 'committed in spite of the error'
	  if $entry->{told} eq 'aborted' && @present;
	return '';
}

1;
