
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# A packager's "make install DESTDIR=" puts every file below that folder, and
# each version of the extension can be updated to the newest, after which the
# catalogs are those of a new one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Find;
use IPC::Run;
use PostgreSQL::Test::Utils;
use ShardCluster;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $stage = PostgreSQL::Test::Utils::tempdir();
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my $output;

sub pg_config
{
	my ($what) = @_;
	my $dir = `"$pg_config" --$what`;
	chomp $dir;
	return $dir;
}

ok( IPC::Run::run(
		[
			'make', '-s', '-C', $top, "PG_CONFIG=$pg_config",
			"DESTDIR=$stage", 'install'
		],
		'>&', \$output),
	'make install DESTDIR=')
  or diag($output);
my @installed;
find(sub { push @installed, $File::Find::name if -f }, $stage);
s/^\Q$stage\E// foreach @installed;
my $share = pg_config('sharedir') . '/extension';
my @wanted = (
	pg_config('pkglibdir') . '/shard_fdw.so',
	"$share/shard_fdw.control",
	map { "$share/" . (split m{/})[-1] } glob("$top/extension/*.sql"));
is(join("\n", sort @installed), join("\n", sort @wanted), 'every file');

my $cluster = ShardCluster->new(shards => 1, setup => 0);

# What the extension consists of.
sub catalogs
{
	my ($dbname) = @_;
	my $session = $cluster->session(dbname => $dbname);
	my $all = $session->safe(q{
		SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
		WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension
			WHERE extname = 'shard_fdw')
		UNION ALL
		SELECT pg_get_functiondef(p.oid) || coalesce(proacl::text, '')
			|| coalesce(obj_description(p.oid, 'pg_proc'), '') FROM pg_proc p
		WHERE pronamespace = 'shard_fdw'::regnamespace
		UNION ALL
		SELECT concat_ws(' ', relname, relkind, relacl, reloptions, attname,
			attnum, format_type(atttypid, atttypmod), attnotnull,
			pg_get_expr(adbin, adrelid), col_description(c.oid, attnum),
			obj_description(c.oid, 'pg_class'),
			CASE relkind WHEN 'v' THEN pg_get_viewdef(c.oid) END)
		FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
			LEFT JOIN pg_attrdef ON adrelid = c.oid AND adnum = attnum
		WHERE relnamespace = 'shard_fdw'::regnamespace AND attnum > 0
		UNION ALL
		SELECT concat_ws(' ', fdwname, fdwhandler::regproc,
			fdwvalidator::regproc, fdwacl)
		FROM pg_foreign_data_wrapper WHERE fdwname = 'shard_fdw'
		UNION ALL
		SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE connamespace = 'shard_fdw'::regnamespace
		ORDER BY 1});
	$session->close;
	return $all;
}

$cluster->sql('CREATE DATABASE new');
my $session = $cluster->session(dbname => 'new');
$session->safe('CREATE EXTENSION shard_fdw');
my $newest = $session->safe(
	q{SELECT extversion FROM pg_extension WHERE extname = 'shard_fdw'});
my @versions = split /\n/,
  $session->safe(
	q{SELECT version FROM pg_available_extension_versions
	  WHERE name = 'shard_fdw' ORDER BY version});
$session->close;
ok((grep { $_ eq $newest } @versions), "the newest version is $newest");
foreach my $version (@versions)
{
	$cluster->sql('CREATE DATABASE old');
	$session = $cluster->session(dbname => 'old');
	$session->safe("CREATE EXTENSION shard_fdw VERSION '$version'");
	$session->safe("ALTER EXTENSION shard_fdw UPDATE TO '$newest'");
	$session->close;
	is(catalogs('old'), catalogs('new'), "$version updated to $newest");
	$cluster->sql('DROP DATABASE old WITH (FORCE)');
}

# A dump of a database with the extension can be restored.
my $dump;
ok( IPC::Run::run(
		[
			'pg_dump', '-h', $cluster->coordinator->host,
			'-p', $cluster->coordinator->port, 'new'
		],
		'>', \$dump),
	'pg_dump');
unlike($dump, qr/COPY shard_fdw\./, 'the log and the identity are not dumped');
$cluster->sql('CREATE DATABASE restored');
$cluster->coordinator->safe_psql('restored', $dump);
is(catalogs('restored'), catalogs('new'), 'restored');

$cluster->stop;
done_testing;
