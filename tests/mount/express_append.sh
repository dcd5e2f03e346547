#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# express_append.sh: in a directory bucket an append sends the new bytes alone, in one request.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 25
CKPTFS_TEST_BUCKET=dir--az1--x-s3
start_store
head -c 12000000 /dev/urandom >"$tmp/data"
# nothing is sent again as a part, or copied
alone='CreateMultipartUpload=0 UploadPart=0 UploadPartCopy=0 CompleteMultipartUpload=0'

mount_ckptfs part_size=5M attr_ttl=0
cp "$tmp/data" "$mnt/f"
cp "$tmp/data" "$tmp/longer"
printf tail >>"$tmp/longer"
requests_mark
printf tail >>"$mnt/f"
# Which the server honors is found out by the first.
# shellcheck disable=SC2086 # words
expect_requests "the first append asks the server once whether it knows such" $alone PutObject=2
same "the first append adds what it should" "$tmp/longer" f
for i in 1 2 3; do
	requests_mark
	printf '%s line' $i >>"$mnt/f"
	printf '%s line' $i >>"$tmp/longer"
done
# shellcheck disable=SC2086 # words
expect_requests "an append is a look and one request" $alone PutObject=1
# promise: bytes.express
same "one append after the other adds what it should" "$tmp/longer" f
expect_eq "$(wc -c <"$tmp/longer")" "$(stat -c %s "$mnt/f")" "what was appended to has its size at once"
check "what was appended to is read through the mount" cmp "$tmp/longer" "$mnt/f"
expect_eq "f" "$(store_ls)" "no other object is left"

requests_mark
fdo open wa "$mnt/f" write 6000000 close >/dev/null
expect_requests "more than a part is copied and sent in parts" UploadPartCopy=2 CompleteMultipartUpload=1
{ cat "$tmp/longer" && head -c 6000000 /dev/zero | tr '\0' x; } >"$tmp/more"
same "an append of several parts adds what it should" "$tmp/more" f

# Metadata that changes with the bytes cannot be appended: it goes by the other way, and is there.
chmod 600 "$mnt/f"
touch -d 2020-01-01 "$mnt/f"
requests_mark
printf more >>"$mnt/f"
printf more >>"$tmp/more"
expect_requests "an object whose time has to go is copied in parts" UploadPartCopy=1 CompleteMultipartUpload=1
same "what was copied in parts has the bytes" "$tmp/more" f
requests_mark
printf more >>"$mnt/f"
printf more >>"$tmp/more"
# shellcheck disable=SC2086 # words
expect_requests "an object with metadata that stays is appended to" $alone PutObject=1
expect_eq 600 "$(stat -c %a "$mnt/f")" "metadata stays when bytes are appended"
same "what was appended to with its metadata has the bytes" "$tmp/more" f
check "the time is that of the append" test "$mnt/f" -nt "$tmp/data"
umount_ckptfs
mount_ckptfs part_size=5M attr_ttl=0
check "the time is that of the append in another mount, too" test "$mnt/f" -nt "$tmp/data"

# Another host is faster.
use_mount other
mount_ckptfs attr_ttl=0
use_mount first
fdo_begin open wa "$mnt/f" write 5 pause close
requests_mark
printf other >>"$tmp/other/f"
# shellcheck disable=SC2086 # words
expect_requests "another host appends in the same way" $alone PutObject=2
fdo_ends "ok ok ok ESTALE" "an append to a version that is gone is refused"
expect_log 'f: its version .* was replaced by another host'
printf other >>"$tmp/more"
same "the other host's append stands" "$tmp/more" f

# A lost reply
printf first >>"$mnt/f"
printf first >>"$tmp/more"
set_faults express_lost
requests_mark
# promise: bytes.express
check "an append whose reply is lost succeeds" sh -c 'printf lost >>"$1"' sh "$mnt/f"
printf lost >>"$tmp/more"
expect_requests "an append whose reply is lost is sent again, and then looked for" PutObject=2
same "an append whose reply is lost is made once" "$tmp/more" f
set_faults
use_mount other
umount_ckptfs "the other daemon ends well and warned of nothing"
use_mount first
umount_ckptfs
