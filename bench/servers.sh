# shellcheck shell=bash
# servers.sh - a coordinator and a shard for bench/*.sh, which source this
#
# PG_CONFIG chooses the PostgreSQL, where the extension must be installed.
# Sets work (a folder that is removed at the end), and for psql and pgbench
# PGHOST and PGUSER; the coordinator is at port $coordinator, the shard at
# $shard.  Each is a server of its own, with fsync on and without parallel
# queries.  Database bench of the coordinator has the extensions shard_fdw and
# postgres_fdw; make_wrapper adds a schema with the shard's tables.
set -euo pipefail

PG_CONFIG=${PG_CONFIG:-pg_config}
bindir=$("$PG_CONFIG" --bindir)
work=$(mktemp -d /tmp/sfb.XXXXXX)
coordinator=57391
shard=57392
export PGHOST=$work PGUSER=postgres PGDATABASE=bench PATH="$bindir:$PATH"
export LC_ALL=C.UTF-8

as_owner=()
[ "$(id -u)" != 0 ] || as_owner=(runuser -u postgres --)
relay_pid=

stop_servers() {
	local port
	[ -z "$relay_pid" ] || kill "$relay_pid" 2>/dev/null || true
	for port in $coordinator $shard; do
		"${as_owner[@]}" "$bindir/pg_ctl" -D "$work/$port" -m immediate -s stop || true
	done
	rm -rf "$work"
}
trap stop_servers EXIT

start_server() { # start_server PORT
	local data=$work/$1
	"${as_owner[@]}" "$bindir/initdb" -D "$data" -A trust -U postgres -E UTF8 >/dev/null
	cat >>"$data/postgresql.conf" <<-CONF
		port = $1
		unix_socket_directories = '$work'
		listen_addresses = ''
		shared_buffers = 512MB
		max_prepared_transactions = 64
		max_parallel_workers_per_gather = 0
		jit = off
		autovacuum = off
		shared_preload_libraries = 'shard_fdw'
	CONF
	"${as_owner[@]}" "$bindir/pg_ctl" -D "$data" -l "$work/log.$1" -w -s start
	createdb -p "$1" bench
}

start_servers() {
	[ "$(id -u)" != 0 ] || chown postgres "$work"
	cd "$work"
	start_server $coordinator
	start_server $shard
	psql -p $coordinator -qX -c 'CREATE EXTENSION shard_fdw' \
		-c 'CREATE EXTENSION postgres_fdw'
}

# make_wrapper SCHEMA WRAPPER OPTIONS [HOST PORT]
make_wrapper() {
	psql -p $coordinator -qX -v ON_ERROR_STOP=1 <<-SQL
		CREATE SERVER $1 FOREIGN DATA WRAPPER $2
		  OPTIONS (host '${4:-$work}', port '${5:-$shard}', dbname 'bench'$3);
		CREATE USER MAPPING FOR PUBLIC SERVER $1 OPTIONS (user 'postgres');
		CREATE SCHEMA $1;
		IMPORT FOREIGN SCHEMA public FROM SERVER $1 INTO $1;
	SQL
}

# how all of it was measured, for the head of a table
describe() {
	printf '%s; %s cores, %s; load before: %s\n' "$("$PG_CONFIG" --version)" \
		"$(nproc)" "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
		"$(cut -d ' ' -f 1-3 /proc/loadavg)"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
lowest() { sort -n "$1" | head -n 1; }
highest() { sort -n "$1" | tail -n 1; }
