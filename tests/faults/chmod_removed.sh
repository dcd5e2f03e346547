#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# chmod_removed.sh: a file that is removed here may get another mode though nobody could tell its mode before.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 2
start_store
mount_ckptfs attr_ttl=10m
cat >"$tmp/no_look.json" <<-END
	[{"op": "HeadObject", "key": "f", "do": "status", "status": 403, "code": "AccessDenied"}]
END
printf one >"$mnt/f"
# The change meets another host's version, of which the mount may learn nothing.
printf other | store_put f
set_faults "$tmp/no_look.json"
fdo_begin open p "$mnt/f" chmod 600 "$mnt/f" unlink "$mnt/f" pause rechmod 640
set_faults
fdo_ends "ok EACCES ok ok ok" "a file that was removed gets another mode"
expect_log 'store: head .* Permission denied'
umount_ckptfs
