#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# latest.sh: a name that is replaced by renames again and again always leads to a whole file.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6
start_store
latest() {
	timeout -k 5 120 "$builddir/tests/mount/latest" "$mnt" "$1" "$2" >"$tmp/latest" 2>"$tmp/wrong"
	expect_eq "0 " "$? $(sort "$tmp/wrong" | uniq -c | sort -rn | head -n 5)" "readers see the latest version: $3"
	check "readers saw many versions: $3" awk '$1 < '$((${2} * 4))' { exit 1 }' "$tmp/latest"
}
mount_ckptfs
# promise: publish.close
latest 6 ${CKPTFS_ROUNDS:-300} "who opens a file finds one whole version, and none of before"
umount_ckptfs
mount_ckptfs attr_ttl=0
# promise: read.local
latest 6 ${CKPTFS_ROUNDS:-300} "nothing is believed for long"
umount_ckptfs
