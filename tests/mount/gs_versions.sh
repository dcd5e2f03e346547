#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_versions.sh: a bucket that keeps what is replaced, whose copies take several calls, and which has no
# moveTo.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 13
head -c 20000000 /dev/zero | tr '\0' A >"$tmp/a"
head -c 20000000 /dev/zero | tr '\0' B >"$tmp/b"
start_store --versioning --rewrite-chunk 3M
store_put file <"$tmp/a"
mount_ckptfs attr_ttl=0 read_size=1M part_size=5M

exec 3<"$mnt/file"
dd bs=1 count=1 status=none <&3 >"$tmp/got"
store_put file <"$tmp/b"
cat <&3 >>"$tmp/got"
exec 3<&-
# promise: read.one-version, gs.replaced
check "who has a file open reads the version that it opened to its end" cmp "$tmp/a" "$tmp/got"
check "who opens a file after its change reads the new version" cmp "$tmp/b" "$mnt/file"
requests_mark
check "a file is copied" cp "$mnt/file" "$mnt/copy"
expect_requests "a file is copied by as many calls as the server wants" CopyObject=7 GetObject=0
same "a file that is copied by several calls is whole" "$tmp/b" copy
umount_ckptfs
store_stop

start_store --no-move --rewrite-chunk 3M
mount_ckptfs attr_ttl=0 part_size=5M
requests_mark
check "a file is renamed" mv "$mnt/copy" "$mnt/moved"
# promise: gs.rename
expect_requests "a rename is a copy where there is no moveTo" objects.move=1 CopyObject=7 DeleteObject=1
expect_eq "file moved" "$(store_ls | xargs)" "a rename by a copy leaves one file"
# promise: gs.rename
same "a file that is renamed by a copy is whole" "$tmp/b" moved
requests_mark
mkdir "$mnt/dir"
mv "$mnt/moved" "$mnt/dir/moved"
mv "$mnt/dir" "$mnt/other"
expect_requests "a server without moveTo is found out once" objects.move=0
same "directories, too, are renamed by copies" "$tmp/b" other/moved
umount_ckptfs
