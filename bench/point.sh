#!/bin/bash
# point.sh [ROUNDS [SECONDS]] - SELECT of one row by its key with 1, 4 and 16
# clients, prepared and not: shard_fdw beside postgres_fdw and the shard itself
#
# Prints a table: transactions per second (median, lowest and highest of the
# rounds, which are interleaved), and CPU time of coordinator and shard for each.
here=$(dirname "$(realpath "$0")")
# shellcheck source=bench/servers.sh
. "$here/servers.sh"
rounds=${1:-5}
seconds=${2:-4}
rows=200000

make_table() {
	psql -p $shard -qX <<-SQL
		CREATE TABLE orders (user_id int8 PRIMARY KEY, order_id int8, email text,
		  amount numeric, created_at timestamptz, note text);
		INSERT INTO orders SELECT g, g, 'user' || g || '@example.com', g / 10.0,
		    '2024-01-01'::timestamptz + g * interval '1 second', 'note ' || g
		  FROM generate_series(1, $rows) g;
		VACUUM ANALYZE orders;
		CHECKPOINT;
	SQL
}

check_answers() {
	local schema sum expected=
	for schema in ours peer; do
		sum=$(for key in 1 77 200000; do
			psql -p $coordinator -qAtXc "SELECT * FROM $schema.orders WHERE user_id = $key"
		done | md5sum)
		[ "${expected:=$sum}" = "$sum" ] || { echo "$schema: wrong answer" >&2 && exit 1; }
	done
}

# CPU time in ms of the finished sessions of a server
cpu_of() {
	local hz
	hz=$(getconf CLK_TCK)
	awk -v hz="$hz" '{ print ($16 + $17) * 1000 / hz }' "/proc/$(head -n 1 "$work/$1/postmaster.pid")/stat"
}

run_once() { # run_once WAY MODE CLIENTS
	local port=$coordinator script=$work/$1.sql before0 before1 file done_count
	[ "$1" != direct ] || port=$shard
	# sessions kept by the coordinator end with it, the shard's a moment later
	before0=$(cpu_of $coordinator) before1=$(cpu_of $shard)
	pgbench -n -p $port -M "$2" -c "$3" -j 1 -T "$seconds" -f "$script" >"$work/out" 2>/dev/null
	while [ "$(psql -p $shard -AtXc "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")" != 0 ]; do
		sleep 0.1
	done
	file=$1.$2.$3
	done_count=$(sed -n 's/.*actually processed: //p' "$work/out")
	sed -n 's/^tps = \([0-9]*\).*/\1/p' "$work/out" >>"$work/tps.$file"
	awk -v a="$before0" -v b="$(cpu_of $coordinator)" -v n="$done_count" \
		'BEGIN { printf "%.0f\n", (b - a) * 1000 / n }' >>"$work/cpu0.$file"
	awk -v a="$before1" -v b="$(cpu_of $shard)" -v n="$done_count" \
		'BEGIN { printf "%.0f\n", (b - a) * 1000 / n }' >>"$work/cpu1.$file"
}

start_servers
make_table
make_wrapper ours shard_fdw ''
make_wrapper peer postgres_fdw ''
psql -p $coordinator -qXc ANALYZE
for way in ours peer public; do
	name=$way
	[ $way != public ] || name=direct
	printf '\\set id random(1, %s)\nSELECT * FROM %s.orders WHERE user_id = :id;\n' \
		$rows $way >"$work/$name.sql"
done
check_answers
for _ in $(seq "$rounds"); do
	for mode in prepared simple; do
		for clients in 1 4 16; do
			for way in ours peer direct; do run_once $way $mode $clients; done
		done
	done
done
printf 'SELECT of a row by key, %s rounds of %s s\n' "$rounds" "$seconds"
describe
printf '| %-8s | %-7s | %-6s | %-22s | %8s | %12s | %8s |\n' mode clients way 'per second' 'of peer' 'coord. us' 'shard us'
printf '|---|---|---|---|---|---|---|\n'
for mode in prepared simple; do
	for clients in 1 4 16; do
		for way in ours peer direct; do
			file=$way.$mode.$clients
			printf '| %-8s | %-7s | %-6s | %-22s | %8s | %12s | %8s |\n' $mode $clients $way \
				"$(median "$work/tps.$file") [$(lowest "$work/tps.$file")..$(highest "$work/tps.$file")]" \
				"$(awk -v a="$(median "$work/tps.$file")" -v b="$(median "$work/tps.peer.$mode.$clients")" \
					'BEGIN { printf "%.2f", a / b }')" \
				"$(median "$work/cpu0.$file")" "$(median "$work/cpu1.$file")"
		done
	done
done
