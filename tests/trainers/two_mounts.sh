#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_mounts.sh: a writer on one mount and a reader on another of the same bucket: what is opened after
# a close is what was closed, never the version before and never a part.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 4
start_store
mount_ckptfs
first_mnt=$mnt first_pid=$mount_pid
end_first() {
	[ -z "$first_pid" ] || { kill -KILL "$first_pid" && wait "$first_pid"; } 2>/dev/null
	while grep -q " $first_mnt fuse.ckptfs " /proc/self/mounts; do umount -l "$first_mnt"; done
}
at_exit end_first
mnt=$tmp/second
mount_ckptfs

rounds() { timeout 200 "$builddir/tests/trainers/rounds" "$@"; }
expect_eq 0 "$(rounds "$first_mnt" "$mnt" "${CKPTFS_ROUNDS:-1000}")" "1000 rounds in one direction"
expect_eq 0 "$(rounds "$mnt" "$first_mnt" 100)" "and some in the other"
umount_ckptfs "the second daemon ends well"
mnt=$first_mnt mount_pid=$first_pid first_pid=
umount_ckptfs "the first daemon ends well"
