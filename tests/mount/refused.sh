#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# refused.sh: what is not built yet is refused, and neither publishes nor changes anything.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 5
start_store
mount_ckptfs attr_ttl=0
printf 0123456789 >"$mnt/file"
mkdir "$mnt/dir"
requests_mark

expect_eq EPERM "$(fdo link "$mnt/file" "$mnt/other")" "a hard link is refused"
# promise: fallocate
expect_eq "ok EOPNOTSUPP" "$(fdo open w "$mnt/file" punch 0 5)" "punching a hole is refused"
expect_requests "refused operations leave the store as it was" PutObject=0 DeleteObject=0 CopyObject=0 \
	CreateMultipartUpload=0
expect_eq "0123456789 10" "$(store_cat file) $(stat -c %s "$mnt/file")" "refused operations leave the file as it was"
umount_ckptfs
