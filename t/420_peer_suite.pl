
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# postgres_fdw's own tests give the same under shard_fdw, but for the
# differences listed here, each of which doc/differences.md explains.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PeerSuite;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What is printed at the end where a connection was killed in a transaction.
my $closing = qr/^(ERROR: no connection to the server)?$/;

# Each by its heading in the document; the lines as normalized.
my @listed = (
	{
		heading => 'Unknown options',
		until => 15,
		theirs => qr/^HINT: Valid options in this context are: .*$/,
		ours => qr/^(HINT: It is an option of a [\w ]+\.)?$/,
		count => 2
	},
	{
		heading => 'Unknown options',
		from => 16,
		theirs => qr/^(HINT: Perhaps you meant the option "\w+"\.)?$/,
		ours => qr/^HINT: It is an option of a [\w ]+\.$/,
		count => 2
	},
	{
		heading => 'ON CONFLICT',
		theirs =>
		  qr/^(ERROR: there is no unique or exclusion constraint matching .*|remp1 \| 1 \| foo)?$/,
		ours =>
		  qr/^(HINT: The remote table needs a unique index .*|remp1 \| 1 \| bar)?$/,
		count => 5
	},
	{
		heading => 'The key of a row on a shard',
		theirs =>
		  qr/^(ERROR: (new row for relation "loct" violates|cannot route tuples into foreign table to be updated)[^\n]*(\nDETAIL: [^\n]*)?|((locp|remp|ftable|batch_cp\w+) \| [^\n]*\n?)*)$/,
		ours =>
		  qr/^(a \| b( \| x)?\n.*\(\d+ rows?\)\n?|ERROR: cannot move rows to foreign table "\w+" while its server is read\n.*|((locp|remp|ftable|batch_cp\w+) \| [^\n]*\n?)*)$/s,
		at_least => 5
	},
	{
		heading => 'Errors of COPY',
		theirs => qr/^COPY rem2(, line 1: "-1 xyzzy")?$/,
		ours => qr/^$/,
		count => { 15 => 1, 18 => 2 }
	},
	{
		heading => 'PREPARE TRANSACTION',
		theirs =>
		  qr/^ERROR: cannot PREPARE a transaction that has operated on FDW/,
		ours => qr/^$/,
		count => 1
	},
	{
		heading => 'Connections',
		until => 15,
		theirs => qr/^server_name \| valid\n----\+----\nloopback \| f\n\| f$/,
		ours => qr/^server_name \| user_name \| valid \| used_in_xact/,
		count => 1
	},
	{
		heading => 'Rows that move to a shard',
		from => 16,
		theirs => qr/^(\(3 rows\))?$/,
		ours => qr/^(INSERT on batch_cp_upd_test1|\(4 rows\))$/,
		count => 2
	},
	{
		heading => 'The order of rows',
		theirs => qr/^\d505 \| 505 \| 0505$/,
		ours => qr/^\d505 \| 505 \| 0505$/,
		is_optional => 1
	},
	{
		heading => 'Unknown options',
		from => 16,
		theirs => qr/^$/,
		ours => qr/^HINT: Valid values are "auto", "bernoulli", "off"/,
		count => 1
	},
	{
		heading => 'Lost connections',
		theirs =>
		  qr/^ERROR: connection to server "loopback" cannot be used due to abort/,
		ours => qr/^ERROR: connection to server "loopback" was lost\nDETAIL: /,
		count => 2
	},
	{
		heading => 'Lost connections',
		theirs => qr/^ERROR: no connection to the server(\nSELECT .*)?$/,
		ours => qr/^(c1 \| c2 \| .*\n----.*\n1 \| 2 \| .*\n\(1 row\)\n)?$/s,
		count => 2
	});

my $node = PostgreSQL::Test::Cluster->new('peer');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', <<END);
shared_preload_libraries = 'shard_fdw'
max_prepared_transactions = 64
END
$node->start;
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);
my $script = PeerSuite::file($major, 'sql/postgres_fdw.sql');
plan skip_all => "tools/peer-suite has not fetched the scripts of $major"
  unless defined $script;

my $document = slurp_file("$FindBin::RealBin/../doc/differences.md");

sub entry_of
{
	my ($difference) = @_;
	my $theirs = join("\n", @{ $difference->{theirs} });
	my $ours = join("\n", @{ $difference->{ours} });

	foreach my $entry (@listed)
	{
		next if $major < ($entry->{from} // 0);
		next if $major > ($entry->{until} // $major);
		return $entry
		  if $theirs =~ $entry->{theirs} && $ours =~ $entry->{ours};
	}
	return;
}

# The regression script, and where there is one that of cancelling.
{
	my $text = slurp_file($script);
	my $cancel = PeerSuite::file($major, 'sql/query_cancel.sql');

	$text .= slurp_file($cancel) if defined $cancel;
	$text = PeerSuite::without_explain($text);
	my $theirs = PeerSuite::run_script($node, $text, 'postgres_fdw');
	my $ours = PeerSuite::run_script($node, $text, 'shard_fdw');
	my $unlisted = 0;

	cmp_ok(length $theirs, '>', 100_000, 'the script has run');
	foreach my $difference (PeerSuite::differences($theirs, $ours))
	{
		my $entry = entry_of($difference);

		if (defined $entry)
		{
			$entry->{found}++;
			next;
		}
		$unlisted++;
		diag("not listed:\n$difference->{context}");
	}
	is($unlisted, 0, 'every difference is listed');
}
foreach my $entry (@listed)
{
	my $count = ref $entry->{count} ? $entry->{count}{$major} : $entry->{count};

	like($document, qr/^#+ \Q$entry->{heading}\E$/m,
		"doc/differences.md has: $entry->{heading}");
	next
	  if $entry->{is_optional}
	  || $major < ($entry->{from} // 0)
	  || $major > ($entry->{until} // $major);
	if (defined $entry->{at_least})
	{
		cmp_ok($entry->{found} // 0, '>=', $entry->{at_least},
			"$entry->{heading}: still so");
		next;
	}
	is($entry->{found} // 0, $count, "$entry->{heading}: still so");
}

# The isolation test, without its plans.
{
	my ($file) = PeerSuite::file($major, 'specs/eval_plan_qual.spec');
	my $spec = slurp_file($file) =~ s/^\s*EXPLAIN\b[^;]*;\n//gmr;
	my $tester = PeerSuite::isolation_tester();
	my %output;

	foreach my $wrapper ('postgres_fdw', 'shard_fdw')
	{
		my $text =
		  $wrapper eq 'shard_fdw' ? PeerSuite::rename($spec) : $spec;

		$node->safe_psql('postgres', "CREATE DATABASE iso_$wrapper");
		$node->safe_psql("iso_$wrapper", "CREATE EXTENSION $wrapper");
		ok( IPC::Run::run(
				[ $tester, $node->connstr("iso_$wrapper") ],
				'<', \$text, '>&', \$output{$wrapper},
				IPC::Run::timeout(
					$PostgreSQL::Test::Utils::timeout_default)),
			"the isolation test has run with $wrapper");
	}
	like($output{postgres_fdw}, qr/starting permutation/, 'and says so');
	is($output{shard_fdw}, $output{postgres_fdw},
		'isolation test: the same');
}
$node->stop;

# The TAP test of SCRAM pass-through.
SKIP:
{
	my $file = PeerSuite::file($major, 't/001_auth_scram.pl');
	my $copy = "$PostgreSQL::Test::Utils::tmp_check/peer_auth_scram.pl";
	my $output;

	skip "version $major has no SCRAM pass-through", 1 unless defined $file;
	append_to_file($copy, PeerSuite::rename(slurp_file($file)));
	my $passes = IPC::Run::run([ $^X, (map { "-I$_" } @INC), $copy ],
		'>&', \$output);
	ok($passes, 'the test of SCRAM pass-through passes') or diag($output);
}
done_testing;
