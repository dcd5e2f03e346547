# SPDX-License-Identifier: Apache-2.0
# tap.sh: a shell test in TAP. A test sources this, says `plan N`, then runs N checks.
#
#   plan 3
#   check "a name that states the promise" command args...     passes when the command returns 0
#   check_fails "name" command args...      passes when the command returns 1 to 123: it was found, and ended by itself
#   expect_eq WANT GOT "name"
#   skip "name" "reason"
#   skip_rest "name" "reason"   each check that is still to come, and the test ends
#   skip_all "reason"           instead of plan: the whole test needs what the machine lacks
#   lacks GROUP "reason"        the same, but a failure where CKPTFS_REQUIRE (as "interop,sdk") has the group
#
# With "deep" in CKPTFS_REQUIRE, as in CI, every group is required, and a skip is a failure whose reason says that
# something "is not installed" or "built without" it: that is a peer which is missing, and no machine that cannot.
#
# $tmp is a private directory; `at_exit 'command'` runs in reverse order at the end, also on a signal.
# wait_for SECONDS command... waits until the command returns 0; a test that waits in vain fails, so that the
# first time it has a minute at least, for machines that are busy.
# try_for SECONDS command... waits for what may not come.
# freeze PID stops a process, thaw PID lets it go on.
# Every process is started with `spawn` and ended by its pid. The last line tells how long the test took,
# and how much of that its processes computed.

: "${srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${builddir:=$srcdir}"
set -u
umask 022 # of whoever runs the test: modes are compared
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the test: it may run one itself
tap_n=0 tap_failed=0 tap_planned=0 tap_exit=''
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ckptfs-test.XXXXXX")
tap_began=$(date +%s)

# A test that is killed cleans up nothing: who watches it ends the processes that name $tmp, and takes
# its mounts away. After any other end $tmp is gone, and there is nothing to do.
# shellcheck disable=SC2016 # the watcher's words
setsid sh -c '
	tail -f --pid="$1" /dev/null
	[ -d "$2" ] || exit 0
	for left in $(grep -lF "$2/" /proc/[0-9]*/cmdline); do
		left=${left#/proc/}
		kill -KILL "${left%/cmdline}"
	done
	while grep -F " $2/" /proc/self/mounts | cut -d " " -f 2 >"$2/mounted" && [ -s "$2/mounted" ]; do
		xargs umount -l <"$2/mounted" || break
	done
	rm -rf --one-file-system "$2"' sh $$ "$tmp" </dev/null >/dev/null 2>&1 &

at_exit() { tap_exit="$1
$tap_exit"; }

# The sum of what `times` tells.
tap_cpu() { tr 'ms' '  ' | awk '{ n += 60 * ($1 + $3) + $2 + $4 } END { printf "%.1f", n }'; }

tap_finish() {
	rc=$?
	trap - EXIT INT TERM HUP
	eval "$tap_exit"
	times >"$tmp/times"
	tap_vain=$(cat "$tmp/vain" 2>/dev/null)
	echo "# took $(($(date +%s) - tap_began)) s, CPU $(tap_cpu <"$tmp/times") s"
	rm -rf "$tmp"
	if [ "$tap_planned" -gt 0 ] && [ "$tap_n" -ne "$tap_planned" ]; then
		echo "# planned $tap_planned, ran $tap_n (exit status $rc)"
		exit 1
	fi
	[ "$tap_failed" -eq 0 ] && [ -z "$tap_vain" ] || exit 1
	exit "$rc"
}
trap tap_finish EXIT
trap 'exit 130' INT TERM HUP

plan() { tap_planned=$1; echo "1..$1"; }
required() { case ,${CKPTFS_REQUIRE:-}, in *[,\ ]$1[,\ ]* | *[,\ ]deep[,\ ]*) ;; *) return 1 ;; esac; }
is_missing() { case $1 in *'not installed'* | *'built without'* | *'not built'*) required deep ;; *) return 1 ;; esac; }
skip_all() {
	! is_missing "$1" || { echo "Bail out! CKPTFS_REQUIRE has deep: $1"; exit 1; }
	echo "1..0 # SKIP $1"
	exit 0
}
lacks() {
	! required "$1" || { echo "Bail out! CKPTFS_REQUIRE has $1: $2"; exit 1; }
	skip_all "$2"
}
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }
ok() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1"; }
not_ok() { tap_n=$((tap_n + 1)); tap_failed=$((tap_failed + 1)); echo "not ok $tap_n - $1"; }
skip() {
	! is_missing "$2" || { not_ok "$1"; diag "CKPTFS_REQUIRE has deep: $2"; return 0; }
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

skip_rest() {
	while [ "$tap_n" -lt "$tap_planned" ]; do skip "$1" "$2"; done
	exit 0
}

# check_is TEST...: the result of $name, whose command ended with $rc
check_is() {
	if "$@"; then ok "$name"; else
		not_ok "$name"
		echo "# exit status $rc of: $command_line"
		tail -n 20 "$tmp/check.out" | sed 's/^/#   /'
	fi
}

check() {
	name=$1; shift
	command_line=$*
	"$@" >"$tmp/check.out" 2>&1
	rc=$?
	check_is [ $rc -eq 0 ]
}

# The command must fail by itself: one that is not found, is killed or runs out of time has refused nothing.
check_fails() {
	name=$1; shift
	command_line=$*
	"$@" >"$tmp/check.out" 2>&1
	rc=$?
	check_is [ $rc -gt 0 -a $rc -lt 124 ]
}

expect_eq() {
	if [ "$1" = "$2" ]; then ok "$3"; else
		not_ok "$3"; diag "want: $1"; diag "got:  $2"
	fi
}

# Starts a program in the background; its pid is in $spawned and it is ended at exit.
spawn() {
	"$@" &
	spawned=$!
	at_exit "kill $spawned 2>/dev/null && wait $spawned 2>/dev/null"
}

# Stops a process; the kill returns before its threads have stopped, and thaw lets it go on.
freeze() {
	kill -STOP "$1"
	wait_for 60 is_frozen "$1"
}
is_frozen() { [ -d "/proc/$1" ] && ! grep -L "^State:.*stopped" /proc/"$1"/task/*/status | grep -q .; }
thaw() { kill -CONT "$1"; }

try_for() {
	tries=$(($1 * 20)); shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

in_vain() { echo "# $1" | tee -a "$tmp/vain" >&2; }

# What a check is about may never have happened when its wait was in vain.
wait_for() {
	[ "$1" -ge 60 ] || [ -e "$tmp/vain" ] || { shift; set -- 60 "$@"; }
	try_for "$@" && return
	in_vain "waited $1 s in vain for: $(shift; echo "$*")"
	return 1
}
