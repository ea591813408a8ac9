
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardMatrix - every message of the protocol, broken in every way

=head1 SYNOPSIS

  my $matrix = ShardMatrix->new($cluster);
  foreach my $case (ShardMatrix::cases())
  {
      my $result = $matrix->run($case);
      ok(!@{ $result->{problems} }, $case->{name}) if $result->{is_reached};
  }

=head1 DESCRIPTION

A case is a message, the side on which it is met (before it arrives, or after
it took effect but before its answer arrives), a fault, and the shape of the
transaction.  The message is held at the relay, the fault happens, everything
is mended, and then the oracles are asked.  One cluster of three shards serves
for all cases.

=cut

package ShardMatrix;

use strict;
use warnings;

use Carp;
use Time::HiRes qw(time);

# The shard whose messages are broken.
use constant VICTIM => 1;

# limits in seconds; the machine may be busy
use constant {
	ANSWER_LIMIT => 10,
	CANCEL_LIMIT => 1,
	SETTLE_LIMIT => 10,
	SESSION_LIMIT => 5,
};

my @two_phase = qw(two three reader local savepoint procedure user_prepare
  user_rollback);
my @one_phase = qw(single single_reader single_savepoint single_procedure);
my @writing = (@two_phase, 'single');

# The messages of doc/commit-protocol.md: how the relay knows them, and the
# transactions in which they are sent.
my @messages = (
	{ name => 'connect', on => 'connect', shapes => [qw(two single)] },
	{ name => 'startup', on => 'startup', shapes => [qw(two single)] },
	{
		name => 'lock of the incarnation',
		match => 'pg_advisory_lock_shared',
		shapes => [qw(two single copy)],
	},
	{ name => 'BEGIN', match => '^BEGIN', shapes => \@writing },
	{ name => 'statement', match => '^UPDATE', shapes => \@writing },
	{
		name => 'question for the xid',
		match => 'pg_current_xact_id_if_assigned',
		shapes => \@writing,
	},
	{ name => 'COPY data', on => 'copydata', shapes => ['copy'] },
	{ name => 'COPY end', on => 'copydone', shapes => ['copy'] },
	{ name => 'SAVEPOINT', match => '^SAVEPOINT', shapes => ['savepoint'] },
	{ name => 'RELEASE', match => '^RELEASE', shapes => ['savepoint'] },
	{
		name => 'ROLLBACK TO',
		match => '^ROLLBACK TO',
		shapes => ['savepoint'],
	},
	{
		name => 'PREPARE',
		match => '^PREPARE TRANSACTION',
		shapes => [ @two_phase, 'copy' ],
	},
	{
		name => 'COMMIT PREPARED',
		match => '^COMMIT PREPARED',
		shapes => [ @two_phase, 'copy' ],
	},
	{
		name => 'ROLLBACK PREPARED',
		match => '^ROLLBACK PREPARED',
		shapes => [
			qw(refused refused_three refused_local refused_savepoint
			  refused_procedure refused_user)
		],
	},
	{ name => 'ROLLBACK', match => '^ROLLBACK$', shapes => ['rollback'] },
	{
		name => 'COMMIT (one-phase)',
		match => '^COMMIT$',
		shapes => \@one_phase,
	},
	{
		name => 'COMMIT (reader)',
		match => '^COMMIT$',
		route => 2,
		shapes => ['reader'],
	},
	{
		name => 'connect (recovery)',
		on => 'connect',
		nth => 2,
		shapes => [qw(lost_commit lost_prepare)],
		is_recovery => 1,
	},
	{
		name => 'startup (recovery)',
		on => 'startup',
		nth => 2,
		shapes => [qw(lost_commit lost_prepare)],
		is_recovery => 1,
	},
	{
		name => 'lock (recovery)',
		match => 'pg_try_advisory_lock',
		shapes => [qw(lost_commit lost_prepare)],
		is_recovery => 1,
	},
	{
		name => 'list (recovery)',
		match => 'FROM pg_catalog.pg_prepared_xacts',
		shapes => [qw(lost_commit lost_prepare)],
		is_recovery => 1,
	},
	{
		name => 'COMMIT PREPARED (recovery)',
		match => '^COMMIT PREPARED',
		nth => 2,
		shapes => [qw(lost_commit lost_commit_three lost_commit_local)],
		is_recovery => 1,
	},
	{
		name => 'ROLLBACK PREPARED (recovery)',
		match => '^ROLLBACK PREPARED',
		shapes => [qw(lost_prepare lost_prepare_three lost_prepare_local)],
		is_recovery => 1,
	},
	{
		name => 'question for the state (recovery)',
		match => 'pg_xact_status',
		shapes => [qw(lost_answer lost_answer_three)],
		is_recovery => 1,
	},
	{
		name => 'unlock (recovery)',
		match => 'pg_advisory_unlock',
		shapes => [qw(lost_commit lost_prepare)],
		is_recovery => 1,
	});

my @sides = qw(request answer);
my @faults = (
	'cut',
	'reset',
	'black hole',
	'coordinator backend killed',
	'coordinator postmaster killed',
	'shard backend killed',
	'shard stopped',
	'cancel',
	'terminate',
	'statement_timeout');

# What is lost on the way first, for recovery to have something to do.
my %prelude = (
	lost_commit => [ '^COMMIT PREPARED', 'request' ],
	lost_answer => [ '^COMMIT PREPARED', 'answer' ],
	lost_prepare => [ '^PREPARE TRANSACTION', 'answer' ]);

=pod

=head1 METHODS

=over

=item ShardMatrix::cases

All cases, as hashes; C<skip> is the reason why one cannot be run.

=item ShardMatrix::covering_cases

A part of them that has every message on both sides, and every fault and
shape.

=cut

sub _case
{
	my ($message, $side, $fault, $shape) = @_;
	my %case = (
		message => $message,
		side => $side,
		fault => $fault,
		shape => $shape,
		name => "$message->{name}, "
		  . ($side eq 'request' ? 'before it' : 'before its answer')
		  . ": $fault ($shape)");

	$case{skip} = 'has no answer of its own'
	  if $side eq 'answer' && $message->{name} =~ /^(connect\b|COPY )/;
	$case{skip} = 'does not apply to recovery'
	  if $message->{is_recovery} && $fault eq 'statement_timeout';
	return \%case;
}

sub cases
{
	my @cases;
	foreach my $message (@messages)
	{
		foreach my $side (@sides)
		{
			foreach my $fault (@faults)
			{
				push @cases, _case($message, $side, $fault, $_)
				  foreach @{ $message->{shapes} };
			}
		}
	}
	return @cases;
}

sub covering_cases
{
	my @cases;
	my $k = 0;
	foreach my $message (@messages)
	{
		foreach my $side (@sides)
		{
			my @shapes = @{ $message->{shapes} };
			my $case = _case(
				$message, $side,
				$faults[ $k * 3 % @faults ],
				$shapes[ $k % @shapes ]);
			$k++;
			push @cases, $case unless $case->{skip};
		}
	}
	return @cases;
}

=pod

=item ShardMatrix->new($cluster)

Makes the tables and a prepared transaction of somebody else on each shard.

=cut

sub new
{
	my ($class, $cluster) = @_;
	my $self = bless { cluster => $cluster, number => 0 }, $class;

	$cluster->create_accounts;
	$cluster->sql('CREATE TABLE local_note (n int)');
	$cluster->sql('CREATE TABLE bulk (tx int, shard int, n int, pad text)'
		  . ' PARTITION BY LIST (shard)');
	foreach my $n (0 .. $cluster->nshards - 1)
	{
		$cluster->shard_sql($n,
			'CREATE TABLE bulk (tx int, shard int, n int, pad text)');
		$cluster->sql("CREATE FOREIGN TABLE bulk_$n PARTITION OF bulk"
			  . " FOR VALUES IN ($n) SERVER shard_$n"
			  . " OPTIONS (table_name 'bulk')");
		$cluster->shard_sql($n, 'CREATE TABLE app (n int)');
		$cluster->shard_sql($n,
				'BEGIN; INSERT INTO app VALUES (1);'
			  . " PREPARE TRANSACTION 'application_$n'");
	}
	$cluster->sql('CREATE PROCEDURE move(a int, b int) LANGUAGE plpgsql AS'
		  . ' $$BEGIN'
		  . ' UPDATE accounts SET balance = balance - 10 WHERE id = a;'
		  . ' UPDATE accounts SET balance = balance + 10 WHERE id = b;'
		  . ' COMMIT; END$$');
	return $self;
}

# ---- shapes ----

sub _update
{
	my ($self, $shard, $amount, $k) = @_;
	my $id = $self->{cluster}->id($shard, $k);

	$self->{expected}{$id} += $amount;
	return "UPDATE accounts SET balance = balance + ($amount) WHERE id = $id";
}

# The statements of a shape; they say in {expected} what they change.
sub _statements
{
	my ($self, $shape) = @_;
	my $cluster = $self->{cluster};
	my $tx = $self->{number};

	$self->{expected} = {};
	$self->{copied} = 0;
	if ($shape =~ /procedure/)
	{
		my @at = $shape =~ /^single/ ? ([ 1, 0 ], [ 1, 1 ]) : ([ 0, 0 ], [ 1, 0 ]);
		$self->_update($at[0][0], -10, $at[0][1]);
		$self->_update($at[1][0], 10, $at[1][1]);
		return 'CALL move(' . join(', ', map { $cluster->id(@$_) } @at) . ')';
	}
	if ($shape =~ /^single/)
	{
		my @sql = ('BEGIN', $self->_update(1, -10, 0));
		push @sql, 'SELECT count(*) FROM accounts_2' if $shape =~ /reader/;
		push @sql, 'SAVEPOINT a' if $shape =~ /savepoint/;
		push @sql, $self->_update(1, 10, 1);
		push @sql, 'RELEASE a' if $shape =~ /savepoint/;
		return (@sql, 'COMMIT');
	}
	if ($shape eq 'copy')
	{
		# COPY comes after some rows by INSERT
		$self->{copied} = 5000;
		return ('BEGIN',
			    "INSERT INTO bulk SELECT $tx, shard, n, repeat('x', 100) FROM"
			  . ' generate_series(1, 5000) n, generate_series(0, 1) shard',
			'COMMIT');
	}
	my $is_three = $shape =~ /three/;
	my @sql = ('BEGIN');
	push @sql, "INSERT INTO local_note VALUES ($tx)" if $shape =~ /local/;
	push @sql, 'SELECT count(*) FROM accounts_2' if $shape =~ /reader/;
	push @sql, $self->_update(0, $is_three ? -20 : -10);
	push @sql, 'SAVEPOINT a',
	  'UPDATE accounts SET balance = 0 WHERE id = ' . $cluster->id(1, 2),
	  'ROLLBACK TO a', 'SAVEPOINT b'
	  if $shape =~ /savepoint/;
	push @sql, $self->_update(1, 10);
	push @sql, 'RELEASE b',
	  'SELECT balance FROM accounts WHERE id = ' . $cluster->id(1)
	  if $shape =~ /savepoint/;
	push @sql, $self->_update(2, 10) if $is_three;
	return (@sql, "PREPARE TRANSACTION 'user_$tx'",
		($shape =~ /rollback/ ? 'ROLLBACK' : 'COMMIT') . " PREPARED 'user_$tx'")
	  if $shape =~ /user/;
	return (@sql, $shape eq 'rollback' ? 'ROLLBACK' : 'COMMIT');
}

# Is what the statements change there?  all, none or HALF
sub _outcome
{
	my ($self, $case) = @_;
	my $cluster = $self->{cluster};
	my $now = $cluster->balances;
	my $tx = $self->{number};
	my %is;

	foreach my $id (keys %{ $self->{expected} })
	{
		my $change = $now->{$id} - $self->{before}{$id};
		my $expected = $self->{expected}{$id};
		$is{ $change == $expected ? 'all' : $change == 0 ? 'none' : 'HALF' }++;
	}
	foreach my $n ($self->{copied} ? (0, 1) : ())
	{
		my $count = $cluster->shard_sql($n,
			"SELECT count(*) FROM bulk WHERE tx = $tx");
		$is{ $count == $self->{copied} ? 'all' : $count ? 'HALF' : 'none' }++;
	}
	if ($case->{shape} =~ /local/)
	{
		my $sql = "SELECT count(*) FROM local_note WHERE n = $tx";
		$is{ $cluster->sql($sql) ? 'all' : 'none' }++;
	}
	return keys %is == 1 ? (keys %is)[0] : 'HALF';
}

# ---- faults ----

# Each is called when the message stands at the relay.  is_down: to be mended
# before the client is asked for its answer.
sub _break
{
	my ($self, $case, $rule) = @_;
	my $cluster = $self->{cluster};
	my $fault = $case->{fault};
	my $shard = $case->{message}{route} // VICTIM;

	if ($fault eq 'cut') { $rule->discard; }
	elsif ($fault eq 'reset') { $rule->discard_reset; }
	elsif ($fault eq 'coordinator backend killed')
	{
		$cluster->kill_backend($self->_victim_pid($case));
		$self->_let_go($rule);
	}
	elsif ($fault eq 'coordinator postmaster killed')
	{
		$cluster->kill_coordinator;
		$self->_let_go($rule);
		$cluster->restart_coordinator;
	}
	elsif ($fault eq 'shard backend killed')
	{
		my $pid = $cluster->shard_sql($shard,
				'SELECT pid FROM pg_stat_activity WHERE backend_type ='
			  . " 'client backend' AND application_name <> 'shard_session'"
			  . " ORDER BY state = 'active' DESC, backend_start DESC LIMIT 1");
		# before the startup packet there is none: any process will do
		$pid ||= $cluster->shard_sql($shard, 'SELECT pid FROM'
			  . " pg_stat_activity WHERE backend_type = 'checkpointer'");
		$cluster->kill_backend($pid, $cluster->shard($shard));
		$rule->discard;
	}
	elsif ($fault eq 'shard stopped')
	{
		$cluster->shard($shard)->stop('immediate');
		$rule->discard;
		$cluster->restart_shard($shard);
	}
	elsif ($fault eq 'cancel')
	{
		$self->_signal($case, 'pg_cancel_backend');
	}
	elsif ($fault eq 'terminate')
	{
		$self->_signal($case, 'pg_terminate_backend');
	}
	return;
}

# What is held still arrives, or is lost, by turns.
sub _let_go
{
	my ($self, $rule) = @_;
	if ($self->{number} % 2) { $rule->release; }
	else { $rule->discard; }
	return;
}

sub _victim_pid
{
	my ($self, $case) = @_;
	return $self->{session}->pid unless $case->{message}{is_recovery};
	return $self->{cluster}->sql('SELECT pid FROM pg_stat_activity'
		  . " WHERE backend_type LIKE 'shard_fdw%' AND datname = 'postgres'")
	  || croak 'there is no recovery worker';
}

sub _signal
{
	my ($self, $case, $function) = @_;
	my $pid = $self->_victim_pid($case);
	$self->{cluster}->sql("SELECT $function($pid)");
	return;
}

# ---- running a case ----

=pod

=item $matrix->run($case)

Returns a hash: C<is_reached>, and the C<problems> found, a list of texts.

=cut

sub run
{
	my ($self, $case) = @_;
	my $cluster = $self->{cluster};

	$self->{number}++;
	$self->{problems} = [];
	$self->{before} = $cluster->balances;
	$self->{session} = $cluster->session;
	$self->{session}->safe("SET statement_timeout = '1s'")
	  if $case->{fault} eq 'statement_timeout';
	my @sql = $self->_statements($case->{shape});
	my $rule = $self->_set_rules($case);
	my $told = $self->_drive($case, $rule, @sql);

	$self->_look_into_doubt if $self->{is_broken};
	$cluster->relay->clear;
	$cluster->relay->heal;
	$told = $self->_finish_user_prepared($told)
	  if $case->{shape} =~ /user/;
	$self->_judge($case, $told);
	$self->{session}->close;
	$self->_judge_sessions;
	$self->_judge_logs;
	return {
		is_reached => $self->{is_broken},
		problems => $self->{problems},
		told => $told,
	};
}

sub _problem
{
	my ($self, $text) = @_;
	push @{ $self->{problems} }, $text;
	return;
}

sub _set_rules
{
	my ($self, $case) = @_;
	my $relay = $self->{cluster}->relay;
	my $message = $case->{message};
	my ($prelude) = map { $prelude{$_} } $case->{shape} =~ /^(lost_[a-z]+)/;
	my %on = $message->{on} ? (on => $message->{on}) : ();
	my %match = $message->{match} ? (match => $message->{match}) : ();

	$relay->rule(
		route => 'shard_' . VICTIM,
		match => $prelude->[0],
		side => $prelude->[1],
		action => 'cut') if $prelude;
	$relay->rule(
		route => 'shard_0',
		on => 'parse',
		match => '^PREPARE TRANSACTION',
		action => 'replace',
		with => "PREPARE TRANSACTION 'application_0'") if $case->{shape} =~ /^refused/;
	return $relay->rule(
		route => 'shard_' . ($message->{route} // VICTIM),
		side => $case->{side},
		nth => $message->{nth} // 1,
		action => $case->{fault} eq 'black hole' ? 'blackhole' : 'hold',
		%on,
		%match);
}

# Runs the statements and the fault; returns what the client was told:
# committed, aborted or unknown.
sub _drive
{
	my ($self, $case, $rule, @sql) = @_;
	my $session = $self->{session};
	my $is_last;
	my $answer;

	$self->{is_broken} = 0;
	foreach my $sql (@sql)
	{
		$is_last = $sql =~ /^(COMMIT|ROLLBACK PREPARED|PREPARE|CALL)/;
		$session->send($sql);
		$self->{cluster}->wait_until(
			sub { $session->is_done(0.01) || $self->_is_due($rule) },
			ANSWER_LIMIT);
		my $start = time();
		if (!$session->{answer}{is_done} && $self->_is_due($rule))
		{
			$self->{is_broken} = 1;
			$self->_break($case, $rule);
			$start = time() unless $case->{fault} =~ /cancel|terminate/;
		}
		$answer = $self->_answer_in_time($case, $rule, $start);
		last unless $answer->is_ok;
	}

	# recovery, and what is not awaited, comes after the answer
	if (!$self->{is_broken} && $rule->wait_fired($self->_patience($case)))
	{
		$self->{is_broken} = 1;
		$self->_break($case, $rule)
		  unless $session->is_lost && !$case->{message}{is_recovery};
	}
	$self->{answer} = $answer;
	return 'aborted' if !$is_last || $answer->{tag} eq 'ROLLBACK';
	return 'committed' if $answer->is_ok;

	# a procedure may fail after the COMMIT in it; then a warning says so
	return 'committed'
	  if grep { $_->{message} =~ /^transaction is committed/ }
	  @{ $answer->{notices} };
	return 'unknown' if $session->is_lost || $answer->sqlstate eq '08007';
	return 'aborted';
}

sub _is_due
{
	my ($self, $rule) = @_;
	return !$self->{is_broken} && $rule->fired;
}

sub _patience
{
	my ($self, $case) = @_;
	return 20 if $case->{message}{is_recovery};
	return $case->{message}{name} eq 'COMMIT (reader)' ? 5 : 0.1;
}

sub _answer_in_time
{
	my ($self, $case, $rule, $start) = @_;
	my $session = $self->{session};
	my $message = $case->{message}{name};

	if (!$session->is_done(ANSWER_LIMIT))
	{
		$self->_problem("no answer to '$session->{answer}{sql}'");
		$self->{cluster}->relay->clear;
		$self->{cluster}->relay->heal;
	}
	my $answer = $session->finish(60);
	my $took = time() - $start;
	$self->_problem(sprintf('%s took %.1f s', $case->{fault}, $took))
	  if $self->{is_broken}
	  && $case->{fault} =~ /^(cancel|terminate)$/
	  && $message !~ /^(COMMIT|ROLLBACK)|recovery/
	  && $took > CANCEL_LIMIT;
	return $answer;
}

# The user's own prepared transaction may still be there.
sub _finish_user_prepared
{
	my ($self, $told) = @_;
	my $cluster = $self->{cluster};
	my $gid = "user_$self->{number}";
	my $is_prepared = $cluster->sql(
		"SELECT count(*) FROM pg_prepared_xacts WHERE gid = '$gid'");
	my $sql = $self->{answer}{sql};
	my $is_decided = $sql =~ /^COMMIT PREPARED/;
	my $is_given_up = $sql =~ /^ROLLBACK PREPARED/;

	if ($is_prepared)
	{
		my $how = $is_decided ? 'COMMIT' : 'ROLLBACK';
		$self->_problem('prepared in spite of the error')
		  if !$is_decided && !$is_given_up && $told eq 'aborted';
		my ($sqlstate, $message) = $cluster->sql_err("$how PREPARED '$gid'");
		$self->_problem("$how PREPARED: $sqlstate $message")
		  if $sqlstate ne '00000';
	}
	return $is_decided ? 'committed' : 'aborted';
}

# ---- oracles ----

# While the fault lasts the view has what is prepared on the shards, unless it
# says that it cannot reach one.  What it says of the outcome is kept and
# compared with it in the end.
sub _look_into_doubt
{
	my ($self) = @_;
	my $cluster = $self->{cluster};
	my %before = map { $_ => 1 } $cluster->prepared;
	my @rows = $cluster->in_doubt;
	my %is_seen = map { ("$_->{server} " . ($_->{gid} // '')) => 1 } @rows;

	foreach my $branch (grep { $before{$_} && / sfdw1_/ } $cluster->prepared)
	{
		my ($server) = split(/ /, $branch);
		next if $is_seen{$branch};
		next if grep { $_->{server} eq $server && $_->{state} eq 'not reachable' }
		  @rows;
		$self->_problem("in_doubt does not have $branch");
	}
	$self->{said} = { map { $_->{state} => 1 } @rows };
	return;
}

sub _judge_what_was_said
{
	my ($self, $outcome) = @_;
	my $said = delete $self->{said} // {};

	$self->_problem("$outcome, but in_doubt said: commit pending")
	  if $said->{'commit pending'} && $outcome ne 'all';
	$self->_problem("$outcome, but in_doubt said: abort pending")
	  if $said->{'abort pending'} && $outcome ne 'none';
	$self->_problem('in_doubt said: lost') if $said->{lost};
	return;
}

# With the client gone, no session on a shard is at work or in a transaction,
# and none holds or waits for locks but the worker's, which holds its own.
sub _judge_sessions
{
	my ($self) = @_;
	my $cluster = $self->{cluster};

	foreach my $n (0 .. $cluster->nshards - 1)
	{
		my $left;
		my $sql = 'SELECT pid, state, query, (SELECT count(*) FROM pg_locks l'
		  . " WHERE l.pid = a.pid AND locktype <> 'advisory')"
		  . ' FROM pg_stat_activity a'
		  . " WHERE backend_type = 'client backend'"
		  . " AND application_name <> 'shard_session'"
		  . " AND (state IS DISTINCT FROM 'idle' OR EXISTS (SELECT FROM"
		  . ' pg_locks l WHERE l.pid = a.pid AND'
		  . " (NOT granted OR locktype <> 'advisory')))";
		$cluster->wait_until(
			sub { ($left = $cluster->shard_sql($n, $sql)) eq '' },
			SESSION_LIMIT);
		$self->_problem("shard $n: left: $left") if $left ne '';
	}
	return;
}

# What the servers have logged since the last case.
sub _judge_logs
{
	my ($self) = @_;
	my $cluster = $self->{cluster};

	foreach my $node ($cluster->coordinator,
		map { $cluster->shard($_) } 0 .. $cluster->nshards - 1)
	{
		open(my $fh, '<', $node->logfile) or next;
		seek($fh, $self->{log_position}{ $node->name } // 0, 0);
		while (my $line = <$fh>)
		{
			$self->_problem($node->name . ": $line")
			  if $line =~ /PANIC|TRAP:|terminated by signal (?!9\b)
				  |\bleak|stack\ depth/x;
		}
		$self->{log_position}{ $node->name } = tell($fh);
	}
	return;
}

sub _judge
{
	my ($self, $case, $told) = @_;
	my $cluster = $self->{cluster};
	my $answer = $self->{answer};

	if (!defined $cluster->wait_settled(SETTLE_LIMIT))
	{
		$self->_problem('not settled: '
			  . join(', ', $cluster->prepared)
			  . '; log rows: '
			  . $cluster->log_rows);
		$cluster->sql('SELECT FROM shard_fdw.resolve()');
		$cluster->wait_settled(60);
	}
	my @doubt = $cluster->in_doubt;
	$self->_problem('in_doubt has ' . scalar(@doubt) . ' rows') if @doubt;

	# what was sent and is not awaited may still be on its way
	my $outcome;
	my %expected =
	  (committed => qr/^all$/, aborted => qr/^none$/, unknown => qr/^(all|none)$/);
	$cluster->wait_until(
		sub {
			$outcome = $self->_outcome($case);
			return $outcome =~ $expected{$told};
		},
		$told eq 'unknown' ? 5 : 0);
	$self->_problem("$outcome, but the client was told: $told")
	  if $outcome !~ $expected{$told};
	$self->_judge_what_was_said($outcome);
	$self->_judge_status($outcome) if $answer->sqlstate eq '08007';
	$self->_judge_session;
	foreach my $n (0 .. $cluster->nshards - 1)
	{
		$self->_problem("shard $n: a transaction of others is gone")
		  unless grep { $_ eq "application_$n" } $cluster->prepared_on($n);
	}
	$self->_problem('client: ' . $answer->describe) if @{ $self->{problems} };
	return;
}

# transaction_status() tells the truth, or, after a restart, nothing.
sub _judge_status
{
	my ($self, $outcome) = @_;
	my ($token) = $self->{answer}->hint =~ /transaction_status\('([^']+)'\)/;

	return $self->_problem('08007 without a token') unless $token;
	my $status;
	$self->{cluster}->wait_until(
		sub {
			$status = $self->{cluster}
			  ->sql("SELECT shard_fdw.transaction_status('$token')");
			return $status ne 'in progress';
		},
		10);
	my $truth = $outcome eq 'all' ? 'committed' : 'aborted';
	$self->_problem("transaction_status: $status, but it is $truth")
	  if $status ne $truth && $status ne 'unknown';
	return;
}

# The session goes on, if it has survived.
sub _judge_session
{
	my ($self) = @_;
	my $session = $self->{session};

	return if $session->is_lost || !$session->query('')->is_ok;
	$session->query('ROLLBACK');
	my $answer = $session->query('SELECT count(*) FROM accounts', 60);
	$self->_problem('the session does not go on: ' . $answer->describe)
	  if !$answer->is_ok;
	return;
}

=pod

=back

=cut

1;
