#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plans.sh: what a change of a file costs: requests at the store, and bytes to and from it.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 31
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 60000000 /dev/urandom >"$tmp/data"
big=$mnt/big
syncs_of_log=1000
! sanitized || syncs_of_log=100

# What it takes: where the store copies ranges, and on Google Cloud Storage, where an append composes and whatever else
# is changed is sent again. A request there has some bytes that say what it is.
if on_gs; then
	said=2000
	append="objects.compose=1 CreateMultipartUpload=0 PutObject=2 GetObject=0"
	middle="CreateMultipartUpload=1 UploadPart=11 objects.move=1" middle_moved=121000000
	cut="CreateMultipartUpload=1 UploadPart=9 objects.move=1" cut_moved=101000000
	syncs="objects.compose=$syncs_of_log CreateMultipartUpload=0 GetObject=0"
else
	said=0
	# The first of each kind finds out what the server honors.
	append="CreateMultipartUpload=1 UploadPartCopy=2 UploadPart=1 CompleteMultipartUpload=2 GetObject=0"
	middle="CreateMultipartUpload=1 UploadPartCopy=2 UploadPart=1 CompleteMultipartUpload=1 GetObject=1" \
		middle_moved=11000000
	cut="UploadPartCopy=1 UploadPart=0 GetObject=0 CompleteMultipartUpload=1" cut_moved=0
	syncs="CompleteMultipartUpload=$syncs_of_log UploadPartCopy=$syncs_of_log UploadPart=$syncs_of_log GetObject=0"
fi

# Bytes of bodies that went either way since the mark, less than $1.
moved() {
	tail -n "+$(($(cat "$requests.mark") + 1))" "$requests" |
		awk -v put="$(echo PutObject | op_names)" -v get="$(echo GetObject | op_names)" '
		$2 == "UploadPart" || $2 == put { up += $7 } $2 == get { down += $8 }
		END { print up + down + 0 }'
}
expect_moved() {
	n=$(moved)
	if [ "$n" -le "$1" ]; then ok "$2"; else not_ok "$2"; diag "$n bytes"; fi
}

requests_mark
expect_eq "ok ok ok" "$(fdo open wct "$mnt/small" write 1000 close)" "a file that fits a part is written"
# promise: gs.one-part
expect_requests "a file that fits a part is one put" PutObject=1 CreateMultipartUpload=0
requests_mark
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$big" write 60000000 close)" "a large file is written"
expect_requests "a large file is an upload" PutObject=0 CreateMultipartUpload=1 UploadPart=12 \
	UploadPartCopy=0 CompleteMultipartUpload=1
expect_moved 60000000 "a large file is sent in as many bytes as it has"

requests_mark
expect_eq "ok ok ok" "$(fdo open wa "$big" write 1024 close)" "an append to a large file succeeds"
expect_requests "an append leaves what is there in the store" $append
expect_moved $((1024 + said)) "an append sends only what is new"
head -c 1024 /dev/zero | tr '\0' x >"$tmp/x"
cat "$tmp/data" "$tmp/x" >"$tmp/more"
same "a file is at the store byte for byte after an append" "$tmp/more" big

requests_mark
expect_eq "ok ok ok" "$(fdo open w "$big" pwrite 1024 30000000 close)" "a change in the middle succeeds"
# promise: gs.middle
expect_requests "a change in the middle copies what is around it, where that can be" $middle
expect_moved $middle_moved "a change in the middle sends no more than it must"
dd if="$tmp/x" of="$tmp/more" bs=1000 seek=30000 conv=notrunc status=none iflag=fullblock
# promise: bytes.small
same "a file is at the store byte for byte after a change in the middle" "$tmp/more" big

requests_mark
expect_eq "ok" "$(fdo truncate 50000000 "$big")" "a truncate of a large file succeeds"
expect_requests "a truncate copies what stays, where that can be" $cut
expect_moved $cut_moved "a truncate sends no more than it must"
truncate -s 50000000 "$tmp/more"
same "a file is at the store byte for byte after a truncate" "$tmp/more" big

# announced, as safetensors does: every byte is sent once
requests_mark
expect_eq "ok ok ok ok ok" "$(fdo src "$tmp/data" open +ct "$mnt/announced" ftruncate 60000000 \
	write 60000000 close)" "a file is made as long as it will be first"
expect_moved 60000000 "a file of known length is sent once"
expect_requests "a file of known length is sent as it is written" CreateMultipartUpload=1 UploadPart=12 CompleteMultipartUpload=1
same "a file of known length is at the store byte for byte" "$tmp/data" announced

# a header that is written last
requests_mark
expect_eq "ok ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/header" pwrite 59000000 1000000 \
	pwrite 1000000 0 close)" "a file whose start is written last is closed"
same "a file whose start is written last is at the store byte for byte" "$tmp/data" header
expect_eq "ok ok ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/again" write 60000000 \
	src "$tmp/more" pwrite 1000 100 close)" "a part changes after it was sent"
{ head -c 100 "$tmp/data"; tail -c +101 "$tmp/more" | head -c 1000; tail -c +1101 "$tmp/data"; } >"$tmp/again"
same "a part that changes after it was sent is sent again" "$tmp/again" again

# a log that is synced line by line
expect_eq "ok ok" "$(fdo open w "$big" close)" "a close with nothing written asks for nothing"
head -c 6000000 "$tmp/data" >"$tmp/log" # more than a part: the least that a store copies
cp "$tmp/log" "$mnt/log"
requests_mark
# shellcheck disable=SC2046 # words
expect_eq "$((2 * syncs_of_log + 2)) ok" "$(fdo open wa "$mnt/log" $(yes write 100 fsync | head -n $syncs_of_log) close |
	tr -s ' ' '\n' | sort | uniq -c | xargs)" "a thousand lines are written, each synced"
expect_requests "a thousand synced lines copy what is there in the store" $syncs
expect_moved $((syncs_of_log * (100 + said))) "a thousand synced lines send the lines alone"
head -c $((100 * syncs_of_log)) /dev/zero | tr '\0' x >>"$tmp/log"
# promise: publish.goes-on
same "a file is at the store byte for byte after a thousand synced lines" "$tmp/log" log
umount_ckptfs
