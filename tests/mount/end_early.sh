#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# end_early.sh: a signal ends the command while the store has not answered yet, in the foreground and in the background.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 8
start_store
mkdir "$mnt"
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET/runs

# ended SIGNAL [FLAG]
ended() {
	set_rules "$(held_once ListObjectsV2 'runs/*')"
	# shellcheck disable=SC2086
	env --default-signal=INT "$builddir/ckptfs" ${2-} -o "endpoint=$CKPTFS_TEST_ENDPOINT,stall_timeout=600s,deadline=600s" "$url" "$mnt" 2>"$tmp/err" &
	command=$!
	wait_held ListObjectsV2
	kill -"$1" $command
	wait_for 60 gone_or_zombie $command
	wait $command
	# promise: mount.early
	expect_eq "1 ckptfs: a signal came before the mount stood: nothing is mounted" "$? $(cat "$tmp/err")" \
		"$1 ends the command while the store does not answer${2:+, with $2}"
	check "$1 leaves no daemon${2:+, with $2}" wait_for 60 no_daemon
	set_faults
}
gone_or_zombie() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }
no_daemon() { ! pgrep -f "ckptfs .*$mnt\$" >/dev/null; }
ended TERM -f
ended INT -f
ended TERM
ended INT
