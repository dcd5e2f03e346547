#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pid_namespace.sh: a daemon that cannot see the writers' processes takes each close for one that publishes.
. "$srcdir/tests/lib/mount.sh"
need_fuse
timeout 10 unshare --pid --fork true 2>/dev/null || skip_all "no PID namespace can be made"
plan 4
start_store
mkdir "$mnt"
unshare --pid --fork --kill-child "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT${CKPTFS_TEST_OPTIONS:+,$CKPTFS_TEST_OPTIONS}" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" 2>"$mount_log" &
mount_pid=$!
at_exit mount_atexit
wait_for 60 mounted_or_dead

expect_eq "ok ok ok" "$(fdo open wct "$mnt/closed" write 5 close)" "a process of another PID namespace writes a file"
expect_eq xxxxx "$(store_cat closed)" "a close by a process of another PID namespace publishes"
fdo open wct "$mnt/killed" write 7 kill 9 >/dev/null 2>&1
is_published() { [ "$(store_cat killed 2>/dev/null)" = xxxxxxx ]; }
# promise: kill.unseen
check "the end of a killed process that the daemon cannot see is a close" wait_for 30 is_published
timeout 60 umount "$mnt"
mount_ended "the daemon ends well in a PID namespace of its own"
