
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

Bench::Table::Throughput - short transactions of 1, 4 and 16 clients

=head1 DESCRIPTION

pgbench beside the coordinator, in simple and in prepared mode.  After each run
it is checked that the shards have as many changes as pgbench counted.

For transfers there is a fifth way, a two-phase commit as it can be had with what
PostgreSQL brings along: functions on the coordinator that speak to the shards
through dblink, one statement after another as postgres_fdw does.  The client
calls one for each of the changes, as it sends an UPDATE for each in the other
ways, and one that writes the decision to a table and commits it between PREPARE
TRANSACTION and COMMIT PREPARED.  It never cleans that table, and has no recovery.

=cut

package Bench::Table::Throughput;

use strict;
use warnings;

use Bench::Numbers qw(median spread ratio);
use Bench::Psql;
use Bench::Servers;
use Carp;
use PostgreSQL::Test::Utils;

use constant NSHARDS => 4;

my @workloads = (
	{
		name => 'SELECT by key',
		tag => 'select',
		ways => [qw(ours best direct)],
		script => "\\set k random(1, :rows)\n"
		  . "SELECT * FROM orders WHERE user_id = :k;\n"
	},
	{
		name => 'UPDATE by key',
		tag => 'update',
		ways => [qw(ours best direct)],
		script => "\\set k random(1, :rows)\n"
		  . "UPDATE orders SET hits = hits + 1 WHERE user_id = :k;\n"
	},
	{
		name => 'INSERT by key',
		tag => 'insert',
		ways => [qw(ours best direct)],
		script => "\\set k random(1, 1000000000000)\n"
		  . "INSERT INTO events VALUES (:k, 'note', 1);\n"
	},
	{
		name => 'transfer between two shards',
		tag => 'transfer',
		ways => [qw(ours best plain serial direct)],

		# always the lower shard first: nobody detects deadlocks over shards
		script => "\\set a random(0, 2)\n\\set b random(:a + 1, 3)\n"
		  . "\\set from :a * :part + random(1, :part)\n"
		  . "\\set to :b * :part + random(1, :part)\n"
		  . "\\set amount random(-10, 10)\n"
	});
my $transfer = "BEGIN;\n"
  . "UPDATE account SET balance = balance - :amount, hits = hits + 1"
  . " WHERE id = :from;\n"
  . "UPDATE account SET balance = balance + :amount, hits = hits + 1"
  . " WHERE id = :to;\nCOMMIT;\n";
my $serial_transfer = "SELECT public.add(:from, 0 - :amount);\n"
  . "SELECT public.add(:to, :amount);\nCALL public.finish(:from, :to);\n";

my %title = (
	ours => 'shard_fdw',
	best => 'postgres_fdw',
	plain => 'postgres_fdw, defaults',
	serial => 'dblink, two-phase one by one',
	direct => 'one shard directly');

sub measure
{
	my ($class, $run, $result) = @_;
	my $self = bless {
		run => $run,
		result => $result,
		rows => $run->pick(200_000, 10_000),
		clients => $run->pick([ 1, 4, 16 ], [4]),
		modes => [qw(simple prepared)],
		seconds => $run->pick(3, 2),
	}, $class;

	$self->_create;
	foreach my $mode (@{ $self->{modes} })
	{
		foreach my $workload (@workloads)
		{
			$self->_measure_workload($mode, $workload, $_)
			  foreach @{ $self->{clients} };
		}
	}
	$self->{servers}->stop;
	$self->_report($_) foreach @{ $self->{modes} };
	$self->_report_targets;
	return;
}

# ---- tables -------------------------------------------------------------------

my %columns = (
	orders => 'user_id int8, order_id int8, email text, amount numeric,'
	  . ' created_at timestamptz, note text, hits int4',
	events => 'user_id int8, note text, n int4',
	account => 'id int8, balance int8, hits int4');

sub _create
{
	my ($self) = @_;
	my $servers = $self->{servers} =
	  Bench::Servers->near($self->{run}, NSHARDS);
	my $cluster = $servers->cluster;

	$self->{part} = $self->{rows} / NSHARDS;
	foreach my $way ('shard_fdw', 'postgres_fdw', 'postgres_fdw, defaults')
	{
		my $schema = $servers->make_servers($way);
		$servers->make_table($schema, $_, $columns{$_}, NSHARDS, NSHARDS)
		  foreach qw(orders events);
		$self->_make_accounts($schema);
	}
	foreach my $n (0 .. NSHARDS - 1)
	{
		$cluster->shard_sql($n,
			    "CREATE TABLE orders_$n ($columns{orders},"
			  . ' PRIMARY KEY (user_id));'
			  . " CREATE TABLE events_$n ($columns{events});"
			  . " CREATE INDEX ON events_$n (user_id);"
			  . " CREATE TABLE account ($columns{account}, PRIMARY KEY (id))");
		$cluster->shard_sql($n, 'INSERT INTO account SELECT i, 1000, 0'
			  . ' FROM generate_series('
			  . ($n * $self->{part} + 1) . ', '
			  . ($n + 1) * $self->{part}
			  . ') i');
	}
	$self->_fill_direct($cluster);
	$cluster->sql("INSERT INTO ours.orders " . $self->_orders);
	$cluster->shard_sql($_, 'VACUUM ANALYZE') foreach 0 .. NSHARDS - 1;
	$cluster->shard_sql($_, 'CHECKPOINT') foreach 0 .. NSHARDS - 1;
	$cluster->sql("ANALYZE $_.orders, $_.account") foreach qw(ours best plain);
	$self->_create_serial;
	$self->_write_scripts;
	$self->_check_rows;
	$self->{run}->progress('  tables created');
	return;
}

sub _orders
{
	my ($self) = @_;
	return "SELECT i, i, 'user' || i || '\@example.com', i / 10.0,"
	  . " '2024-01-01'::timestamptz + i * interval '1 second', 'note ' || i,"
	  . " 0 FROM generate_series(1, $self->{rows}) i";
}

# All rows on one shard, in a schema of its own.
sub _fill_direct
{
	my ($self, $cluster) = @_;
	my @sql = ('CREATE SCHEMA direct',
		(map { "CREATE TABLE direct.$_ ($columns{$_})" } sort keys %columns),
		'INSERT INTO direct.orders ' . $self->_orders,
		"INSERT INTO direct.account SELECT i, 1000, 0"
		  . " FROM generate_series(1, $self->{rows}) i",
		'ALTER TABLE direct.orders ADD PRIMARY KEY (user_id)',
		'ALTER TABLE direct.account ADD PRIMARY KEY (id)',
		'CREATE INDEX ON direct.events (user_id)');

	$cluster->shard_sql(0, join('; ', @sql));
	return;
}

# By range, so that the script knows which accounts are on two shards.
sub _make_accounts
{
	my ($self, $schema) = @_;
	my $cluster = $self->{servers}->cluster;

	$cluster->sql("CREATE TABLE $schema.account ($columns{account})"
		  . ' PARTITION BY RANGE (id)');
	foreach my $n (0 .. NSHARDS - 1)
	{
		my $from = $n * $self->{part} + 1;
		my $to = $from + $self->{part};
		$cluster->sql("CREATE FOREIGN TABLE $schema.account_$n"
			  . " PARTITION OF $schema.account FOR VALUES FROM ($from) TO ($to)"
			  . " SERVER ${schema}_$n OPTIONS (schema_name 'public',"
			  . " table_name 'account')");
	}
	return;
}

sub _create_serial
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my $connect = join(
		"\n",
		map {
			my $node = $cluster->shard($_);
			"PERFORM dblink_connect('shard_$_', 'host=" . $node->host
			  . ' port=' . $node->port
			  . " dbname=postgres');"
		} 0 .. NSHARDS - 1);

	$cluster->sql('CREATE EXTENSION dblink');
	$cluster->sql(<<~SQL);
		CREATE TABLE public.decision (gid text);
		CREATE FUNCTION public.shard_of(account int8) RETURNS text LANGUAGE sql
		RETURN 'shard_' || (account - 1) / $self->{part};
		CREATE FUNCTION public.add(account int8, amount int8) RETURNS void
		LANGUAGE plpgsql AS \$\$
		DECLARE
			shard text := public.shard_of(account);
		BEGIN
			IF dblink_get_connections() IS NULL THEN
				$connect
			END IF;
			PERFORM dblink_exec(shard, 'START TRANSACTION');
			PERFORM dblink_exec(shard, format(
				'UPDATE account SET balance = balance + %s, hits = hits + 1'
				' WHERE id = %s', amount, account));
		END \$\$;
		CREATE PROCEDURE public.finish(source int8, target int8)
		LANGUAGE plpgsql AS \$\$
		DECLARE
			shards text[] :=
				ARRAY[public.shard_of(source), public.shard_of(target)];
			gid text := 'bench_' || pg_backend_pid() || '_' || pg_current_xact_id();
			shard text;
		BEGIN
			FOREACH shard IN ARRAY shards LOOP
				PERFORM dblink_exec(shard,
					format('PREPARE TRANSACTION %L', gid));
			END LOOP;
			INSERT INTO public.decision VALUES (gid);
			COMMIT;
			FOREACH shard IN ARRAY shards LOOP
				PERFORM dblink_exec(shard, format('COMMIT PREPARED %L', gid));
			END LOOP;
		END \$\$;
		SQL
	return;
}

sub _write_scripts
{
	my ($self) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();

	foreach my $workload (@workloads)
	{
		foreach my $way (@{ $workload->{ways} })
		{
			my $script = $workload->{script};
			if ($workload->{tag} eq 'transfer')
			{
				$script .=
				  $way eq 'serial'
				  ? $serial_transfer
				  : $transfer;
			}
			$script =~ s/:rows/$self->{rows}/g;
			$script =~ s/:part/$self->{part}/g;
			my $file = "$dir/$workload->{tag}.$way.sql";
			open(my $fh, '>', $file) or croak $!;
			print $fh $script;
			close($fh);
			$self->{script}{ $workload->{tag} }{$way} = $file;
		}
	}
	return;
}

# ---- answers --------------------------------------------------------------------

# The same rows in every way.
sub _check_rows
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my $keys = join(', ', map { 1 + $_ * 97 } 0 .. 20);
	my $query = "SELECT * FROM %s.orders WHERE user_id IN ($keys)";
	my $expected = Bench::Psql::checksum($cluster->shard(0),
		sprintf($query, 'direct'));

	foreach my $schema (qw(ours best plain))
	{
		my $sum = Bench::Psql::checksum($cluster->coordinator,
			sprintf($query, $schema));
		croak "$schema gives other rows than the shard"
		  if $sum ne $expected;
	}
	return;
}

# What the shards have, as one number per workload.
sub _changes
{
	my ($self, $tag, $way) = @_;
	my $cluster = $self->{servers}->cluster;
	my %query = (
		update => 'SELECT sum(hits) FROM %s',
		insert => 'SELECT count(*) FROM %s',
		transfer => 'SELECT sum(hits) / 2.0 FROM %s');
	my %table = (update => 'orders', insert => 'events');
	my $changes = 0;

	return 0 if $tag eq 'select';
	if ($way eq 'direct')
	{
		my $table = $table{$tag} // 'account';
		return $cluster->shard_sql(0, sprintf($query{$tag}, "direct.$table"));
	}
	foreach my $n (0 .. NSHARDS - 1)
	{
		my $table = $table{$tag} ? "$table{$tag}_$n" : 'account';
		$changes +=
		  $cluster->shard_sql($n, sprintf($query{$tag}, "public.$table"));
	}
	return $changes;
}

sub _check_total
{
	my ($self, $way) = @_;
	my $cluster = $self->{servers}->cluster;
	my $total = 0;

	if ($way eq 'direct')
	{
		$total = $cluster->shard_sql(0,
			'SELECT sum(balance) FROM direct.account');
	}
	else
	{
		$total += $cluster->shard_sql($_,
			'SELECT sum(balance) FROM public.account')
		  foreach 0 .. NSHARDS - 1;
	}
	croak "transfers of $way: the balances add up to $total"
	  if $total != 1000 * $self->{rows};
	return;
}

# ---- measuring ----------------------------------------------------------------

sub _pids
{
	my ($self) = @_;
	my $cluster = $self->{servers}->cluster;
	my $pid = sub {
		my ($node) = @_;
		my ($line) = split(/\n/,
			PostgreSQL::Test::Utils::slurp_file(
				$node->data_dir . '/postmaster.pid'));
		return $line;
	};

	return {
		coordinator => [ $pid->($cluster->coordinator) ],
		shards => [ map { $pid->($cluster->shard($_)) } 0 .. NSHARDS - 1 ]
	};
}

sub _run_once
{
	my ($self, $mode, $workload, $clients, $way) = @_;
	my $servers = $self->{servers};
	my $cluster = $servers->cluster;
	my $tag = $workload->{tag};
	my $before = $self->_changes($tag, $way);
	my $measured = Bench::Psql::pgbench(
		node => $way eq 'direct' ? $cluster->shard(0) : $cluster->coordinator,
		mode => $mode,
		clients => $clients,
		seconds => $self->{seconds},
		file => $self->{script}{$tag}{$way},
		options => $servers->session_options(
			$way eq 'serial' ? 'public' : $way),
		pids => $self->_pids);

	# what phase two left behind comes a moment later
	$cluster->wait_settled(60) if $tag eq 'transfer' && $way eq 'ours';
	my $changes = $self->_changes($tag, $way) - $before;
	croak "$workload->{name}, $way: $changes changes of $measured->{done}"
	  if $tag ne 'select' && $changes != $measured->{done};
	$self->_check_total($way) if $tag eq 'transfer';
	return $measured;
}

sub _measure_workload
{
	my ($self, $mode, $workload, $clients) = @_;
	my @ways = @{ $workload->{ways} };
	my $sample = $self->{run}->measure(\@ways, $self->{run}->pick(3, 1),
		sub { $self->_run_once($mode, $workload, $clients, $_[0]) });

	$self->{sample}{$mode}{ $workload->{tag} }{$clients} = $sample;
	$self->{run}->progress(
		'  %s, %s, %d clients: %s',
		$workload->{name},
		$mode, $clients,
		join(
			', ',
			map {
				sprintf('%s %.0f',
					$title{$_}, median(map { $_->{tps} } @{ $sample->{$_} }))
			} @ways));
	return;
}

# ---- what is printed ----------------------------------------------------------

sub _typical
{
	my ($self, $mode, $tag, $clients, $way, $what) = @_;
	my @all = @{ $self->{sample}{$mode}{$tag}{$clients}{$way} };

	return median(map { $_->{$what} // $_->{cpu}{$what} } @all);
}

sub _report
{
	my ($self, $mode) = @_;
	my @rows;
	foreach my $workload (@workloads)
	{
		my $tag = $workload->{tag};
		foreach my $clients (@{ $self->{clients} })
		{
			push @rows, $self->_row($mode, $workload, $clients, $_)
			  foreach @{ $workload->{ways} };
		}
		foreach my $way ($mode eq 'simple' ? @{ $workload->{ways} } : ())
		{
			$self->{result}->series(
				"throughput-$tag",
				$title{$way},
				[
					map { [ $_, $self->_typical($mode, $tag, $_, $way, 'tps') ] }
					  @{ $self->{clients} }
				]);
		}
	}
	$self->{result}->table(
		"Transactions per second, pgbench -M $mode",
		[
			'workload', 'clients', 'way', 'per second', 'of postgres_fdw',
			'of one shard', 'CPU us: coordinator + shards + pgbench',
			'idle', 'failed'
		],
		\@rows);
	return;
}

sub _row
{
	my ($self, $mode, $workload, $clients, $way) = @_;
	my $tag = $workload->{tag};
	my @all = @{ $self->{sample}{$mode}{$tag}{$clients}{$way} };
	my $get = sub { $self->_typical($mode, $tag, $clients, @_) };
	my $failed = 0;

	$failed += $_->{failed} foreach @all;
	return [
		$workload->{name},
		$clients,
		$title{$way},
		spread('%.0f', map { $_->{tps} } @all),
		sprintf('%.2f', ratio($get->($way, 'tps'), $get->('best', 'tps'))),
		sprintf('%.2f', ratio($get->($way, 'tps'), $get->('direct', 'tps'))),
		sprintf('%.0f + %.0f + %.0f',
			map { $get->($way, $_) } qw(coordinator shards pgbench)),
		sprintf('%.0f %%', $get->($way, 'idle')),
		$failed
	];
}

sub _report_targets
{
	my ($self) = @_;
	my %select = (1 => 2, 4 => 3, 16 => 3);

	foreach my $mode (@{ $self->{modes} })
	{
		foreach my $clients (@{ $self->{clients} })
		{
			$self->_target($mode, 'SELECT by key', 'select', $clients, 'best',
				$select{$clients});
			$self->_target_cpu($mode, $clients);
		}
		my $most = $self->{clients}[-1];
		$self->_target($mode, 'UPDATE by key', 'update', $most, 'best', 1.8);
		$self->_target($mode, 'transfer', 'transfer', $most, 'best', 1.3);
		$self->_target($mode, 'transfer', 'transfer', $_, 'serial', 2)
		  foreach @{ $self->{clients} };
	}
	return;
}

sub _target
{
	my ($self, $mode, $what, $tag, $clients, $peer, $limit) = @_;
	my $times =
	  ratio(map { $self->_typical($mode, $tag, $clients, $_, 'tps') }
		  ('ours', $peer));

	$self->{result}->target(
		"$what, $clients clients, $mode, times as many as $title{$peer}",
		">= $limit", sprintf('%.2f', $times), $times >= $limit);
	return;
}

sub _target_cpu
{
	my ($self, $mode, $clients) = @_;
	my %limit = (shards => 30, coordinator => 60);

	foreach my $where (sort keys %limit)
	{
		my $share = 100 *
		  ratio(
			map { $self->_typical($mode, 'select', $clients, $_, $where) }
			  qw(ours best));
		$self->{result}->target(
			"SELECT by key, $clients clients, $mode, CPU of $where beside"
			  . ' postgres_fdw',
			"<= $limit{$where} %", sprintf('%.0f %%', $share),
			$share <= $limit{$where});
	}
	return;
}

1;
