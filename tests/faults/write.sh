#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write.sh: after a fault during a write the file is exactly right and no upload is left.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 44; else plan 49; fi
start_store
mount_ckptfs part_size=5M
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
recovers part_corrupt
recovers complete_200_with_error_once CompleteMultipartUpload=2
recovers complete_reply_lost

# A part stalls for longer than it may.
expect_log 'upload-part .*what arrived is not what was sent; it is sent again'
umount_ckptfs
mount_ckptfs part_size=5M stall_timeout=2s
recovers part_stall
check "a part that stalls is sent again" test "$(figure retries)" -gt 0
umount_ckptfs
mount_ckptfs part_size=5M

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

# What was made fills a quota, or must not be replaced: the next try is refused, and says nothing of the first.
lost_then() { printf '{"op": "%s", "times": 1, "do": "reset_after"},\n{"op": "%s", "do": "status", %s}\n' "$1" "$1" "$2"; }
shows=CompleteMultipartUpload # or, where it makes a file under a name of ours, what gives it its own
! on_gs || shows=MoveObject
cat >"$tmp/lost_then.json" <<-END
	[$(lost_then PutObject '"status": 507'),
	$(lost_then CopyObject '"status": 507'),
	$(lost_then $shows '"status": 403, "code": "AccessDenied"')]
END
set_faults "$tmp/lost_then.json"
for bytes in small data; do
	check "$bytes: a close returns 0 though its reply was lost and the next try was refused" cp "$tmp/$bytes" "$mnt/refused.$bytes"
	same "$bytes: what was made by a try whose reply was lost is at the store byte for byte" "$tmp/$bytes" "refused.$bytes"
done
check "a copy succeeds though its reply was lost and the next try was refused" cp --reflink=auto "$mnt/begun" "$mnt/refused.copy"
same "a copy whose reply was lost is at the store byte for byte" "$tmp/data" refused.copy
expect_eq ENOSPC "$(fdo open wct "$mnt/refused.again" write 10 close | xargs -n1 | tail -n 1)" "what was not made is refused"
expect_eq "" "$(store_ls refused.again)" "nothing is made by a close that is refused"
expect_eq "" "$(store_uploads)" "no upload is left where the next try was refused"
set_faults
expect_log 'refused.again: .*No space left on device'
cat >"$tmp/looked.json" <<-END
	[{"op": "PutObject", "times": 1, "do": "reset", "after_bytes": 3},
	 {"op": "PutObject", "do": "status", "status": 403, "code": "AccessDenied"}]
END
set_faults "$tmp/looked.json"
expect_eq EACCES "$(fdo open wct "$mnt/looked" write 10 close | xargs -n1 | tail -n 1)" "a refusal is told where the try before had no effect"
set_faults
expect_log 'put .*/looked: 403 AccessDenied: .* 2 tries'
expect_log 'looked: not published'
expect_log 'put .*/flipped: .*what arrived is not what was sent; it is sent again'
umount_ckptfs

# The version before may have as many bytes in as many parts, and neither has a checksum or an ETag made of its bytes.
if ! on_gs; then
	mount_ckptfs part_size=5M sse=aws:kms checksums=when_required
	head -c 22000000 /dev/zero >"$tmp/before"
	cp "$tmp/before" "$mnt/alike"
	set_rules '{"op": "CompleteMultipartUpload", "times": 1, "do": "status", "status": 503}' \
		'{"op": "CompleteMultipartUpload", "do": "status", "status": 403, "code": "AccessDenied"}'
	expect_eq EACCES "$(fdo src "$tmp/data" open wct "$mnt/alike" write 22000000 close | xargs -n1 | tail -n 1)" \
		"a close that is refused is told so where the version before looks alike"
	same "the version before that looks alike stands" "$tmp/before" alike
	set_faults "$tmp/lost_then.json"
	check "a close returns 0 though its reply was lost, and the version before looks alike" cp "$tmp/data" "$mnt/alike"
	same "what took the place of a version that looks alike is at the store byte for byte" "$tmp/data" alike
	set_faults
	expect_log 'upload-complete .*/alike: 403 AccessDenied'
	expect_log 'alike: not published'
	umount_ckptfs
fi
