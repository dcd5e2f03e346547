#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bigfile.sh: a file of many more parts than fit the memory, written and read back whole.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6
start_store
mount_ckptfs part_size=5M memory=64M
truncate -s 8M "$tmp/zero"
openssl enc -aes-128-ctr -K 0123456789abcdef0123456789abcdef -iv 00 -in "$tmp/zero" \
	-out "$tmp/unit" 2>/dev/null || head -c 8M /dev/urandom >"$tmp/unit"

# 300 MiB in which no two units of 8 MiB are the same
bytes() {
	for i in $(seq 37); do
		echo "unit $i"
		cat "$tmp/unit"
	done | head -c 310378497
}
sum=$(bytes | cksum)
requests_mark
bytes | dd of="$mnt/big" bs=1M iflag=fullblock status=none
expect_eq "0 310378497" "$? $(stat -c %s "$mnt/big")" "300 MiB and a byte are written"
expect_requests "the upload of 300 MiB and a byte has 60 parts" CreateMultipartUpload=1 UploadPart=60 \
	CompleteMultipartUpload=1 PutObject=0
expect_eq "$sum" "$(store_cat big | cksum)" "the object of 300 MiB and a byte is at the store byte for byte"
expect_eq "$sum" "$(cksum <"$mnt/big")" "the mount reads 300 MiB and a byte back"
forget_pages "$mnt/big"
expect_eq "$sum" "$(dd if="$mnt/big" bs=3M iflag=direct status=none | cksum)" \
	"the mount reads 300 MiB and a byte with O_DIRECT, too"
umount_ckptfs
