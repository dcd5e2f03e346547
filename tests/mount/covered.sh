#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# covered.sh: of two mounts that begin at one mountpoint at once one is refused, and a mount that another one covers ends
# without taking that away.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6

start_store
set_rules "$(held_once ListObjectsV2 'runs/*')"
mkdir "$mnt"
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET/runs
("$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,stall_timeout=120s" "$url" "$mnt" 2>"$tmp/first.log"
	echo $? >"$tmp/first.rc") &
first=$!
wait_held ListObjectsV2
mount_ckptfs
set_faults
try_for 30 test -s "$tmp/first.rc"
expect_eq "1 1" "$(cat "$tmp/first.rc") $(grep -c 'has a mount (fuse.ckptfs) on it already' "$tmp/first.log")" \
	"a mount is refused where another came while the store was asked"
expect_eq "1" "$(grep -c " $mnt " /proc/self/mounts)" "one mount is at the mountpoint"
check "the mount that was quicker answers" touch "$mnt/file"

mount -t tmpfs covers "$mnt"
: >"$mnt/other"
kill -TERM "$mount_pid"
expect_log "another mount covers this one"
mount_ended "a mount that is covered ends"
expect_eq "other" "$(ls "$mnt")" "the mount that covers another stays when that one ends"
umount "$mnt"
umount "$mnt"
wait $first
check "what was covered can be unmounted" sh -c '! grep -q " $1 " /proc/self/mounts' sh "$mnt"
