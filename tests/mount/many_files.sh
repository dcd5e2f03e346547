#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# many_files.sh: what it costs to make, look at and remove many small files of one directory.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 16
start_store
mount_ckptfs attr_ttl=60s
mkdir "$mnt/d"
requests_mark
for i in $(seq 100); do echo "$i" >"$mnt/d/f$i"; done
expect_requests "100 files are 100 puts" PutObject=100 CreateMultipartUpload=0
check "100 files are a few listings" test "$(requests_of ListObjectsV2)" -le 8
# promise: fresh.many
check "100 files are a few looks" test "$(requests_of HeadObject)" -le 5
requests_mark
for i in $(seq 200 219); do echo "$i" >"$mnt/d/f$i.tmp" && mv "$mnt/d/f$i.tmp" "$mnt/d/f$i"; done
check "20 files that are renamed when they are written are one listing each" test "$(requests_of ListObjectsV2)" -le 23
rm "$mnt"/d/f2??
printf elsewhere | store_put d/f100x
# promise: fresh.many
expect_eq "elsewhere" "$(cat "$mnt/d/f100x")" "what another host makes among them is found"
expect_eq "100 100" "$(rm "$mnt/d/f100x"; ls "$mnt/d" | wc -l) $(cat "$mnt/d/f100")" "files of another host are there"

umount_ckptfs

mount_ckptfs attr_ttl=0
# Names that begin others, and come before or behind what is below them.
doubt() { for i in 1 2 3; do fdo size "$mnt/$1nothing$i" >/dev/null; done; }
for key in x x- x.1 x.2 x.3 x.4 x.5 x.6 x.7 x.8 x.9 x/below x0 y/below z/; do printf '%s' "$key" | store_put "$key"; done
doubt ''
expect_eq "x ENOENT" "$(cat "$mnt/x") $(fdo size "$mnt/x+")" "a file is found among its like"
objects rm x
doubt ''
expect_eq "x/below" "$(cat "$mnt/x/below")" "a directory is found behind many names that begin like it"
doubt ''
expect_eq "y/below" "$(cat "$mnt/y/below")" "a name is found which no other begins with"
doubt ''
expect_eq "directory" "$(stat -c %F "$mnt/z")" "an empty file is found"
doubt ''
expect_eq "ENOENT ENOENT" "$(fdo size "$mnt/belo" size "$mnt/x.11")" "a name that is not there is not found"
for key in old1 old2 old3; do printf old | store_put d/$key; done
for i in 1 2 3; do echo "$i" >"$mnt/d/g$i"; done
for key in old1 old2 old3; do printf new >>"$mnt/d/$key"; done
expect_eq "oldnew oldnew oldnew" "$(cat "$mnt/d/old1") $(cat "$mnt/d/old2") $(store_cat d/old3)" \
	"a file that is there is not made anew"
doubt d/
printf elsewhere | store_put d/other
expect_eq elsewhere "$(cat "$mnt/d/other")" "what another host makes is found at once"
doubt d/
expect_eq "ok ok ok EEXIST" "$(fdo open wcx "$mnt/d/new" write 1 close open wcx "$mnt/d/new")" \
	"a name is taken once"
umount_ckptfs
