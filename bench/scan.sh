#!/bin/bash
# scan.sh [ROUNDS [ROWS]] - a full scan, sent on to a client: shard_fdw beside
# postgres_fdw with different fetch sizes and beside the shard itself
#
# Prints a table: milliseconds (median, lowest and highest of the rounds, which
# are interleaved), and CPU time of the coordinator's session.  With a C compiler
# and bench/delay_relay.c, also with 1 ms each way.  Each answer is compared.
here=$(dirname "$(realpath "$0")")
# shellcheck source=bench/servers.sh
. "$here/servers.sh"
rounds=${1:-5}
rows=${2:-1000000}

make_table() {
	psql -p $shard -qX <<-SQL
		CREATE TABLE wide (id int8 PRIMARY KEY, user_id int8, note text,
		  amount numeric, at timestamptz, score float8);
		INSERT INTO wide SELECT g, g % 1000, 'note number ' || g,
		    (g * 7 % 100000) / 100.0,
		    '2024-01-01'::timestamptz + g * interval '1 second', g / 7.0
		  FROM generate_series(1, $rows) g;
		VACUUM ANALYZE wide;
		CHECKPOINT;
	SQL
}

# make_ways PREFIX HOST PORT
make_ways() {
	local size
	make_wrapper "$1ours" shard_fdw '' "$2" "$3"
	for size in 100 1000 10000 50000; do
		make_wrapper "$1peer$size" postgres_fdw ", fetch_size '$size'" "$2" "$3"
	done
	psql -p $coordinator -qXc "ANALYZE"
}

# one way: its port and table
place_of() {
	if [ "$1" = direct ]; then echo "$shard public.wide"; else echo "$coordinator $1.wide"; fi
}

check_answers() {
	local way place sum expected=
	for way in "$@"; do
		read -r -a place <<<"$(place_of "$way")"
		sum=$(psql -p "${place[0]}" -qAtXc "COPY (SELECT * FROM ${place[1]}) TO STDOUT" | sort | md5sum)
		[ "${expected:=$sum}" = "$sum" ] || { echo "$way: wrong answer" >&2 && exit 1; }
	done
}

run_once() { # run_once WAY: milliseconds, and CPU milliseconds of the session
	local place
	read -r -a place <<<"$(place_of "$1")"
	psql -p "${place[0]}" -qAtX >/dev/null <<-SQL
		SELECT pg_backend_pid() AS pid \\gset
		\\setenv PID :pid
		\\! cat /proc/\$PID/schedstat >$work/cpu0; date +%s%N >$work/time0
		COPY (SELECT * FROM ${place[1]}) TO STDOUT;
		\\! date +%s%N >$work/time1; cat /proc/\$PID/schedstat >$work/cpu1
	SQL
	echo $((($(<"$work/time1") - $(<"$work/time0")) / 1000000)) >>"$work/ms.$1"
	awk 'NR == 1 { a = $1 } NR == 2 { print int(($1 - a) / 1000000) }' \
		"$work/cpu0" "$work/cpu1" >>"$work/cpu.$1"
}

show() { # show REFERENCE WAY...: each beside the reference, which is ours
	local way reference=$1
	shift
	printf '| %-22s | %-20s | %6s | %8s |\n' 'way' 'ms' 'CPU ms' 'ms/ours'
	printf '|---|---|---|---|\n'
	for way in "$@"; do
		printf '| %-22s | %-20s | %6s | %8s |\n' "$way" \
			"$(median "$work/ms.$way") [$(lowest "$work/ms.$way")..$(highest "$work/ms.$way")]" \
			"$(median "$work/cpu.$way")" \
			"$(awk -v a="$(median "$work/ms.$way")" -v b="$(median "$work/ms.$reference")" \
				'BEGIN { printf "%.2f", a / b }')"
	done
}

start_relay() { # sets relay_port
	local source=$here/delay_relay.c
	[ -f "$source" ] && cc -O2 -o "$work/relay" "$source" 2>/dev/null || return 1
	coproc RELAY { "$work/relay" "$work/.s.PGSQL.$shard"; }
	# shellcheck disable=SC2153 # coproc sets it
	relay_pid=$RELAY_PID
	read -r relay_port <&"${RELAY[0]}"
	echo 'delay 1000' >&"${RELAY[1]}"
}

start_servers
make_table
make_ways '' "$work" $shard
ways=(direct ours peer100 peer1000 peer10000 peer50000)
far=()
if start_relay; then
	make_ways far_ 127.0.0.1 "$relay_port"
	far=(far_ours far_peer100 far_peer1000 far_peer10000 far_peer50000)
fi
check_answers direct ours peer10000
for _ in $(seq "$rounds"); do
	for way in "${ways[@]}" "${far[@]}"; do run_once "$way"; done
done
printf '%s rows x 6 columns to a client, %s rounds\n' "$rows" "$rounds"
describe
show ours "${ways[@]}"
[ ${#far[@]} -eq 0 ] || { printf '\n1 ms each way to the shard\n' && show far_ours "${far[@]}"; }
