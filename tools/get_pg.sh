#!/bin/bash
# get_pg.sh - get one PostgreSQL major version with everything an out-of-tree
# PGXS extension needs: server, contrib, libpq and headers, pg_regress,
# isolationtester, the PostgreSQL::Test perl modules.
#
#   get_pg.sh [options] VERSION TARGET        e.g.  get_pg.sh 18 /var/tmp/pg/18
#
#   -m unpack   (default) unpack Debian's packages under TARGET and make the
#               programs use the libc and libraries unpacked with them; no
#               chroot, no mounts; TARGET/bin/pg_config works on this machine
#   -m chroot   a minimal Debian chroot of the suite that carries VERSION, with
#               that suite's own compiler; run things in it with TARGET/enter
#   -m source   build from Debian's source package with assertions, injection
#               points (17 and later) and debug symbols; PG_CFLAGS in the
#               environment replaces the compiler flags (default -Og -g)
#   -s SUITE    Debian suite to take it from   (default: first that has it)
#   -j N        jobs for -m source             (default: number of CPUs)
#   -t TARBALL  -m source: use this source tarball or tree, download nothing
#   -k          -m source: keep the source tree in TARGET/src (for gdb)
#   -n          -m source: no assertions, -O2 (for timing comparisons)
#   -f          start afresh even if TARGET is complete
#
# Needs root, Debian's apt and its configured mirror. The machine's own apt
# sources are read, never changed: suites, lists and caches are private.
# Exit status: 0 done, 2 usage, 3 the mirror does not have it, else a failure.
# shellcheck disable=SC1091,SC2013,SC2016,SC2086 # words are split on purpose
set -euo pipefail
shopt -s inherit_errexit

mode=unpack suite='' jobs=$(nproc) tarball='' keep='' assert=1 force=''
usage() { sed -n '2,/^# shellcheck /{/^# shellcheck /d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
while getopts m:s:j:t:knfh o; do
	case $o in
		m) mode=$OPTARG ;; s) suite=$OPTARG ;; j) jobs=$OPTARG ;;
		t) tarball=$(realpath "$OPTARG") ;; k) keep=1 ;; n) assert= ;; f) force=1 ;; *) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] || usage
ver=$1
target=$(realpath -m "$2")
[[ $ver =~ ^[1-9][0-9]$ ]] || usage
case $mode in unpack | chroot | source) ;; *) usage ;; esac
[ "$(id -u)" = 0 ] || { echo "get_pg: must run as root" >&2; exit 2; }

say() { echo "get_pg $ver: $*" >&2; }
die() { say "$1"; exit "${2:-1}"; }

mkdir -p "$(dirname "$target")"
exec 9>"$(dirname "$target")/.get_pg.$(basename "$target").lock"
flock 9
stamp=$target/.get_pg
want="$mode $ver ${assert:-0}"
if [ -z "$force" ] && [ -f "$stamp" ] && [ "$(head -1 "$stamp")" = "$want" ]; then
	say "already complete in $target ($(tail -1 "$stamp"))"
	exit 0
fi
if [ -e "$target" ]; then
	if [ -e "$stamp" ] || [ -e "$target/.get_pg.partial" ] || rmdir "$target" 2>/dev/null; then
		rm -rf --one-file-system "$target"
	else
		die "$target exists and was not made by this script" 2
	fi
fi
mkdir -p "$target"
touch "$target/.get_pg.partial"

work=$(mktemp -d "${TMPDIR:-/tmp}/get_pg.XXXXXX")
cleanup() { # leaves nothing behind where the mirror has nothing
	local rc=$?
	rm -rf "$work"
	[ $rc -ne 3 ] || rm -rf "$target"
}
trap cleanup EXIT
chmod 755 "$work"

# ---- packages that this script itself needs on the host -------------------
need() {
	local p missing=()
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
	done
	[ ${#missing[@]} -eq 0 ] && return
	say "installing ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
		--no-install-recommends "${missing[@]}" >"$work/need.log" 2>&1 ||
		{ cat "$work/need.log" >&2; die "could not install ${missing[*]}"; }
}

# ---- a private apt state, on the mirror this machine already uses ----------
. /etc/os-release
host_suite=${VERSION_CODENAME:?}
repo() { # repo RELEASE: URI of that release in the machine's own configuration
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -v r="$1" '$1 == r { print $2; exit }'
}
mirror=$(repo "$host_suite")
if [ -z "$mirror" ]; then # a fresh machine: no lists yet
	apt-get -qq update
	mirror=$(repo "$host_suite")
fi
[ -n "$mirror" ] || die "no Debian mirror for $host_suite in this machine's apt configuration"
security=$(repo "$host_suite-security")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keyring" ] || need debian-archive-keyring

sources_for() { # sources_for TYPE SUITE...: lines for a sources.list
	local t=$1 s
	shift
	for s in "$@"; do
		echo "$t [signed-by=$keyring] $mirror $s main"
		case $s in
			bookworm | trixie) [ -z "$security" ] || echo "$t [signed-by=$keyring] $security $s-security main" ;;
		esac
	done
}

private_apt() { # private_apt TYPE SUITE...: set APT_CONFIG to a private state
	local d
	unset APT_CONFIG
	d=$(mktemp -d "$work/apt.XXXXXX")
	chmod 755 "$d"
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
	sources_for "$@" >"$d/sources.list"
	# experimental is never a candidate by itself
	printf 'Package: src:postgresql-%s\nPin: release a=experimental\nPin-Priority: 990\n' "$ver" >"$d/preferences"
	: >"$d/status"
	cat >"$d/apt.conf" <<-EOC
		Dir::Etc::sourcelist "$d/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "$d/preferences";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::State "$d";
		Dir::State::lists "$d/lists";
		Dir::State::status "$d/status";
		Dir::Cache "$d/cache";
		Dir::Cache::pkgcache "pkgcache.bin";
		Dir::Cache::srcpkgcache "srcpkgcache.bin";
		APT::Architectures { "$(dpkg --print-architecture)"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
	EOC
	export APT_CONFIG=$d/apt.conf
	apt-get -qq update
}

# Which suites to ask, in order; each word is a comma list used together.
case $ver in
	15) candidates="bookworm" ;;
	17) candidates="trixie forky sid sid,experimental" ;;
	18) candidates="forky sid sid,experimental" ;;
	*) candidates="forky sid sid,experimental" ;;
esac
[ "$ver" -lt 19 ] || candidates="sid,experimental sid forky"
[ -z "$suite" ] || candidates=$suite

find_suite() { # sets suites= and leaves APT_CONFIG on a state that has VERSION
	local c
	for c in $candidates; do
		private_apt deb ${c//,/ }
		if apt-cache madison "postgresql-server-dev-$ver" | grep -c Packages >/dev/null; then
			suites=${c//,/ }
			return
		fi
	done
	die "postgresql-server-dev-$ver is in none of: $candidates" 3
}

drop_unknown_warnings() { # drop_unknown_warnings MAKEFILE.GLOBAL: for an older host gcc
	local f=$1 w out
	for w in $(grep -E '^C(XX)?FLAGS *=' "$f" | grep -oE -- '-W[a-z][a-z0-9=-]*' | sort -u); do
		case $w in -Wl*) continue ;; esac
		out=$(gcc "$w" -fsyntax-only -x c /dev/null 2>&1) || case $out in *unrecognized*)
			say "host gcc does not know $w: dropped"
			sed -i -E "s/ ${w}( |\$)/ \\1/" "$f"
			;;
		esac
	done
}

drop_unknown_keywords() { # drop_unknown_keywords PG_CONFIG.H: likewise
	if grep -q '^#define HAVE_TYPEOF_UNQUAL 1' "$1" &&
		! echo 'int a; typeof_unqual(a) b;' | gcc -fsyntax-only -x c - 2>/dev/null; then
		say "host gcc does not know typeof_unqual: dropped"
		sed -i 's,^#define HAVE_TYPEOF_UNQUAL 1,/* #undef HAVE_TYPEOF_UNQUAL */,' "$1"
	fi
}

# ---- mode unpack ------------------------------------------------------------
get_unpack() {
	local root=$target/root ma lib ldso f pg global keep_re drop_re
	need patchelf gcc libc6-dev make perl libipc-run-perl tzdata
	id postgres >/dev/null 2>&1 || useradd --system --create-home --home-dir /var/lib/postgresql postgres
	find_suite
	say "unpacking from $suites"
	keep_re='^(lib|zlib1g |postgresql-(client-)?'$ver' )'
	drop_re='^lib(perl|python|llvm|clang|c6-dev|c-l10n|.*-perl |ssl-dev|crypt-dev|semanage|sepol|audit-common|debconf|db5|gdbm|pam-(modules|runtime)|proc2)'
	mkdir -p "$work/debs"
	{
		apt-get -s install "postgresql-$ver" libpq-dev |
			awk '$1 == "Inst" { sub(/:.*/, "", $2); sub(/^\(/, "", $3); print $2 " " $3 }' |
			grep -E "$keep_re" | grep -vE "$drop_re"
		apt-cache madison "postgresql-server-dev-$ver" | awk '$5 != "Sources" { print $1 " " $3; exit }'
	} | awk '{ print $1 "=" $2 }' >"$work/list"
	(cd "$work/debs" && xargs apt-get -qq download <"$work/list")
	mkdir -p "$root/usr/lib" "$root/usr/lib64"
	ln -s usr/lib usr/lib64 "$root/"
	for f in "$work"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$f" | tar -x -C "$root" --keep-directory-symlink --no-same-owner \
			--exclude='./usr/share/doc*' --exclude='./usr/share/man*' --exclude='./usr/share/locale*' \
			--exclude='./usr/share/lintian*' --exclude='./usr/lib/postgresql/*/lib/bitcode*' \
			--exclude='./usr/lib/postgresql/*/lib/llvmjit*' --exclude='./usr/lib/*/gconv*'
	done
	ma=$(gcc -print-multiarch)
	lib=$root/usr/lib/$ma
	ldso=$(find "$lib" "$root/usr/lib" -maxdepth 1 -name 'ld-linux*.so.*' | head -1)
	[ -n "$ldso" ] || die "no dynamic loader unpacked"
	pg=$root/usr/lib/postgresql/$ver
	find "$pg" -type f -size +1k | while read -r f; do
		[ "$(head -c4 "$f" | tail -c3)" = ELF ] || continue
		if readelf -lW "$f" | grep -q INTERP; then
			patchelf --set-interpreter "$ldso" --force-rpath --set-rpath "$lib" "$f"
		fi
	done
	global=$pg/lib/pgxs/src/Makefile.global
	sed -i 's/^with_llvm[[:space:]]*=.*/with_llvm = no/' "$global"
	drop_unknown_warnings "$global"
	drop_unknown_keywords "$root/usr/include/postgresql/$ver/server/pg_config.h"
	ln -s "root/usr/lib/postgresql/$ver/bin" "root/usr/lib/postgresql/$ver/lib" "$target/"
	ln -s "root/usr/share/postgresql/$ver" "$target/share"
	# every library must be there, and come from TARGET, not from the host
	for f in "$pg"/bin/{postgres,psql,initdb,pg_dump} "$pg"/lib/{libpqwalreceiver,postgres_fdw,dblink}.so; do
		if "$ldso" --library-path "$lib" --list "$f" 2>&1 | grep -vF "$lib/" | grep -E '=>|cannot open'; then
			die "$f lacks a library of its own"
		fi
	done >&2
	"$target/bin/postgres" -V
}

# ---- mode chroot ------------------------------------------------------------
get_chroot() {
	local root=$target/root opts=() line
	need mmdebstrap mount
	find_suite
	unset APT_CONFIG
	say "chroot of $suites"
	# the machine's own download settings (expiry checks, proxy) hold inside too
	while read -r line; do opts+=(--aptopt="${line%;}"); done < <(apt-config dump |
		grep -E '^Acquire::(Check-Valid-Until|Check-Date|Retries|https?::Proxy|ForceIPv4) "[^"]+"')
	for line in /usr/share/doc /usr/share/man /usr/share/info /usr/share/locale /usr/share/lintian; do
		opts+=(--dpkgopt="path-exclude=$line/*")
	done
	cat >"$work/setup" <<-EOH
		mkdir -p "\$1/etc/apt/preferences.d" "\$1/etc/postgresql-common" "\$1/usr/sbin"
		printf 'Package: src:postgresql-$ver\nPin: release a=experimental\nPin-Priority: 990\n' >"\$1/etc/apt/preferences.d/postgresql"
		echo 'create_main_cluster = false' >"\$1/etc/postgresql-common/createcluster.conf"
	EOH
	cat >"$work/essential" <<-EOH
		printf '#!/bin/sh\nexit 101\n' >"\$1/usr/sbin/policy-rc.d"
		chmod 755 "\$1/usr/sbin/policy-rc.d"
	EOH
	# server-dev is unpacked, not installed: it would pull in clang and llvm (650 MB)
	cat >"$work/customize" <<-EOH
		chroot "\$1" sh -ec 'cd /tmp; apt-get -qq download postgresql-server-dev-$ver; dpkg-deb -x postgresql-server-dev-$ver*.deb /; rm postgresql-server-dev-$ver*.deb'
		sed -i 's/^with_llvm[[:space:]]*=.*/with_llvm = no/' "\$1/usr/lib/postgresql/$ver/lib/pgxs/src/Makefile.global"
	EOH
	mmdebstrap --quiet --mode=root --variant=apt "${opts[@]}" --dpkgopt=force-unsafe-io \
		--aptopt='APT::Install-Recommends "false"' \
		--setup-hook="sh -e $work/setup \"\$1\"" \
		--essential-hook="sh -e $work/essential \"\$1\"" \
		--customize-hook="sh -e $work/customize \"\$1\"" \
		--include="postgresql-$ver,libpq-dev,gcc,libc6-dev,make,libipc-run-perl" \
		"${suites%% *}" "$root" - < <(sources_for deb $suites)
	cat >"$target/enter" <<-'EOE'
		#!/bin/bash
		# enter DIR COMMAND...: run COMMAND as root in the chroot, in /src, which is
		# DIR of the host; private mounts; everything started is killed at the end.
		# Become the server's user inside with: runuser -u postgres -- COMMAND
		root=$(dirname "$(realpath "$0")")/root
		dir=$(realpath "$1")
		shift
		mkdir -p "$root/src"
		exec unshare --mount --pid --fork --kill-child -- /bin/bash -ec '
			root=$1 dir=$2
			shift 2
			mount --make-rprivate /
			mount -t proc proc "$root/proc"
			mount --rbind /dev "$root/dev"
			mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
			mount --bind "$dir" "$root/src"
			exec chroot "$root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
				PATH="'"/usr/lib/postgresql/PGVER/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"'" \
				sh -c "cd /src && exec \"\$@\"" sh "$@"
		' bash "$root" "$dir" "$@"
	EOE
	sed -i "s/PGVER/$ver/" "$target/enter"
	chmod 755 "$target/enter"
	"$target/enter" "$work" postgres -V
}

# ---- mode source ------------------------------------------------------------
fetch_source() { # prints the path of an orig tarball
	local c v versions
	case $ver in 15) c="bookworm" ;; 17) c="trixie" ;; *) c="forky sid experimental" ;; esac
	private_apt deb-src ${suite:-$c}
	versions=$(apt-cache showsrc "postgresql-$ver" 2>/dev/null | sed -n 's/^Version: //p' | sort -urV)
	for v in $versions; do
		if (cd "$work" && apt-get -qq source --download-only "postgresql-$ver=$v") >"$work/src.log" 2>&1; then
			ls "$work/postgresql-$ver"_*.orig.tar.*[2z]
			return
		fi
		say "the mirror lists source $v but does not serve it"
	done
	return 1
}

get_source() {
	local src=$target/src cflags conf=() c contribs
	need gcc libc6-dev make perl bison flex bzip2 xz-utils libssl-dev libipc-run-perl tzdata
	id postgres >/dev/null 2>&1 || useradd --system --create-home --home-dir /var/lib/postgresql postgres
	[ -n "$tarball" ] || tarball=$(fetch_source) || die "no source for $ver on the mirror" 3
	mkdir -p "$src"
	if [ -d "$tarball" ]; then
		cp -a "$tarball/." "$src/"
	else
		tar -x -C "$src" --strip-components=1 -f "$tarball"
	fi
	if [ -n "$assert" ]; then
		cflags="-Og -g -fno-omit-frame-pointer"
		conf+=(--enable-cassert)
		[ "$ver" -lt 17 ] || conf+=(--enable-injection-points)
	else
		cflags="-O2 -g -fno-omit-frame-pointer"
	fi
	[ "$ver" -lt 16 ] || conf+=(--without-icu)
	cd "$src"
	say "configure"
	./configure -q --prefix="$target" --enable-debug --enable-tap-tests --with-ssl=openssl \
		--without-readline --without-zlib --with-system-tzdata=/usr/share/zoneinfo \
		"${conf[@]}" CFLAGS="${PG_CFLAGS:-$cflags}" >"$target/build.log" 2>&1 ||
		{ tail -20 "$target/build.log" >&2; die "configure failed"; }
	say "make -j$jobs"
	contribs="postgres_fdw dblink file_fdw pg_stat_statements auto_explain pageinspect amcheck pg_visibility"
	{
		make -j"$jobs" && make install &&
			for c in $contribs; do make -j"$jobs" -C "contrib/$c" install || exit 1; done &&
			if [ -n "$assert" ] && [ "$ver" -ge 17 ]; then make -C src/test/modules/injection_points install; fi
	} >>"$target/build.log" 2>&1 || { tail -20 "$target/build.log" >&2; die "build failed"; }
	cd /
	[ -n "$keep" ] || rm -rf "$src"
	"$target/bin/postgres" -V
}

start=$SECONDS
version=$(get_$mode)
printf '%s\n%s\n' "$want" "$version" >"$stamp"
rm -f "$target/.get_pg.partial"
chmod 755 "$target"
say "$version ready in $target after $((SECONDS - start)) s, $(du -sh "$target" | cut -f1)"
case $mode in
	chroot) echo "ENTER=$target/enter" ;;
	*) echo "PG_CONFIG=$target/bin/pg_config" ;;
esac
