
# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

=pod

=head1 NAME

PeerSuite - postgres_fdw's own regression script under two wrappers

=head1 SYNOPSIS

  use PeerSuite;

  my $theirs = PeerSuite::run_script($node, $script, 'postgres_fdw');
  my $ours = PeerSuite::run_script($node, $script, 'shard_fdw');
  foreach my $difference (PeerSuite::differences($theirs, $ours)) { ... }

=head1 DESCRIPTION

The script is run as it stands, but for its EXPLAINs, and once more with the
wrapper's name replaced, on one server.  What the two print is compared after
taking out what is no claim of the script: the widths of tables, CONTEXT lines
(they quote the text sent to the other server) and the echo of errors'
positions.

The script belongs to PostgreSQL's sources; F<tools/peer-suite> fetches it.

=cut

package PeerSuite;

use strict;
use warnings;

use Carp;
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

# where tools/peer-suite puts the files, a folder for each major version
our $folder = '/var/tmp/shard_fdw-peer';

# Each script gets a new database of this name, which the script relies on.
my $dbname = 'contrib_regression';

# pg_regress's environment, which the script relies on as well
my %environment = (
	PGTZ => 'PST8PDT',
	PGDATESTYLE => 'Postgres, MDY',
	LC_MESSAGES => 'C',
	PGOPTIONS => '-c intervalstyle=postgres_verbose');

# Functions that the wrapper keeps in its schema.
my $functions = 'get_connections|disconnect_all|disconnect';

=pod

=head1 FUNCTIONS

=over

=item PeerSuite::file($major, $path)

The peer's file for the major version, relative to its folder, or undef.

=cut

sub file
{
	my ($major, $path) = @_;
	my $file = "$folder/$major/$path";

	return -s $file ? $file : undef;
}

# What psql takes as one unit: a comment, a literal, a quoted name.
my $atom = qr{
	  --[^\n]*
	| /\*.*?\*/
	| [eE]'(?:[^'\\]|\\.|'')*'
	| '(?:[^']|'')*'
	| "(?:[^"]|"")*"
	| (\$[A-Za-z_]*\$).*?\g{-1}
}sx;

=pod

=item PeerSuite::statements($text)

The script's statements and psql commands, each with what stands before it;
the data of a COPY belong to its statement.

=cut

sub statements
{
	my ($text) = @_;
	my @statements;
	my $current = '';

	while ($text =~ /\G($atom|.)/gcs)
	{
		my $piece = $1;

		$current .= $piece;
		if ($piece eq "\\")
		{
			# a psql command goes on to the end of its line
			$text =~ /\G([^\n]*\n?)/gc;
			push @statements, $current . $1;
			$current = '';
		}
		elsif ($piece eq ';')
		{
			if (_bare($current) =~ /^copy\b.*\bfrom\s+stdin\b/is)
			{
				$text =~ /\G(.*?\n\\\.\n)/gcs or croak 'COPY without an end';
				$current .= $1;
			}
			push @statements, $current;
			$current = '';
		}
	}
	push @statements, $current if $current =~ /\S/;
	return @statements;
}

# Without comments and blanks around it.
sub _bare
{
	my ($statement) = @_;

	$statement =~ s{--[^\n]*|/\*.*?\*/}{}gs;
	$statement =~ s/^\s+|\s+$//g;
	return $statement;
}

=pod

=item PeerSuite::rename($text)

The text with the peer's names replaced by ours.

=cut

sub rename
{
	my ($text) = @_;

	$text =~ s/postgres_fdw_($functions)\b/shard_fdw.$1/g;
	$text =~ s/postgres_fdw/shard_fdw/g;
	return $text;
}

=pod

=item PeerSuite::without_explain($text)

The text without the statements that show plans.

=cut

sub without_explain
{
	my ($text) = @_;

	return join('',
		map { /\n$/ ? $_ : "$_\n" }
		  grep { _bare($_) !~ /^explain\b/i } statements($text));
}

=pod

=item PeerSuite::run_script($node, $text, $wrapper)

Runs the text with psql in a new database and returns what it prints.  Leaves
neither the database nor a role behind.

=cut

sub run_script
{
	my ($node, $text, $wrapper) = @_;
	my $output;
	my $path = "$PostgreSQL::Test::Utils::tmp_check/$wrapper.sql";

	$node->safe_psql('postgres',
			"CREATE DATABASE $dbname TEMPLATE template0"
		  . " ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");
	$text = PeerSuite::rename($text) if $wrapper ne 'postgres_fdw';
	append_to_file($path, $text);
	{
		local %ENV = (%ENV, %environment);
		IPC::Run::run(
			[
				'psql', '-Xaq',
				'-h', $node->host,
				'-p', $node->port,
				'-d', $dbname,
				'-f', $path
			],
			'>&',
			\$output,
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default * 5));
	}
	append_to_file("$PostgreSQL::Test::Utils::log_path/peer_$wrapper.out",
		$output);
	_clean_up($node);
	return $output;
}

sub _clean_up
{
	my ($node) = @_;

	foreach my $gid (
		split /\n/,
		$node->safe_psql($dbname,
			'SELECT gid FROM pg_prepared_xacts'
			  . ' WHERE database = current_database()'))
	{
		$node->safe_psql($dbname, "ROLLBACK PREPARED '$gid'");
	}
	$node->safe_psql('postgres', "DROP DATABASE $dbname WITH (FORCE)");
	foreach my $role (
		split /\n/,
		$node->safe_psql('postgres',
			q{SELECT quote_ident(rolname) FROM pg_roles
			  WHERE rolname ~ '^regress_'}))
	{
		$node->safe_psql('postgres', "DROP ROLE $role");
	}
	return;
}

=pod

=item PeerSuite::differences($theirs, $ours)

The places where two outputs differ, each a hash with C<theirs> and C<ours>,
lists of lines, and C<context>, the text to show.

=cut

sub differences
{
	my ($theirs, $ours) = @_;
	my $tmp = $PostgreSQL::Test::Utils::tmp_check;
	my ($diff, @found);

	append_to_file("$tmp/theirs.$$", _normalized($theirs));
	append_to_file("$tmp/ours.$$", _normalized($ours));
	IPC::Run::run([ 'diff', '-U0', "$tmp/theirs.$$", "$tmp/ours.$$" ],
		'>', \$diff);
	my @line = split /\n/, _normalized($theirs);
	while ($diff =~ /^@@ -(\d+)\S* \S+ @@\n((?:[-+].*\n)+)/mg)
	{
		my ($at, $block) = ($1, $2);
		my $first = $at > 12 ? $at - 12 : 0;

		push @found,
		  {
			theirs => [ $block =~ /^-(.*)$/mg ],
			ours => [ $block =~ /^\+(.*)$/mg ],
			context => join('', map { " $_\n" } @line[ $first .. $at - 2 ])
			  . $block
		  };
	}
	unlink "$tmp/theirs.$$", "$tmp/ours.$$";
	return @found;
}

# Without what is no claim of the script.  Rows of a query that does not say
# ORDER BY have no order.
sub _normalized
{
	my ($output) = @_;
	my @lines = map { _normalized_line($_) } split /\n/, $output;
	my ($text, $since) = ('', '');

	while (@lines)
	{
		my $line = shift @lines;
		my @rows;

		$text .= "$line\n";
		$since .= "$line\n";
		next unless $line =~ /^-+(\+-+)*$/;
		push @rows, shift @lines while @lines && $lines[0] !~ /^\(\d+ rows?\)$/;
		@rows = sort @rows if $since !~ /\border\s+by\b/i;
		$text .= join('', map { "$_\n" } @rows);
		$since = '';
	}
	return $text;
}

# The line as a list, or nothing.
sub _normalized_line
{
	my ($line) = @_;

	$line =~ s/^psql:[^:]*:\d+: //;
	return if $line =~ /^CONTEXT:|^LINE \d|^\s*\^\s*$/;
	$line =~ s/postgres_fdw|shard_fdw/FDW/g;
	$line =~ s/FDW[._]($functions)/FDW $1/g;
	$line =~ s/^ ($functions)\s*$/ FDW $1/;
	$line =~ s/-{4,}/----/g;
	$line =~ s/\s+/ /g;
	$line =~ s/^ | $//g;
	return $line;
}

=pod

=item PeerSuite::isolation_tester()

The path of the program that runs isolation tests.

=back

=cut

sub isolation_tester
{
	return dirname($ENV{PG_REGRESS}) . '/../isolation/isolationtester';
}

1;
