#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_frozen.sh: parts that wait for their turn in a session do not wait while the mount is stopped: the file that they
# are of is published, however long that was.
CKPTFS_TEST_SCHEME=gs
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 3
start_store
head -c 23456789 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=5M upload=resumable stall_timeout=10s deadline=20s
set_rules "$(held_once objects.chunk '*')"
fdo_begin src "$tmp/data" open wct "$mnt/file" write 23456789 pause close
wait_held objects.chunk
freeze "$mount_pid"
sleep 22
thaw "$mount_pid"
set_faults
# promise: deadline.stopped
fdo_ends "ok ok ok ok ok" "a close of a session succeeds after a stop that is longer than the deadline"
same "a file whose session stood still with its mount has its bytes" "$tmp/data" file
umount_ckptfs
