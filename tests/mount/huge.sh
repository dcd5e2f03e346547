#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# huge.sh: a file of 5 TiB is read anywhere, and a change in its middle sends what changed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v curl >/dev/null || skip_all "curl is not installed"
plan 8
size=5497558138880
start_store --null --fill big=1,5T
big=$mnt/big00000000
mount_ckptfs memory=128M
# What is read at a place, and what the store has there.
here() { dd if="$big" bs=1 skip="$1" count=5000 iflag=skip_bytes,count_bytes,fullblock status=none | cksum; }
there() {
	curl -s --max-time 60 --noproxy '*' --aws-sigv4 "aws:amz:$AWS_REGION:s3" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
		-H "x-amz-content-sha256: UNSIGNED-PAYLOAD" \
		-r "$1-$(($1 + 4999))" "$CKPTFS_TEST_ENDPOINT/$CKPTFS_TEST_BUCKET/big00000000" | cksum
}

expect_eq "$size" "$(stat -c %s "$big")" "a file has 5 TiB"
for place in 1 2748779069439 $((size - 5000)); do
	expect_eq "$(there $place)" "$(here $place)" "5,000 bytes at $place are read"
done
# The store keeps no bytes, and takes a part for the first bytes of any object.
dd if="$big" bs=1M count=5 status=none >"$tmp/part"
check "5 MiB in the middle of 5 TiB are overwritten" dd if="$tmp/part" of="$big" bs=1M seek=$((size / 2097152)) conv=notrunc
check "a change of 5 MiB in 5 TiB sends less than 6 MiB" test "$(figure sent_bytes)" -lt 6291456
expect_eq "$size $(there $((size / 2 - 100)))" "$(stat -c %s "$big") $(here $((size / 2 - 100)))" \
	"the file that was changed has 5 TiB"
umount_ckptfs
