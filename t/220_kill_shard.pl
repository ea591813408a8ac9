
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# SIGKILL of a shard's postmaster at every step of a commit.  The client gets
# an answer within a limit, whatever the shard does, and it is the right one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use ShardFaults;
use Test::More;
use Time::HiRes qw(time);

my $cluster = ShardCluster->new(
	shards => 2,
	relay => 1,
	conf => { 'shard_fdw.commit_timeout' => '5s' });
$cluster->create_accounts;

foreach my $step (ShardFaults::steps())
{
	foreach my $victim (0, 1)
	{
		my $name = "$step->{name}, shard $victim killed";
		my $stopped = ShardFaults->reach($cluster, $step);

		$cluster->kill_shard($victim);
		my $start = time();
		$stopped->let_go($victim == 0 ? 'discard' : 'release');
		my $answer = $stopped->session->finish(60);
		my $took = time() - $start;
		cmp_ok($took, '<', 12, "$name: the client gets its answer");
		note sprintf('%s: %.1f s', $name, $took);
		if ($step->{outcome} eq 'all')
		{
			ok($answer->is_ok, "$name: decided, so it is a success")
			  or diag $answer->describe;
		}
		else
		{
			# the decision may have fallen after the last wait for the shard
			isnt($answer->sqlstate, 'lost', "$name: the client is told");
		}
		$cluster->restart_shard($victim);
		$stopped->judge($name, 'told', $answer);
	}
}

# Shards that stay down: everybody else goes on, nothing is forgotten.
my $id = $cluster->id(0);
$cluster->kill_shard(1);
my ($sqlstate) = $cluster->sql_err('SELECT sum(balance) FROM accounts');
is($sqlstate, '08001', 'a query that needs the shard fails');
is( $cluster->sql(
		"UPDATE accounts SET balance = balance WHERE id = $id RETURNING id"),
	$id,
	'one that does not need it works');
$cluster->restart_shard(1);
is($cluster->sql('SELECT sum(balance) FROM accounts'),
	2000, 'and all works when it is back');

$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
