#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mmap.sh: what a program writes through a shared mapping is published as what it writes otherwise.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 13
start_store
head -c 12000000 /dev/urandom >"$tmp/data"
head -c 12000000 /dev/zero | store_put old
mount_ckptfs part_size=5M attr_ttl=0

expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open + "$mnt/old" mapwrite 1000000 5000000 close)" \
	"a piece of a published file is changed by a mapping"
cp "$mnt/old" "$tmp/back"
head -c 12000000 /dev/zero >"$tmp/want"
dd if="$tmp/data" of="$tmp/want" bs=1000000 skip=5 seek=5 count=1 conv=notrunc status=none
same "close publishes what a mapping changed" "$tmp/want" old
check "the mount reads what a mapping changed" cmp "$tmp/want" "$tmp/back"

expect_eq "ok ok ok ok ok" \
	"$(fdo src "$tmp/data" open +ct "$mnt/new" ftruncate 12000000 mapwrite 12000000 0 close)" \
	"a new file is written by a mapping"
same "close publishes a new file of a mapping" "$tmp/data" new

fdo_begin src "$tmp/data" open +ct "$mnt/synced" ftruncate 12000000 mapwrite 12000000 0 fsync pause close
# promise: bytes.msync
same "fsync publishes a new file of a mapping" "$tmp/data" synced
fdo_ends "ok ok ok ok ok ok ok" "a file that a mapping wrote is closed after fsync"

expect_eq "ok ok ok ok 4 ok" \
	"$(fdo src "$tmp/data" open +ct "$mnt/mixed" write 8000000 mapwrite 4000 8000 pread 4 8000 close)" \
	"a mapping and writes are of one file"
expect_eq "$(head -c 8000000 "$tmp/data" | cksum)" "$(store_cat mixed | cksum)" "a file of a mapping and writes is at the store byte for byte"
expect_eq "ok 12000000" "$(fdo open r "$mnt/new" pread 12000000 0)" \
	"a mapping and writes are read as written"
expect_eq "ok ok ok ok" \
	"$(fdo src "$tmp/data" open +ct "$mnt/late" ftruncate 12000000 mapclosed 12000000 0)" \
	"a file is written by a mapping after it was closed"
late_is_right() { store_cat late | cmp -s - "$tmp/data"; }
# promise: bytes.msync
check "the end of the mapping publishes it" wait_for 30 late_is_right
umount_ckptfs
