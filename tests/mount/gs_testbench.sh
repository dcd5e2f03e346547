#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_testbench.sh: a mount of a bucket of the vendor's testbench, as storesim plays it.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 18
start_store --testbench
api=$CKPTFS_TEST_ENDPOINT/storage/v1/b/$CKPTFS_TEST_BUCKET/o
type_of() { curl -s "$api/$1" | grep -o '"contentType":"[^"]*"'; }
head -c 12000000 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=5M attr_ttl=0 deadline=20s

check "a file of several parts is written" cp "$tmp/data" "$mnt/a"
same "a file of several parts is whole" "$tmp/data" a
expect_eq 0 "$(curl -s "$api/a" | grep -c 'x_testbench')" "what the server notes of a part is no metadata of the file"
check "a file is copied onto a new name" cp "$mnt/a" "$mnt/b"
same "a copy onto a new name is whole" "$tmp/data" b
cp "$tmp/data" "$tmp/longer"
echo tail >>"$tmp/longer"
echo tail >>"$mnt/b"
expect_eq 0 $? "a copy is appended to"
same "an append to a copy adds what it should" "$tmp/longer" b
expect_eq ok "$(fdo rename "$mnt/b" "$mnt/c")" "a file is renamed onto another"
expect_eq ok "$(echo x >"$mnt/small" && fdo rename2 n "$mnt/small" "$mnt/new")" "a file is renamed onto a new name alone, too"
expect_eq "EEXIST" "$(fdo rename2 n "$mnt/new" "$mnt/a")" "a file is not renamed onto another with NOREPLACE"
expect_eq "a c new" "$(store_ls | xargs)" "each file is there once, and no piece"

printf x | curl -s -o "$tmp/out" -H 'Content-Type: text/plain' --data-binary @- \
	"$CKPTFS_TEST_ENDPOINT/upload/storage/v1/b/$CKPTFS_TEST_BUCKET/o?uploadType=media&name=text"
chmod 600 "$mnt/text"
expect_eq '"contentType":"text/plain"' "$(type_of text)" "a change of mode leaves the type"
echo more >>"$mnt/text"
expect_eq '"contentType":"text/plain"' "$(type_of text)" "an append leaves the type"
cp "$mnt/text" "$mnt/text2"
mkdir "$mnt/d"
mv "$mnt/text" "$mnt/d/text"
mv "$mnt/d" "$mnt/e"
expect_eq "xmore" "$(cat "$mnt/e/text")" "a directory is renamed"
expect_eq '"contentType":"text/plain"' "$(type_of e%2Ftext)" "a renamed directory's files keep their type"
expect_eq "xmore" "$(cat "$mnt/text2")" "a copy of a renamed file is read byte for byte"
rm -r "$mnt"/*
expect_eq "" "$(store_ls)" "all files can be removed"
umount_ckptfs
