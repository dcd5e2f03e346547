#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replaced.sh: a reader whose object is replaced gets old bytes or ESTALE, never a mixture.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 20
start_store
mount_ckptfs attr_ttl=0 read_size=1M
head -c 20000000 /dev/zero | tr '\0' A >"$tmp/a"
head -c 20000000 /dev/zero | tr '\0' B >"$tmp/b"

store_put file <"$tmp/a"
# Reads a byte, waits, then reads on: prints the kinds of bytes seen and the end.
{
	dd bs=1 count=1 status=none
	: >"$tmp/begun"
	wait_for 20 test -e "$tmp/go"
	dd bs=100001 status=none 2>"$tmp/dd.err"
} <"$mnt/file" >"$tmp/got" &
wait_for 20 test -e "$tmp/begun"
store_put file <"$tmp/b"
: >"$tmp/go"
wait $!
# promise: read.one-version
expect_eq A "$(tr -s AB <"$tmp/got")" "who reads on sees bytes of the old version only"
check "who reads on after a replacement gets ESTALE" grep -q 'Stale file handle' "$tmp/dd.err"
check "who gets ESTALE has not all bytes" test "$(stat -c %s "$tmp/got")" -lt 20000000
expect_eq "B 20000000" "$(tr -s AB <"$mnt/file") $(stat -c %s "$mnt/file")" \
	"a file that is opened again is the new version"

printf ccc | store_put file
expect_eq "ccc 3" "$(cat "$mnt/file") $(stat -c %s "$mnt/file")" "a file that is opened again may be shorter"
store_put file <"$tmp/a"
expect_eq "A 20000000" "$(tr -s AB <"$mnt/file") $(stat -c %s "$mnt/file")" "a file that is opened again may be longer"

# a whole read of the same length again, from the page cache or not
store_put file <"$tmp/b"
expect_eq "B" "$(tr -s AB <"$mnt/file")" "cached pages of the old version are not shown"
# from_cache FILE: reads it once more, without a request; the kernel may drop pages at any moment: until it lets them stay
from_cache() {
	for _ in 1 2 3 4 5 6; do
		requests_mark
		again=$(tr -s AB <"$1")
		! requests_are GetObject=0 || break
	done
}
from_cache "$mnt/file"
expect_eq "B" "$again" "cached pages of the present version are kept"
expect_requests "nothing is read again of the present version" GetObject=0

# deleted
forget_pages "$mnt/file"
fdo_begin open r "$mnt/file" pread 1000 0 pause pread 1000 19000000 close
objects rm file
fdo_next
expect_eq "ok 1000 ok ESTALE ok" "$(cat "$tmp/fdo/out")" "a reader of a deleted object gets ESTALE for what it has not read"
expect_eq ENOENT "$(fdo open r "$mnt/file")" "the name of a deleted object is gone"

# The first bytes are asked for together with the version, when it is known already.
head -c 700000 "$tmp/a" | store_put ahead
expect_eq 700000 "$(stat -c %s "$mnt/ahead")" "a smaller file is read"
requests_mark
: <"$mnt/ahead"
expect_requests "open asks for the beginning of a file, too" GetObject=1
expect_eq 131072 "$(awk -v get="$(echo GetObject | op_names)" '$2 == get { n = $8 } END { print n }' "$requests")" \
	"the beginning that open asked for is what is read first"
head -c 700000 "$tmp/b" | store_put ahead
# promise: read.one-version
expect_eq "B" "$(tr -s AB <"$mnt/ahead")" "no byte is shown of another version than the one known"
from_cache "$mnt/ahead"
expect_eq "B" "$again" "a read finds what the page cache has"
expect_requests "what the page cache has is not asked for" GetObject=0

umount_ckptfs

mount_ckptfs attr_ttl=1s
printf one | store_put ttl
cat "$mnt/ttl" >/dev/null
printf two2 | store_put ttl
# promise: fresh.age
check "after attr_ttl the new bytes are seen" wait_for 10 grep -q two2 "$mnt/ttl"
umount_ckptfs
