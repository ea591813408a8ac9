#!/usr/bin/perl

# Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.

# Prints what bench.pl has found, and puts it into the document.
#
#	report.pl [--doc FOLDER] [RESULTS.JSON]
#
# With --doc the tables replace those of the same name in
# FOLDER/performance/results.json, and from all that this file then has the
# generated parts of FOLDER/performance.md and the pictures are made anew.
# What is generated stands between "<!-- bench: NAME -->" and "<!-- end -->".

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use File::Path qw(make_path);
use Getopt::Long;
use JSON::PP;

use Bench::Plot;
use Bench::Result;

my @order =
  qw(trips session atomicity throughput planning scan aggregate load memory);

sub read_file
{
	my ($file) = @_;
	open(my $fh, '<', $file) or die "report.pl: could not read $file: $!\n";
	local $/;
	return readline($fh);
}

sub write_file
{
	my ($file, $text) = @_;
	open(my $fh, '>', $file) or die "report.pl: could not write $file: $!\n";
	print $fh $text;
	close($fh) or die "report.pl: could not write $file: $!\n";
	return;
}

sub how_measured
{
	my ($found) = @_;
	my $rounds = $found->{rounds};

	my $text = sprintf('%s, %s, load before %s',
		$found->{date},
		$found->{version} =~ s/^postgres \(PostgreSQL\) (\S+).*/PostgreSQL $1/r,
		$found->{load});
	$text .= sprintf(
		'; %d measurements, %d repeated and %d kept although other processes'
		  . ' were busy',
		$rounds->{measured} - $rounds->{repeated},
		$rounds->{repeated},
		$rounds->{kept})
	  if $rounds->{measured};
	$text .= '; with --quick, only to see that it works' if $found->{quick};
	return "$text.";
}

sub tables
{
	my ($found) = @_;
	return
		how_measured($found) . "\n\n"
	  . join(
		"\n",
		map {
			"**$_->{title}**\n\n"
			  . Bench::Result::format_table($_->{columns}, $_->{rows})
		} @{ $found->{tables} })
	  . join('', map { "\n$_\n" } @{ $found->{notes} });
}

sub targets
{
	my ($results) = @_;
	my @rows = map { @{ $results->{$_}{targets} } }
	  grep { $results->{$_} } @order;
	my $missed = grep { $_->[3] ne 'yes' } @rows;

	return sprintf("%d of %d targets are met.\n\n",
		@rows - $missed, scalar @rows)
	  . Bench::Result::format_table([ 'what', 'target', 'measured', 'met' ],
		\@rows);
}

sub machine
{
	my ($results) = @_;
	my @all = map { $results->{$_} } grep { $results->{$_} } @order;
	my %seen;
	my @machines = grep { !$seen{$_}++ } map { $_->{machine} } @all;
	my $settings = $all[0]{settings};

	return
		"- " . join('; ', @machines) . "\n"
	  . "- every server: $settings->{servers}\n"
	  . "- postgres_fdw at its best, where the version has them:"
	  . " $settings->{postgres_fdw}\n";
}

sub update_document
{
	my ($doc, $results, @plots) = @_;
	my $file = "$doc/performance.md";
	my $text = read_file($file);
	my %part = (
		machine => machine($results),
		targets => targets($results),
		map { $_ => tables($results->{$_}) } keys %$results);

	foreach my $plot (reverse @plots)
	{
		$part{ $plot->{table} } =
		  "![$plot->{title}](performance/$plot->{file})\n\n"
		  . $part{ $plot->{table} };
	}
	foreach my $name (sort keys %part)
	{
		$text =~ s/(<!-- bench: $name -->\n).*?(<!-- end -->)/$1\n$part{$name}\n$2/s
		  or die "report.pl: $file has no place for $name\n";
	}
	write_file($file, $text);
	return;
}

my $doc;
GetOptions('doc=s' => \$doc) or die "report.pl: wrong options\n";
my $json = JSON::PP->new->canonical->pretty->indent_length(1);
my $found = @ARGV ? $json->decode(read_file($ARGV[0])) : {};

foreach my $name (grep { $found->{$_} } @order)
{
	printf "\n==== %s\n\n%s", $name, tables($found->{$name});
}
print "\n==== targets\n\n", targets($found) if %$found;
if ($doc)
{
	my $store = "$doc/performance/results.json";
	make_path("$doc/performance");
	my $results = {
		(-e $store ? %{ $json->decode(read_file($store)) } : ()), %$found };

	write_file($store, $json->encode($results));
	update_document($doc, $results,
		Bench::Plot::draw("$doc/performance", $results));
}
