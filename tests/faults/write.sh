#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write.sh: after a fault during a write the file is exactly right and no upload is left.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 32
start_store
mount_ckptfs part_size=5M stall_timeout=2s
head -c 22000000 /dev/urandom >"$tmp/data"
head -c 100000 "$tmp/data" >"$tmp/small"


# recovers FAULTS REQUESTS: a file of five parts is right in spite of them
recovers() {
	set_faults "$1"
	requests_mark
	dd if="$tmp/data" of="$mnt/$1" bs=1M status=none
	expect_eq 0 $? "$1: every write and close succeed"
	set_faults
	# promise: checksum.sent
	same "$1: the file is at the store byte for byte" "$tmp/data" "$1"
	expect_eq "" "$(store_uploads)" "$1: no upload is left"
	shift
	[ $# -eq 0 ] || expect_requests "$1: the store got these requests" "$@"
}
recovers part_503 UploadPart=10 CompleteMultipartUpload=1
recovers part_reset CompleteMultipartUpload=1
before=$(figure retries)
recovers part_stall
check "a part that stalls is sent again" test "$(figure retries)" -gt "$before"
recovers part_corrupt
recovers complete_200_with_error_once CompleteMultipartUpload=2
recovers complete_reply_lost

# A first upload that nobody knows the id of is seen and aborted by age.
set_faults begin_lost
cp "$tmp/data" "$mnt/begun"
set_faults
ctl() { "$builddir/ckptctl" uploads "$@" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" | cut -f 3; }
same "a file whose upload was begun twice is at the store byte for byte" "$tmp/data" begun
check "the log says that an upload may be left" grep -q 'beginning of an upload of begun was lost' "$mount_log"
# promise: end.lost-begin
expect_eq "begun begun " "$(ctl list) $(ctl abort --older 0) $(store_uploads)" "an upload whose beginning was lost is aborted by its age"

# What the store does with a condition on a copy is found out by the first.
printf seed >"$mnt/seed"
cp "$mnt/seed" "$mnt/seeded"
set_faults put_faults
for key in refused reset lost flipped; do
	cp "$tmp/small" "$mnt/$key"
	same "a small file that is $key is at the store byte for byte" "$tmp/small" $key
done
requests_mark
cp "$mnt/lost" "$mnt/copied"
same "a file that the store copies is at the store byte for byte though the reply is lost" "$tmp/small" copied
expect_requests "a copy whose reply is lost takes one copy and a refusal" CopyObject=2
expect_log 'upload-part .*what arrived is not what was sent; it is sent again'
expect_log 'put .*/flipped: .*what arrived is not what was sent; it is sent again'
umount_ckptfs
