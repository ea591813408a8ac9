
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

ShardCluster - a coordinator and its shards, for tests

=head1 SYNOPSIS

  use ShardCluster;

  my $cluster = ShardCluster->new(shards => 2, relay => 1);
  $cluster->create_accounts;

  my $session = $cluster->session;
  my $before = $cluster->balances;
  my $transfer = $cluster->transfer(0, 1, 10);
  $session->safe($_) foreach $transfer->statements, 'COMMIT';
  is($transfer->outcome, 'all', 'the transfer happened');

  $cluster->kill_coordinator;
  $cluster->restart_coordinator;
  $cluster->settled_ok(10, 'nothing is left');

=head1 DESCRIPTION

Real servers made by PostgreSQL::Test::Cluster: node C<coordinator> with the
extension, and nodes C<shard_0>, C<shard_1>, ... with nothing installed.  The
coordinator has a foreign server of the same name for each of them.  With
C<< relay => 1 >> the foreign servers lead through a L<ShardRelay>, one route
per shard, while the helpers here ask the shards directly.

Nothing here sleeps for a fixed time; every wait has a deadline.

=cut

package ShardCluster;

use strict;
use warnings;

use Carp;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShardRelay;
use ShardSession;

# The wrapper under test; postgres_fdw serves to test the tests.
our $fdw = $ENV{SHARD_TEST_FDW} || 'shard_fdw';

my $clusters = 0;

=pod

=head1 MAKING ONE

=over

=item ShardCluster->new(...)

Starts everything and creates the extension, the foreign servers and user
mappings in database C<postgres> of the coordinator.  Arguments:

=over

=item shards

How many (2).

=item relay

Connect through a relay.

=item one_server

The shards are databases C<shard_0>, ... of one server instead of servers.

=item conf, shard_conf

Hashes of settings for the coordinator and for every shard.

=item streaming

The coordinator can have standbys.

=item shards_of

Another cluster whose shard servers are used instead of new ones.

=item name

Prefix of the nodes' names.

=item setup

0: create no extension and no foreign servers.

=back

=cut

sub new
{
	my ($class, %param) = @_;
	my $self = bless {
		name => $param{name} // ($clusters ? "c${clusters}_" : ''),
		nshards => $param{shards} // 2,
		sessions => {},
	}, $class;
	$clusters++;

	if ($param{shards_of})
	{
		my $other = $param{shards_of};
		$self->{$_} = $other->{$_} foreach qw(nshards shards shard_db relay);
	}
	else
	{
		$self->_start_shards(%param);
	}
	$self->_start_coordinator(%param);
	$self->{relay} = $self->_start_relay if $param{relay};
	$self->setup_database('postgres') unless defined $param{setup};
	return $self;
}

sub _start_node
{
	my ($self, $name, $init, %conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new("$self->{name}$name");

	$node->init(%$init);
	my %all = (
		max_connections => 60,
		max_prepared_transactions => 64,
		restart_after_crash => 'on',
		shared_buffers => '16MB',
		log_min_messages => 'log',
		log_statement => 'none',
		log_error_verbosity => 'verbose',
		%conf);
	$node->append_conf('postgresql.conf',
		join('', map { "$_ = '$all{$_}'\n" } sort keys %all));
	$node->start;
	return $node;
}

sub _start_shards
{
	my ($self, %param) = @_;
	my %conf = %{ $param{shard_conf} // {} };
	my @all = 0 .. $self->{nshards} - 1;

	if ($param{one_server})
	{
		my $node = $self->_start_node('shards', {}, %conf);
		$node->safe_psql('postgres',
			join('', map { "CREATE DATABASE shard_$_;\n" } @all));
		$self->{shards} = [ map { $node } @all ];
		$self->{shard_db} = [ map { "shard_$_" } @all ];
		return;
	}
	$self->{shards} =
	  [ map { $self->_start_node("shard_$_", {}, %conf) } @all ];
	$self->{shard_db} = [ map { 'postgres' } @all ];
	return;
}

sub _start_coordinator
{
	my ($self, %param) = @_;
	my %conf = %{ $param{conf} // {} };

	$conf{shared_preload_libraries} //= 'shard_fdw' if $fdw eq 'shard_fdw';
	my %init = $param{streaming} ? (allows_streaming => 1) : ();
	$self->{coordinator} = $self->_start_node('coordinator', \%init, %conf);
	return;
}

sub _start_relay
{
	my ($self) = @_;
	my %target;

	foreach my $n (0 .. $self->{nshards} - 1)
	{
		my $node = $self->{shards}[$n];
		$target{"shard_$n"} = $node->host . '/.s.PGSQL.' . $node->port;
	}
	return ShardRelay->new(%target);
}

=pod

=item $cluster->setup_database($dbname, ...)

Creates the database if it does not exist, and in it the extension, the
foreign servers (extra options as a hash) and the user mappings.

=cut

sub setup_database
{
	my ($self, $dbname, %options) = @_;
	my $session = $self->session(dbname => 'postgres');

	if (!$session->safe(
			"SELECT 1 FROM pg_database WHERE datname = '$dbname'"))
	{
		$session->safe("CREATE DATABASE $dbname");
	}
	$session->close;
	$session = $self->session(dbname => $dbname);
	$session->safe("CREATE EXTENSION IF NOT EXISTS $fdw");
	foreach my $n (0 .. $self->{nshards} - 1)
	{
		$session->safe($self->create_server_sql($n, %options));
		$session->safe(
			"CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$n");
	}
	$session->close;
	return;
}

=pod

=item $cluster->create_server_sql($n, %options)

The CREATE SERVER for a shard; a C<name> among the options is the server's.

=cut

sub create_server_sql
{
	my ($self, $n, %options) = @_;
	my $name = delete $options{name} // "shard_$n";
	my $node = $self->{shards}[$n];
	my %all = (
		host => $self->{relay} ? '127.0.0.1' : $node->host,
		port => $self->{relay}
		? $self->{relay}->port("shard_$n")
		: $node->port,
		dbname => $self->{shard_db}[$n],
		%options);

	return
		"CREATE SERVER $name FOREIGN DATA WRAPPER $fdw OPTIONS ("
	  . join(', ', map { "$_ '$all{$_}'" } sort keys %all) . ')';
}

=pod

=item $cluster->create_accounts(...)

Makes a table C<accounts> (id, balance) on each shard, and on the coordinator
a hash-partitioned one over them with 10 accounts of 100 per shard.
Arguments: C<table> (another name, on both sides), C<dbname> (of the
coordinator), C<deferred> (a list of shards that have a deferred constraint
trigger which refuses a negative balance).

=cut

sub create_accounts
{
	my ($self, %param) = @_;
	my $table = $param{table} // 'accounts';
	my $n = $self->{nshards};
	my $session = $self->session(dbname => $param{dbname} // 'postgres');

	$session->safe("CREATE TABLE $table (id int NOT NULL,"
		  . " balance int NOT NULL) PARTITION BY HASH (id)");
	foreach my $shard (0 .. $n - 1)
	{
		$session->safe("CREATE FOREIGN TABLE ${table}_$shard"
			  . " PARTITION OF $table FOR VALUES"
			  . " WITH (MODULUS $n, REMAINDER $shard)"
			  . " SERVER shard_$shard OPTIONS (table_name '$table')");
		my $ids = $session->safe("SELECT i FROM generate_series(1, 1000) i"
			  . " WHERE satisfies_hash_partition('$table'::regclass,"
			  . " $n, $shard, i) ORDER BY i LIMIT 10");
		my @ids = split(/\n/, $ids);
		$self->{ids}[$shard] = \@ids;
		$self->shard_sql($shard,
				"CREATE TABLE $table (id int PRIMARY KEY,"
			  . " balance int NOT NULL);"
			  . " INSERT INTO $table SELECT i, 100"
			  . " FROM unnest('{"
			  . join(',', @ids)
			  . "}'::int[]) i");
	}
	$self->add_deferred_check($_, $table)
	  foreach @{ $param{deferred} // [] };
	$session->close;
	$self->{total}{$table} = 1000 * $n;
	return;
}

=pod

=item $cluster->add_deferred_check($shard, $table)

A constraint trigger there that refuses a negative balance at COMMIT.

=item $cluster->drop_deferred_check($shard, $table)

=item $cluster->create_slow_reader

A function C<read_slowly(wanted)> on the coordinator that reads the foreign table
C<big> as a stream and, while that is under way, asks for C<small> over the same
connection.  Stops after so many rows, if given; returns how many rows there were
and the sum of their keys.

=back

=cut

sub add_deferred_check
{
	my ($self, $shard, $table) = @_;
	$table //= 'accounts';
	$self->shard_sql($shard,
			"CREATE OR REPLACE FUNCTION refuse_negative() RETURNS trigger"
		  . " LANGUAGE plpgsql AS \$\$BEGIN"
		  . " IF NEW.balance < 0 THEN RAISE 'balance of % is negative',"
		  . " NEW.id USING ERRCODE = 'check_violation'; END IF;"
		  . " RETURN NULL; END\$\$;"
		  . " CREATE CONSTRAINT TRIGGER refuse_negative"
		  . " AFTER INSERT OR UPDATE ON $table"
		  . " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
		  . " EXECUTE FUNCTION refuse_negative()");
	return;
}

sub drop_deferred_check
{
	my ($self, $shard, $table) = @_;
	$table //= 'accounts';
	$self->shard_sql($shard, "DROP TRIGGER refuse_negative ON $table");
	return;
}

sub create_slow_reader
{
	my ($self) = @_;
	$self->sql(
		'CREATE FUNCTION read_slowly(wanted bigint DEFAULT NULL) RETURNS text
		LANGUAGE plpgsql AS $$
		DECLARE
		  row record;
		  nrows bigint := 0;
		  total bigint := 0;
		BEGIN
		  FOR row IN SELECT * FROM big LOOP
		    nrows := nrows + 1;
		    total := total + row.id;
		    IF nrows % 5000 = 1 THEN
		      PERFORM n FROM small WHERE id = 1;
		    END IF;
		    EXIT WHEN nrows = wanted;
		  END LOOP;
		  RETURN nrows || chr(32) || total;
		END $$');
	return;
}

=pod

=head1 ITS PARTS

=over

=item $cluster->coordinator, $cluster->shard($n)

The nodes.

=item $cluster->relay

The relay, if there is one.

=item $cluster->nshards

=item $cluster->id($shard [, $k])

The id of an account on the shard.

=back

=cut

sub coordinator { my ($self) = @_; return $self->{coordinator}; }
sub shard { my ($self, $n) = @_; return $self->{shards}[$n]; }
sub relay { my ($self) = @_; return $self->{relay}; }
sub nshards { my ($self) = @_; return $self->{nshards}; }

sub id
{
	my ($self, $shard, $k) = @_;
	return $self->{ids}[$shard][ $k // 0 ];
}

=pod

=head1 ASKING

=over

=item $cluster->session(...)

A new L<ShardSession> with the coordinator; arguments as for connect().

=item $cluster->shard_session($n, ...)

One with a shard, not through the relay.

=cut

sub session
{
	my ($self, %param) = @_;
	return _connect($self->{coordinator}, %param);
}

sub shard_session
{
	my ($self, $n, %param) = @_;
	return _connect($self->{shards}[$n],
		dbname => $self->{shard_db}[$n],
		%param);
}

sub _connect
{
	my ($node, %param) = @_;
	return ShardSession->connect(
		host => $node->host,
		port => $node->port,
		%param);
}

# A session kept for the helpers; made anew after a crash.
sub _kept_session
{
	my ($self, $key, $connect) = @_;
	my $session = $self->{sessions}{$key};

	if ($session && !$session->is_lost)
	{
		return $session if $session->query('')->is_ok;
	}
	return $self->{sessions}{$key} = $connect->();
}

=pod

=item $cluster->sql($sql [, $dbname])

Runs it on the coordinator in a session kept for this; dies on an error,
returns the rows as psql -At would.

=item $cluster->sql_err($sql [, $dbname])

The same for a statement that should fail: returns SQLSTATE and message, in
list context as two values.

=item $cluster->shard_sql($n, $sql)

sql() for a shard.

=cut

sub _coordinator_session
{
	my ($self, $dbname) = @_;
	$dbname //= 'postgres';
	return $self->_kept_session("coordinator/$dbname",
		sub { $self->session(dbname => $dbname) });
}

sub sql
{
	my ($self, $sql, $dbname) = @_;
	return $self->_coordinator_session($dbname)->safe($sql);
}

sub sql_err
{
	my ($self, $sql, $dbname) = @_;
	my $answer = $self->_coordinator_session($dbname)->query($sql);
	return ($answer->sqlstate, $answer->message) if wantarray;
	return $answer->sqlstate . ' ' . $answer->message;
}

sub shard_sql
{
	my ($self, $n, $sql) = @_;
	return $self->_kept_session("shard/$n",
		sub { $self->shard_session($n) })->safe($sql);
}

=pod

=item $cluster->prepared_on($n)

The gids prepared on a shard.

=item $cluster->prepared

Those on all shards, as C<shard_N gid>.

=item $cluster->log_rows([$dbname])

How many rows shard_fdw.commit_log has.

=item $cluster->in_doubt([$dbname])

The rows of shard_fdw.in_doubt, as hashes by column.

=item $cluster->balances([$table])

What the accounts hold on the shards, as a hash by id.

=cut

sub prepared_on
{
	my ($self, $n) = @_;
	return split(
		/\n/,
		$self->shard_sql($n,
			    'SELECT gid FROM pg_prepared_xacts'
			  . ' WHERE database = current_database() ORDER BY gid'));
}

sub prepared
{
	my ($self) = @_;
	return
	  map { my $n = $_; map { "shard_$n $_" } $self->prepared_on($n) }
	  0 .. $self->{nshards} - 1;
}

sub log_rows
{
	my ($self, $dbname) = @_;
	return 0 if $fdw ne 'shard_fdw';
	return $self->sql('SELECT count(*) FROM shard_fdw.commit_log', $dbname);
}

sub in_doubt
{
	my ($self, $dbname) = @_;
	my $answer = $self->_coordinator_session($dbname)
	  ->query('SELECT * FROM shard_fdw.in_doubt');
	croak $answer->describe unless $answer->is_ok;
	my @columns = @{ $answer->{columns} };
	return map {
		my %row;
		@row{@columns} = @$_;
		\%row
	} @{ $answer->{rows} };
}

sub balances
{
	my ($self, $table) = @_;
	my %balance;

	$table //= 'accounts';
	foreach my $n (0 .. $self->{nshards} - 1)
	{
		my $rows = $self->shard_sql($n, "SELECT id, balance FROM $table");
		foreach my $row (split(/\n/, $rows))
		{
			my ($id, $balance) = split(/\|/, $row);
			$balance{$id} = $balance;
		}
	}
	return \%balance;
}

=pod

=item $cluster->transfer($from_shard, $to_shard, $amount [, $table])

A transfer between two shards: an object with statements() (BEGIN and two
UPDATEs) and outcome(), which compares the balances now with those when it
was made: C<all>, C<none> or C<HALF>.

=back

=cut

sub transfer
{
	my ($self, $from, $to, $amount, $table) = @_;
	$table //= 'accounts';
	return bless {
		cluster => $self,
		from => $self->id($from),
		to => $self->id($to),
		amount => $amount,
		table => $table,
		before => $self->balances($table),
	}, 'ShardCluster::Transfer';
}

sub ShardCluster::Transfer::statements
{
	my ($self) = @_;
	my ($table, $amount) = @$self{qw(table amount)};
	return (
		'BEGIN',
		"UPDATE $table SET balance = balance - $amount"
		  . " WHERE id = $self->{from}",
		"UPDATE $table SET balance = balance + $amount"
		  . " WHERE id = $self->{to}");
}

sub ShardCluster::Transfer::outcome
{
	my ($self) = @_;
	my $before = $self->{before};
	my $now = $self->{cluster}->balances($self->{table});
	my $taken = $before->{ $self->{from} } - $now->{ $self->{from} };
	my $given = $now->{ $self->{to} } - $before->{ $self->{to} };

	return 'none' if $taken == 0 && $given == 0;
	return 'all' if $taken == $self->{amount} && $given == $self->{amount};
	return "HALF (taken $taken, given $given)";
}

=pod

=head1 ASSERTING

=over

=item $cluster->assert_atomic($name [, $table])

The balances add up.

=item $cluster->wait_settled($seconds)

Waits until no shard has a transaction of any shard_fdw prepared and the log
is empty; returns the seconds it took, or undef if it did not get there.

=item $cluster->settled_ok($seconds, $name)

The same as a test, with what is left in the diagnostics.

=item $cluster->wait_until($condition, $seconds)

Calls it until it is true; returns the last value.

=item $cluster->logs_clean_ok([$name, $expected])

No server log has a PANIC, a failed assertion, a crash other than by the
signal 9 that the test sent, or a warning about a leak.  Lines that match
$expected are left out.

=back

=cut

sub assert_atomic
{
	my ($self, $name, $table) = @_;
	$table //= 'accounts';
	my $balance = $self->balances($table);
	my $total = 0;
	$total += $_ foreach values %$balance;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($total, $self->{total}{$table}, "$name: the balances add up");
}

sub wait_until
{
	my ($self, $condition, $seconds) = @_;
	my $deadline =
	  time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	my $value;

	until ($value = $condition->())
	{
		return $value if time() > $deadline;
		usleep(20_000);    # between two looks at the condition
	}
	return $value;
}

sub _is_settled
{
	my ($self, @databases) = @_;
	return !(grep { / sfdw/ } $self->prepared)
	  && !grep { $self->log_rows($_) } @databases;
}

sub wait_settled
{
	my ($self, $seconds, @databases) = @_;
	my $start = time();

	@databases = ('postgres') unless @databases;
	$self->wait_until(sub { $self->_is_settled(@databases) }, $seconds)
	  or return;
	return time() - $start;
}

sub settled_ok
{
	my ($self, $seconds, $name, @databases) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $took = $self->wait_settled($seconds, @databases);

	ok(defined $took, "$name: settled within $seconds s");
	if (defined $took)
	{
		note sprintf('%s: settled after %.1f s', $name, $took);
		return 1;
	}
	diag 'prepared: ', join(', ', $self->prepared);
	diag 'log rows: ', $self->log_rows;
	diag 'in doubt: ', explain([ $self->in_doubt ]) if $fdw eq 'shard_fdw';
	return 0;
}

sub logs_clean_ok
{
	my ($self, $name, $expected) = @_;
	my @bad;

	foreach my $node ($self->{coordinator}, @{ $self->{shards} })
	{
		foreach my $line (split(/\n/, slurp_file($node->logfile)))
		{
			next
			  unless $line =~ /PANIC|TRAP:|terminated by signal (?!9\b)
				  |\bleak|stack\ depth|unexpected\ EOF\ in\ catalog/x;
			next if $expected && $line =~ $expected;
			push @bad, $node->name . ": $line";
		}
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", @bad), '', $name // 'the server logs are clean');
}

=pod

=head1 BREAKING

=over

=item $cluster->kill_backend($pid [, $node])

SIGKILL to one process of a server (the coordinator), which makes the whole
server restart; waits until the process is gone and the server is back.

=item $cluster->kill_postmaster($node)

SIGKILL to the postmaster.  Its other processes have to notice and end by
themselves; this waits for it (10 s), and then kills what is left and reports
it as a failed test.

=item $cluster->kill_server($node)

SIGKILL to all processes of a server at once, as a loss of power would: none
of them gets to do anything more.

=item $cluster->kill_coordinator, $cluster->kill_shard($n)

kill_postmaster() for that node.

=item $cluster->restart_coordinator, $cluster->restart_shard($n)

Starts a server that was killed.

=back

=cut

sub wait_for_server
{
	my ($self, $node) = @_;
	return $self->wait_until(
		sub {
			my $session = ShardSession->try_connect(
				host => $node->host,
				port => $node->port);
			return 0 if $session->{error};
			$session->close;
			return 1;
		}) || croak $node->name . ' does not accept connections';
}

sub kill_backend
{
	my ($self, $pid, $node) = @_;
	$node //= $self->{coordinator};

	kill('KILL', $pid) or croak "could not kill $pid: $!";
	$self->wait_until(sub { !-e "/proc/$pid" })
	  or croak "process $pid does not end";

	# Connections are accepted until the postmaster has noticed.
	$self->wait_until(
		sub {
			my $log = slurp_file($node->logfile);
			$log =~ s/.*\(PID $pid\) was terminated by signal 9//s or return 0;
			return $log =~ /system is ready to accept connections/;
		}) or croak $node->name . ' did not restart';
	$self->wait_for_server($node);
	return;
}

sub _postmaster_pid
{
	my ($node) = @_;
	my ($pid) = split(/\n/, slurp_file($node->data_dir . '/postmaster.pid'));
	return $pid;
}

sub _postmaster_children
{
	my ($node) = @_;
	my $postmaster = _postmaster_pid($node);
	my @children;

	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open(my $fh, '<', $file) or next;
		my $line = <$fh> // next;
		next unless $line =~ /^(\d+) \(.*\) \S (\d+)/;
		push @children, $1 if $2 == $postmaster;
	}
	return @children;
}

sub kill_postmaster
{
	my ($self, $node) = @_;
	my $postmaster = _postmaster_pid($node);
	my @children = _postmaster_children($node);

	$node->kill9;
	$self->wait_until(
		sub {
			!grep { _is_running($_) } @children;
		},
		10);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @left = grep { _is_running($_) } @children;
	my @what = map { _command_line($_) } @left;
	kill('KILL', @left) if @left;
	ok(!@left, $node->name . ': no process survives its postmaster')
	  or diag join("\n", @what);
	$self->wait_until(sub { !grep { _is_running($_) } @left });

	# a zombie's pid would keep the next postmaster from starting
	$self->wait_until(sub { !-e "/proc/$postmaster" });
	return;
}

sub kill_server
{
	my ($self, $node) = @_;
	my $postmaster = _postmaster_pid($node);

	# the postmaster must not start anything while its children are killed
	kill('STOP', $postmaster);
	my @children = _postmaster_children($node);
	kill('KILL', @children);
	$node->kill9;
	$self->wait_until(
		sub {
			!-e "/proc/$postmaster" && !grep { _is_running($_) } @children;
		}) or croak $node->name . ' does not end';
	return;
}

sub _is_running
{
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/stat") or return 0;
	my $line = <$fh> // return 0;
	return $line !~ /^\d+ \(.*\) Z/;
}

sub _command_line
{
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/cmdline") or return '';
	local $/;
	my $line = <$fh> // '';
	$line =~ s/\0/ /g;
	return $line;
}

sub kill_coordinator
{
	my ($self) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return $self->kill_postmaster($self->{coordinator});
}

sub kill_shard
{
	my ($self, $n) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return $self->kill_postmaster($self->{shards}[$n]);
}

sub restart_coordinator
{
	my ($self) = @_;
	$self->{coordinator}->start;
	$self->wait_for_server($self->{coordinator});
	return;
}

sub restart_shard
{
	my ($self, $n) = @_;
	$self->{shards}[$n]->start;
	$self->wait_for_server($self->{shards}[$n]);
	return;
}

=pod

=head1 STOPPING

=over

=item $cluster->stop

Ends all servers and the relay.

=back

=cut

sub stop
{
	my ($self) = @_;
	$_->close foreach values %{ $self->{sessions} };
	$self->{sessions} = {};
	$self->{relay}->clear if $self->{relay};
	my %seen;
	foreach my $node ($self->{coordinator}, @{ $self->{shards} })
	{
		$node->stop('immediate', fail_ok => 1) unless $seen{$node}++;
	}
	$self->{relay}->stop if $self->{relay};
	return;
}

1;
