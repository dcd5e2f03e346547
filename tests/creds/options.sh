#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who pays, and with whose key the store encrypts, through the mount.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/creds.sh"
need_fuse
plan 21
CKPTFS_TEST_BUCKET=bkt CKPTFS_TEST_SCHEME=s3
export AWS_EC2_METADATA_DISABLED=true HOME="$home"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
keys='AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused'
sim_options=--requester-pays
identity '{"keys": {}}'
# shellcheck disable=SC2086
refused "who does not pay is refused" 'denied' $keys
# shellcheck disable=SC2086
opens "who pays is not refused" $keys -orequester_pays
# shellcheck disable=SC2086
refused "a bucket of another account is refused" 'denied' $keys -orequester_pays -obucket_owner=210987654321
# shellcheck disable=SC2086
opens "a bucket of the account that is named is not refused" $keys -orequester_pays -obucket_owner=123456789012
sim_options=--allow-sse-c sim_store="--data $tmp/store"
mkdir "$tmp/store"
identity '{"keys": {}}'
export AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused CKPTFS_TEST_ENDPOINT="$url"
printf topsecret0123456789012345678901x >"$tmp/key"
printf topsecret0123456789012345678902x >"$tmp/other"
chmod 600 "$tmp/key" "$tmp/other"
mount_ckptfs log_level=debug "sse_c_key_file=$tmp/key" attr_ttl=0
expect_eq "ok ok ok" "$(fdo open wct "$mnt/small" write 1000 close)" "a small file is written with a key of one's own"
check "a large file is written with a key of one's own" sh -c 'head -c 40000000 /dev/zero >"$1/large"' sh "$mnt"
expect_eq "1000 40000000" "$(wc -c <"$mnt/small") $(wc -c <"$mnt/large")" "files of both sizes are read with a key of one's own"
expect_eq "0 1000" "$(mv "$mnt/small" "$mnt/moved"; echo $?) $(wc -c <"$mnt/moved")" "a file with a key of one's own is renamed by a copy"
expect_eq "0 600 1000" "$(chmod 600 "$mnt/moved"; echo $?) $(stat -c '%a %s' "$mnt/moved")" "a file with a key of one's own has its permissions changed"
expect_eq "0 40000005 tail" "$(echo tail >>"$mnt/large"; echo $?) $(wc -c <"$mnt/large") $(tail -c 5 "$mnt/large")" "a file with a key of one's own is appended to by copies of its parts"
umount_ckptfs
mount_ckptfs log_level=debug "sse_c_key_file=$tmp/other" attr_ttl=0
check_fails "another key reads nothing" cat "$mnt/large"
expect_log 'store: head .*/large: 403 AccessDenied'
umount_ckptfs
# As the vendor's new buckets, which refuse what is written with such a key.
sim_options=
identity '{"keys": {}}'
CKPTFS_TEST_ENDPOINT=$url
mount_ckptfs log_level=debug "sse_c_key_file=$tmp/key" attr_ttl=0
expect_eq "ok ok eacces" "$(fdo open wct "$mnt/refused" write 1000 close | tr A-Z a-z)" "a bucket that blocks keys of one's own takes no file with one"
expect_log 'store: put bkt/refused: 403 AccessDenied: .*the bucket has to allow SSE-C'
expect_log 'refused: not published'
expect_eq 1000 "$(wc -c <"$mnt/moved")" "a file with a key of one's own is read where such keys are blocked"
umount_ckptfs
cat "$mount_log.old" >>"$log"
# What is copied in parts: bodies are forgotten, so that it takes no room.
sim_options='--allow-sse-c --object-lock' sim_store=--null
identity '{"keys": {}}'
CKPTFS_TEST_ENDPOINT=$url
mount_ckptfs log_level=debug "sse_c_key_file=$tmp/key" hard_links=copy
head -c 600M /dev/zero >"$mnt/big"
expect_eq "ok ok" "$(fdo link "$mnt/big" "$mnt/linked" open wa "$mnt/big" | xargs)" "a file with a key of one's own is linked by a copy in parts"
expect_eq "0 629145600" "$(mv "$mnt/linked" "$mnt/moved"; echo $?) $(stat -c %s "$mnt/moved")" "a file with a key of one's own is renamed by a copy in parts"
# Those that find out what the server honors are refused with 412.
expect_eq 4 "$(awk '$2 == "UploadPartCopy" && / 200 /' "$requests" | wc -l)" "copies of parts have both keys"
umount_ckptfs
cat "$mount_log.old" >>"$log"
no_secrets
