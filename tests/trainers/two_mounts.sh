#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_mounts.sh: a writer on one mount and a reader on another of the same bucket: what is opened after
# a close is what was closed, never the version before and never a part.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 8
rounds() { timeout 600 "$builddir/tests/trainers/rounds" "$@"; }
for store in s3 gs; do
	many=${CKPTFS_ROUNDS:-1000}
	[ $store = s3 ] || many=$((many * 3 / 10))
	use_mount ${store}_one
	CKPTFS_TEST_SCHEME=$store
	start_store
	mount_ckptfs
	one=$mnt
	use_mount ${store}_two
	mount_ckptfs
	expect_eq 0 "$(rounds "$one" "$mnt" "$many")" "$store: $many rounds in one direction"
	expect_eq 0 "$(rounds "$mnt" "$one" 100)" "$store: and some in the other"
	umount_ckptfs "$store: the second daemon ends well"
	use_mount ${store}_one
	umount_ckptfs "$store: the first daemon ends well"
done
