
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Every message of the protocol, met before it arrives and before its answer
# arrives, with every fault, in transactions of every shape (ShardMatrix).
#
# FAULTS: "all" runs all cases (make faults); a regular expression those whose
# names match; otherwise every message once on either side.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use ShardCluster;
use ShardMatrix;
use Test::More;
use Time::HiRes qw(time);

my $which = $ENV{FAULTS} // '';
my @cases = $which ? ShardMatrix::cases() : ShardMatrix::covering_cases();
@cases = grep { $_->{name} =~ /$which/ } @cases
  if $which && $which ne 'all';

my $cluster = ShardCluster->new(
	shards => 3,
	relay => 1,
	conf => {
		'shard_fdw.commit_timeout' => '1s',
		'shard_fdw.connect_timeout' => '1s',
		'shard_fdw.response_timeout' => '1s',
	});
my $matrix = ShardMatrix->new($cluster);
my $start = time();
my $run = 0;
my %skipped;

foreach my $case (@cases)
{
	my $reason = $case->{skip};
	if (!$reason)
	{
		my $case_start = time();
		my $result = $matrix->run($case);
		$reason = 'is not sent' unless $result->{is_reached};
		ok(!@{ $result->{problems} }, $case->{name})
		  or diag join("\n", @{ $result->{problems} });
		note sprintf('%.1f s, client told: %s',
			time() - $case_start, $result->{told});
	}
	if ($reason) { push @{ $skipped{$reason} }, $case->{name}; }
	else { $run++; }
}
my $nskipped = @cases - $run;
diag sprintf('fault matrix: %d of %d cases in %d s, %d not run',
	$run, scalar(ShardMatrix::cases()), time() - $start, $nskipped);
foreach my $reason (sort keys %skipped)
{
	diag "not run, $reason: $_" foreach @{ $skipped{$reason} };
}
cmp_ok($run, '>', 0, 'cases were run');
$cluster->assert_atomic('in the end');
$cluster->logs_clean_ok;
$cluster->stop;
done_testing;
