#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# direct.sh: O_DIRECT reads and writes the same bytes, and all of a file counts as data.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
start_store
head -c 12345678 /dev/urandom >"$tmp/data"
store_put read <"$tmp/data"
mount_ckptfs part_size=5M attr_ttl=0

expect_eq "$(cksum <"$tmp/data")" "$(dd if="$mnt/read" bs=1M iflag=direct status=none | cksum)" \
	"O_DIRECT reads what is there"
expect_eq "$(tail -c +4097 "$tmp/data" | cksum)" \
	"$(dd if="$mnt/read" bs=4k skip=1 iflag=direct status=none | cksum)" "O_DIRECT reads from any block on"
dd if="$tmp/data" of="$mnt/written" bs=1M oflag=direct status=none
same "O_DIRECT writes a file" "$tmp/data" written
dd if="$tmp/data" of="$mnt/small" bs=4k oflag=direct status=none
# promise: bytes.any, direct.any
same "O_DIRECT writes in small pieces, too" "$tmp/data" small
expect_eq "ok 0 12345678 12345678 ENXIO" \
	"$(fdo open r "$mnt/read" seekdata 0 seekhole 0 seekhole 4096 seekdata 12345678)" \
	"all of a file is data, behind it is a hole"
expect_eq "ok 100" "$(fdo open rd "$mnt/read" pread 100 12345578)" "O_DIRECT reads the last bytes"
expect_eq "ok 0" "$(fdo open rd "$mnt/read" pread 100 12345678)" "O_DIRECT reads nothing behind the last bytes"
expect_eq "ok 50" "$(fdo open rd "$mnt/read" pread 100 12345628)" "a read over the end is short"
umount_ckptfs
