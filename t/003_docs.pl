
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# What doc/settings.md and doc/sql-reference.md say is what the server says:
# every setting with its default and who may set it, every option where it may
# be set, every function with its arguments, every column.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

my $cluster = ShardCluster->new(shards => 1);
my $doc = "$FindBin::RealBin/../doc";
my $settings = slurp_file("$doc/settings.md");
my $reference = slurp_file("$doc/sql-reference.md");

sub lines { my ($sql) = @_; return split /\n/, $cluster->sql($sql); }

# Settings: the row of each.
my %who = (user => 'session', superuser => 'superuser', sighup => 'server');
foreach (
	lines(q{SELECT name, coalesce(nullif(current_setting(name), ''), 'empty'),
		context FROM pg_settings WHERE name LIKE 'shard_fdw.%'
		AND setting = boot_val OR name = 'shard_fdw.application_name'
		ORDER BY name}))
{
	my ($name, $value, $context) = split /\|/;
	my ($row) = $settings =~ /^(\| `\Q$name\E` \|.*)$/m;

	ok(defined $row, "$name is documented") or next;
	my (undef, undef, $default, undef, $by) = split / *\| */, $row;

	# times are given in the unit that reads best
	my %ms = ('' => 1, ms => 1, s => 1000, min => 60_000);
	s/`//g, s/^(\d+)(ms|s|min)$/$1 * $ms{$2}/e foreach $default, $value;
	is($default, $value, "$name: default");
	is($by, $who{$context}, "$name: who may set it");
}
is( $cluster->sql(
		q{SELECT count(*) FROM pg_settings WHERE name LIKE 'shard_fdw.%'}),
	scalar(() = $settings =~ /^\| `shard_fdw\.\w+` \|/mg),
	'no other setting is documented');

# Options: each in the table of the kinds of objects that take it.
my %place = (
	Server => 'pg_foreign_server',
	'User mapping' => 'pg_user_mapping',
	Table => 'pg_foreign_table',
	Column => 'pg_attribute');
my %value = (
	analyze_sampling => 'auto',
	column_name => 'a',
	extensions => '',
	fdw_startup_cost => '1',
	fdw_tuple_cost => '1',
	fetch_size => '1',
	batch_size => '1',
	pool_mode => 'none',
	schema_name => 'a',
	table_name => 'a',
	connect_timeout => '2');
my %known =
  map { $_ => 1 } $settings =~ /`([a-z]+_[a-z_]+)`/g;
delete @known{ grep { /^(import_(?!stats)|enable_|shard_|application_)/ }
	  keys %known };
foreach my $heading (sort keys %place)
{
	my ($table) = $settings =~ /^### \Q$heading\E\n(.*?)(?=^##)/ms;
	my %listed = map { $_ => 1 }
	  map { /`(\w+)`/g } $table =~ /^\| ((?:`\w+`(?:, )?)+)/mg;

	foreach my $option (sort keys %known)
	{
		my $set = $value{$option} // 'true';
		my $session = $cluster->session;
		my $answer = $session->query("SELECT shard_fdw.shard_fdw_validator("
			  . "ARRAY['$option=$set'], '$place{$heading}'::regclass)");
		my $taken = $answer->is_ok;

		$session->close;
		is($taken ? 1 : 0, $listed{$option} ? 1 : 0,
			"$heading: $option is "
			  . ($taken ? 'taken, and listed' : 'refused, and not listed'))
		  if $taken || $listed{$option};
	}
}

# Functions: name, and each argument's name.  Those without a section of
# their own are how views and the wrapper are made.
foreach (
	lines(q{SELECT proname,
		pg_get_function_arguments(p.oid) FROM pg_proc p
		WHERE pronamespace = 'shard_fdw'::regnamespace ORDER BY 1}))
{
	my ($name, $arguments) = split /\|/;
	my ($heading) = $reference =~ /^### `shard_fdw\.\Q$name\E\(([^\n]*)\)`/m;

	ok($reference =~ /\b\Q$name\E\b/, "function $name is named");
	next unless defined $heading;
	$arguments =~ s/, OUT .*|^OUT .*//;
	$arguments =~ s/::text//g;
	is(lc $heading, lc $arguments, "function $name: arguments");
}

# Columns of functions, views and tables stand in the reference.
foreach (
	lines(q{SELECT relname, attname FROM pg_class c JOIN pg_attribute a
			ON attrelid = c.oid AND attnum > 0
		WHERE relnamespace = 'shard_fdw'::regnamespace AND relkind IN ('r', 'v')
		UNION ALL
		SELECT proname, unnest(proargnames[pronargs + 1:]) FROM pg_proc
		WHERE pronamespace = 'shard_fdw'::regnamespace
		AND proname IN ('get_connections', 'resolve')
		ORDER BY 1, 2}))
{
	my ($relation, $column) = split /\|/;

	ok($reference =~ /`\Q$column\E`/, "$relation: column $column");
}

$cluster->stop;
done_testing;
