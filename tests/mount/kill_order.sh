#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill_order.sh: what a killed writer left is published by no other user who closes it after the kill.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 3
start_store
mount_ckptfs allow_other,threads=1
# promise: kill.nothing
expect_eq "the close says that nothing was published" "$(python3 "$srcdir/tests/mount/kill_order.py" "$mnt" 1000)" "a child that became another user is told"
expect_eq "" "$(store_ls killed)" "nothing of a killed writer is published"
expect_log 'killed: not published'
umount_ckptfs
