#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_zonal.sh: of a zonal bucket, which takes appendable objects alone, the log says at the mount that files are not
# written to it.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 8
start_store --hns
printf one | store_put a
store_stop
start_store --zonal
mount_ckptfs attr_ttl=0
expect_eq 1 "$(grep -c 'the bucket is zonal (Rapid Bucket) and takes appendable objects alone, .*: mount it with ro' "$mount_log")" \
	"the log says once that a bucket is zonal"
expect_eq "ok one" "$(fdo rename "$mnt/a" "$mnt/b") $(cat "$mnt/b")" "a file of a zonal bucket is renamed and read"
expect_eq ok "$(fdo mkdir "$mnt/dir")" "a directory is made in a zonal bucket"
expect_eq EIO "$(fdo open wct "$mnt/new" write 10 close | cut -d ' ' -f 3)" "no file is written to a zonal bucket"
expect_eq "" "$(store_ls | grep -v '^b$' | grep -v '/$')" "nothing is left of a file that a zonal bucket refuses"
expect_eq "ok" "$(fdo unlink "$mnt/b")" "a file of a zonal bucket is removed"
expect_log 'the bucket is zonal'
expect_log 'store: put .* 400 invalid: This bucket requires appendable objects'
expect_log 'new: not published'
umount_ckptfs
store_stop
start_store --hns
mount_ckptfs
umount_ckptfs "the log does not say so of other buckets"
