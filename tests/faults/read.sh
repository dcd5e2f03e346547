#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# read.sh: a fault during a read gives the right bytes or an error, never others.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 31
start_store
head -c 20000000 /dev/urandom >"$tmp/data"
head -c 500000 "$tmp/data" >"$tmp/small"
store_put file <"$tmp/data"
store_put small <"$tmp/small"
for name in once always; do head -c 300000 "$tmp/data" | store_put $name; done
head -c 700000 "$tmp/data" | store_put listed
head -c 300000 "$tmp/data" >"$tmp/part"
mount_ckptfs read_size=2M stall_timeout=2s deadline=20s attr_ttl=0

# Whether a read succeeds with the right bytes or fails; which of them the third argument may say.
right_or_error() {
	if cat "$mnt/$2" >"$tmp/got" 2>"$tmp/err"; then
		cmp "$tmp/got" "$1" && [ "${3:-}" != fails ]
	else
		[ "${3:-}" != succeeds ]
	fi
}
says_eio() { right_or_error "$1" "$2" fails && grep -q 'Input/output error' "$tmp/err"; }
drop() { forget_pages "$mnt/file" "$mnt/small" 2>/dev/null; }

for fault in read_reset read_short read_stall; do
	drop
	before=$(figure retries)
	set_faults $fault
	check "$fault: a large file is read byte for byte" right_or_error "$tmp/data" file succeeds
	drop
	set_faults $fault
	check "$fault: a small file is read byte for byte" right_or_error "$tmp/small" small succeeds
	check "$fault: both files are asked for again" test "$(figure retries)" -ge $((before + 2))
	check "$fault: a small file is read byte for byte a second time" right_or_error "$tmp/small" small succeeds
done
drop
set_faults read_corrupt_once
# promise: checksum.returned
check "a large file of which a byte is corrupted is read byte for byte, or is an error" \
	right_or_error "$tmp/data" file
drop
set_faults read_corrupt_once
check "a small file of which a byte is corrupted is read again, byte for byte" right_or_error "$tmp/small" small succeeds
drop
set_faults read_corrupt
check "a small file that is always corrupted is an error" right_or_error "$tmp/small" small fails
# promise: checksum.returned
check "no byte is given of a small file that is always corrupted" test ! -s "$tmp/got"
# promise: errno.EIO
check "a read of a small corrupted file says EIO" grep -q 'Input/output error' "$tmp/err"
drop
# promise: limits.range
check "a large file that is corrupted is EIO, at its end the latest" says_eio "$tmp/data" file
check "the last bytes of a large corrupted file are held back" test "$(stat -c %s "$tmp/got")" -lt 20000000
set_faults
# Pages that the kernel has of it are as wrong as they were.
check "a large corrupted file is read byte for byte once the store is well" right_or_error "$tmp/data" file succeeds
drop
set_faults read_corrupt
exec 3<"$mnt/file"
check "a large file that another program has open is EIO, too" says_eio "$tmp/data" file
set_faults
check "a large corrupted file is read again although the other program still has it open" \
	right_or_error "$tmp/data" file succeeds
exec 3<&-
drop
set_faults read_denied
check "a read that is denied is an error" right_or_error "$tmp/small" small fails
# promise: errno.EACCES
check "a read that is denied says EACCES" grep -q 'Permission denied' "$tmp/err"
expect_log '(small|file): .*(checksum|AccessDenied|CRC32C)'
umount_ckptfs

# What is opened when its name is known: the first bytes are asked for at once.
mount_ckptfs read_size=2M stall_timeout=2s deadline=20s attr_ttl=60s
ls -l "$mnt" >/dev/null
set_faults read_corrupt_once
check "a small file that open asks for is read again, byte for byte" right_or_error "$tmp/part" once succeeds
set_faults read_corrupt
check "a file that open asks for and is always corrupted is EIO" says_eio "$tmp/part" always
check "no byte is given of a corrupted file that open asks for" test ! -s "$tmp/got"
check "a larger corrupted file that a listing told of is EIO" says_eio "$tmp/data" listed
check "the last bytes of a larger corrupted file are held back" test "$(stat -c %s "$tmp/got")" -lt 700000
expect_log '(once|always|listed): .*(checksum|CRC32C)'
umount_ckptfs
