#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# basic.sh: bytes written in blocks of any size are the object's, and come back through the mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 27
start_store
mount_ckptfs part_size=5M

# written BLOCK SIZE: a file of that size, written in such blocks
written() {
	head -c "$2" /dev/urandom >"$tmp/data"
	dd if="$tmp/data" of="$mnt/block$1" bs="$1" status=none
	expect_eq "0 $2" "$? $(stat -c %s "$mnt/block$1")" "$2 bytes in blocks of $1 are written"
	same "$2 bytes in blocks of $1 are the object" "$tmp/data" "block$1"
	check "$2 bytes in blocks of $1 come back through the mount" cmp "$tmp/data" "$mnt/block$1"
}
requests_mark
written 1 3001
written 4095 5242879
expect_requests "a file that fits a part is one PutObject" \
	PutObject=2 CreateMultipartUpload=0 CompleteMultipartUpload=0
requests_mark
written 65537 12000001
written 1048576 15728640
written 3145728 30000000
expect_requests "a file that is larger than a part is uploaded in parts" PutObject=0 CreateMultipartUpload=3 \
	UploadPart=12 CompleteMultipartUpload=3
requests_mark
written 5242880 5242880
expect_requests "a file of exactly one part needs at most one upload" CompleteMultipartUpload=1

sleep 1.1
now=$(date +%s)
fdo_begin open wct "$mnt/timed" write 1 pause close
check "the time of a file being written is the present" test "$(stat -c %Y "$mnt/timed")" -ge "$now"
: >"$tmp/fdo/go"; wait "$fdo_pid"
check "the time of a file stays when it is published" test "$(stat -c %Y "$mnt/timed")" -ge "$now"
rm "$mnt/timed"

printf 'new' >"$mnt/block1"
expect_eq "new new" "$(cat "$mnt/block1") $(store_cat block1)" "a file is replaced by a shorter one"
expect_eq "block1 block1048576 block3145728 block4095 block5242880 block65537" \
	"$(cd "$mnt" && echo *)" "all files are listed"
rm "$mnt"/block*
expect_eq 0 "$?$(store_ls)" "all files are deleted"
umount_ckptfs
