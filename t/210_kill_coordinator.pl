
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# SIGKILL of the coordinator's backend, of its postmaster, and of all of its
# processes at once, at every step of a commit.  What was on its way to the
# shards is lost, or arrives late (invariant E).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use ShardFaults;
use Test::More;

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	conf => { 'shard_fdw.connect_timeout' => '2s' });
$cluster->create_accounts;

# what is killed, and what becomes of the messages that are held
my @kills = (
	[ 'backend', 'discard' ],
	[ 'postmaster', 'release' ],
	[ 'server', 'release' ],
	[ 'server', 'discard' ]);

foreach my $step (ShardFaults::steps())
{
	foreach my $kill (@kills)
	{
		my ($victim, $messages) = @$kill;
		next if !$step->{rules} && "@$kill" eq 'server discard';
		my $name = "$step->{name}, $victim killed, $messages";
		my $stopped = ShardFaults->reach($cluster, $step);

		if ($victim eq 'backend')
		{
			$cluster->kill_backend($stopped->session->pid);
		}
		elsif ($victim eq 'postmaster')
		{
			$cluster->kill_coordinator;
		}
		else
		{
			$cluster->kill_server($cluster->coordinator);
		}
		$stopped->let_go($messages);
		$cluster->restart_coordinator if $victim ne 'backend';
		ok(!$stopped->session->is_done(0)
			  || !$stopped->session->{answer}->is_ok,
			"$name: the client is not told of success");
		$stopped->judge($name, $step->{outcome});
	}
}

# in_doubt tells the truth while a shard cannot be reached.
my ($decided) = grep { $_->{name} eq 'decided, before COMMIT PREPARED' }
  ShardFaults::steps();
my $stopped = ShardFaults->reach($cluster, $decided);
$cluster->kill_server($cluster->coordinator);
$cluster->relay->partition('shard_1');
$stopped->let_go('discard');
$cluster->restart_coordinator;
ok( $cluster->wait_until(
		sub {
			!grep { / sfdw/ } map { "shard_0 $_" } $cluster->prepared_on(0);
		},
		10),
	'the shard that can be reached is settled');
my @doubt;
ok( $cluster->wait_until(
		sub {
			@doubt = grep { $_->{server} eq 'shard_1' } $cluster->in_doubt;
			@doubt > 0;
		},
		20),
	'the other one is in doubt') or diag explain([ $cluster->in_doubt ]);
is(scalar(grep { $_->{server} eq 'shard_0' } $cluster->in_doubt),
	0, 'the first one is not');
is($cluster->log_rows, 1, 'its row in the log is kept');
$cluster->relay->heal('shard_1');
$cluster->wait_until(sub { !$cluster->prepared_on(1) }, 60);
$cluster->settled_ok(10, 'after healing');
is($stopped->transfer->outcome, 'all', 'and committed');
is(scalar($cluster->in_doubt), 0, 'nothing is in doubt any more');

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
