
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Atomicity - what is left of a transaction that fails at the end

=head1 DESCRIPTION

A transaction inserts a row on each of two shards.  Then a shard refuses at
COMMIT, or ends the session before, or the session on the coordinator is ended
in the middle.  Both shards are asked what they have, for shard_fdw after its
worker has settled what was left.

=cut

package Bench::Table::Atomicity;

use strict;
use warnings;

use Bench::Servers;
use Carp;
use Time::HiRes qw(time usleep);

my %way = (
	ours => 'shard_fdw',
	plain => 'postgres_fdw, defaults',
	best => 'postgres_fdw');

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless { run => $run, result => $result }, $class;

	$self->_create;
	$self->_refused;
	$self->_lost_shard;
	$self->_lost_coordinator;
	$self->_user_prepare;
	$self->_readers;
	$self->{servers}->stop;
	$self->_target;
	return;
}

sub _title
{
	my ($tag) = @_;
	return $tag eq 'best' ? 'postgres_fdw, parallel_commit' : $way{$tag};
}

# Table t: odd keys are on shard 1, even ones on shard 0.
sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} = Bench::Servers->far($self->{run}, 2);
	my $cluster = $servers->cluster;

	foreach my $n (0, 1)
	{
		$cluster->shard_sql($n, <<~'SQL');
			CREATE TABLE t (k int4, part int4, refuse bool);
			CREATE TABLE account (id int4 PRIMARY KEY, part int4, balance int4);
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					IF NEW.refuse THEN RAISE 'refused at commit'; END IF;
					RETURN NULL;
				END $$;
			CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON t
				DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION refuse();
			SQL
		$cluster->shard_sql($n,
			"INSERT INTO account SELECT i, $n, 1000"
			  . " FROM generate_series(1, 20) i");
	}
	foreach my $tag (sort keys %way)
	{
		my $schema = $servers->make_servers($way{$tag});
		my %columns = (
			t => 'k int4, part int4, refuse bool',
			account => 'id int4, part int4, balance int4');
		foreach my $name (sort keys %columns)
		{
			$cluster->sql("CREATE TABLE $schema.$name ($columns{$name})"
				  . ' PARTITION BY LIST (part)');
			$cluster->sql("CREATE FOREIGN TABLE $schema.${name}_$_"
				  . " PARTITION OF $schema.$name FOR VALUES IN ($_)"
				  . " SERVER ${schema}_$_ OPTIONS (schema_name 'public',"
				  . " table_name '$name')")
			  foreach 0, 1;
		}
	}
	return;
}

# A transaction up to its COMMIT; returns session and key.
sub _start
{
	my ($self, $tag, $order, $refusing) = @_;
	my $session = $self->{servers}->session($way{$tag});
	my $key = ++$self->{key};

	$session->safe('BEGIN');
	foreach my $part (@$order)
	{
		my $refuse = defined $refusing && $refusing == $part ? 'true' : 'false';
		$session->safe("INSERT INTO t VALUES ($key, $part, $refuse)");
	}
	return ($session, $key);
}

# What is there, and what the client was told: columns of a row.
sub _outcome
{
	my ($self, $tag, $key, $answer) = @_;
	my $cluster = $self->{servers}->cluster;

	if ($tag eq 'ours')
	{
		defined $cluster->wait_settled(60) or croak 'not settled';
	}
	else
	{
		# a session on a shard whose coordinator's was ended may still commit
		$cluster->wait_until(
			sub {
				!grep {
					$cluster->shard_sql($_,
						    'SELECT count(*) FROM pg_stat_activity'
						  . " WHERE application_name = 'postgres_fdw'"
						  . ' AND datname = current_database()')
				} 0, 1;
			},
			10);
	}
	my @rows = map {
		$cluster->shard_sql($_, "SELECT count(*) FROM t WHERE k = $key")
		  ? 'kept'
		  : 'none'
	} 0, 1;
	my $told =
		$answer->is_ok ? 'success'
	  : $answer->{is_lost} || $answer->sqlstate =~ /^57P/ ? 'connection lost'
	  : 'an error';
	my $is_right = $rows[0] eq $rows[1]
	  && ( $told eq 'success' ? $rows[0] eq 'kept'
		: $told eq 'an error' ? $rows[0] eq 'none'
		: 1);

	$self->{cases}{$tag}++;
	$self->{broken}{$tag}++ unless $is_right;
	return ($told, @rows, $is_right ? 'yes' : 'NO');
}

my @columns =
  ('client sees', 'row on shard 0', 'row on shard 1', 'all or nothing');

sub _refused
{
	my ($self) = @_;
	my @rows;
	foreach my $order ([ 0, 1 ], [ 1, 0 ])
	{
		foreach my $tag (qw(ours plain best))
		{
			foreach my $refusing (undef, 0, 1)
			{
				my ($session, $key) =
				  $self->_start($tag, $order, $refusing);
				my $answer = $session->query('COMMIT');
				$session->close;
				push @rows,
				  [
					_title($tag), $refusing // 'none (control)',
					"$order->[0] then $order->[1]",
					$self->_outcome($tag, $key, $answer)
				  ];
			}
		}
	}
	$self->{result}->table('A deferred trigger of a shard refuses at commit',
		[ 'configuration', 'refusing shard', 'inserted', @columns ], \@rows);
	$self->{run}->progress('  refused at commit');
	return;
}

sub _lost_shard
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my @rows;

	foreach my $order ([ 0, 1 ], [ 1, 0 ])
	{
		foreach my $tag (qw(ours plain best))
		{
			foreach my $lost (0, 1)
			{
				my ($session, $key) = $self->_start($tag, $order);
				$cluster->shard_sql($lost,
					    'SELECT pg_terminate_backend(pid, 10000)'
					  . ' FROM pg_stat_activity WHERE datname ='
					  . ' current_database() AND xact_start IS NOT NULL'
					  . ' AND pid <> pg_backend_pid()');
				my $answer = $session->query('COMMIT');
				$session->close;
				push @rows,
				  [
					_title($tag), $lost,
					"$order->[0] then $order->[1]",
					$self->_outcome($tag, $key, $answer)
				  ];
			}
		}
	}
	$self->{result}->table('A shard ends the session before COMMIT',
		[ 'configuration', 'lost shard', 'inserted', @columns ], \@rows);
	$self->{run}->progress('  lost shard');
	return;
}

sub _lost_coordinator
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my @rows;

	foreach my $tag (qw(ours plain best))
	{
		foreach my $after (0.15, 0.35, 0.55)
		{
			my ($session, $key) = $self->_start($tag, [ 0, 1 ]);
			$self->{servers}->relay->set(100);
			$session->send('COMMIT');
			if (!$session->is_done($after))
			{
				$cluster->sql('SELECT pg_terminate_backend('
					  . $session->pid
					  . ', 10000)');
			}
			my $answer = $session->finish;
			$session->close;
			$self->{servers}->relay->set(0);
			push @rows,
			  [
				_title($tag), $after * 1000 . ' ms',
				$self->_outcome($tag, $key, $answer)
			  ];
		}
	}
	$self->{result}->table(
		'The session on the coordinator is ended during COMMIT'
		  . ' (100 ms each way)',
		[ 'configuration', 'ended after', @columns ], \@rows);
	$self->{run}->progress('  lost coordinator');
	return;
}

sub _user_prepare
{
	my ($self) = @_;
	my @rows;
	foreach my $tag (qw(ours best))
	{
		my ($session) = $self->_start($tag, [ 0, 1 ]);
		my $answer = $session->query("PREPARE TRANSACTION 'bench'");
		$session->safe("COMMIT PREPARED 'bench'") if $answer->is_ok;
		$session->close;
		push @rows,
		  [ $way{$tag}, $answer->is_ok ? 'works' : $answer->message ];
	}
	$self->{result}->table('PREPARE TRANSACTION on the coordinator',
		[ 'configuration', 'answer' ], \@rows);
	return;
}

# Transfers between the shards by one session, and the total read by another.
sub _readers
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my $seconds = $self->{run}->pick(5, 1);
	my @rows;

	$self->{servers}->relay->set(1);
	foreach my $tag (qw(ours plain best))
	{
		my ($reader, $writer) =
		  map { $self->{servers}->session($way{$tag}) } 1, 2;
		my ($transfers, $reads, $wrong) = (0, 0, 0);
		my $end = time() + $seconds;
		my $transfer =
			'BEGIN; UPDATE account SET balance = balance - 1 WHERE id = 1'
		  . ' AND part = 0; UPDATE account SET balance = balance + 1'
		  . ' WHERE id = 1 AND part = 1; COMMIT';
		$reader->safe('SELECT sum(balance) FROM account');
		while (time() < $end)
		{
			$writer->send($transfer);
			do
			{
				$reads++;
				$wrong++
				  if $reader->safe('SELECT sum(balance) FROM account') != 40000;
			} until $writer->is_done;
			croak 'a transfer failed' unless $writer->finish->is_ok;
			$transfers++;
		}
		$_->close foreach $reader, $writer;
		$cluster->wait_settled(60) if $tag eq 'ours';
		my $total = 0;
		$total += $cluster->shard_sql($_, 'SELECT sum(balance) FROM account')
		  foreach 0, 1;
		push @rows,
		  [
			_title($tag), $transfers, $reads, $wrong,
			$total == 40000 ? 'yes' : 'NO'
		  ];
	}
	$self->{servers}->relay->set(0);
	$self->{result}->table(
		'One SELECT over both shards beside transfers between them'
		  . ' (1 ms each way)',
		[
			'configuration', 'transfers', 'reads',
			'reads with a wrong total', 'total right at the end'
		],
		\@rows);
	$self->{run}->progress('  readers beside transfers');
	return;
}

sub _target
{
	my ($self) = @_;
	$self->{result}->target(
		'transactions of two shards that fail at the end',
		'all or nothing, as the client was told',
		sprintf('%d of %d right (postgres_fdw: %d of %d)',
			map { ($self->{cases}{$_} - ($self->{broken}{$_} // 0),
				  $self->{cases}{$_}) } qw(ours best)),
		!$self->{broken}{ours});
	return;
}

1;
