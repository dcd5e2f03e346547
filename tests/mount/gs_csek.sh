#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_csek.sh: with csek_file every object is encrypted with the customer's key, in each way of making one, and
# read with it; without the key, or with another, nothing of it can be read.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 32
head -c 32 /dev/urandom >"$tmp/key"
head -c 32 /dev/urandom >"$tmp/other"
base64 "$tmp/key" >"$tmp/key.base64"
chmod 600 "$tmp/key" "$tmp/other" "$tmp/key.base64"
head -c 12000000 /dev/urandom >"$tmp/data"
{ cat "$tmp/data"; echo tail; } >"$tmp/longer"
start_store
api=$CKPTFS_TEST_ENDPOINT/storage/v1/b/$CKPTFS_TEST_BUCKET/o
# sealed NAME: what the store says without the key to who wants the bytes, and the checksum
sealed() {
	curl -s -o "$tmp/out" -w '%{http_code} ' "$api/$1?alt=media"
	grep -o 'resourceIsEncryptedWithCustomerEncryptionKey' "$tmp/out" | head -n 1
	curl -s "$api/$1" | grep -c crc32c
}
sealed_says='400 resourceIsEncryptedWithCustomerEncryptionKey
0'

for way in multipart compose resumable; do
	mount_ckptfs part_size=5M attr_ttl=0 "csek_file=$tmp/key.base64" upload=$way
	cp "$tmp/data" "$mnt/large"
	expect_eq 0 $? "upload=$way: a large file is written"
	echo small >"$mnt/small"
	cp "$mnt/large" "$mnt/copy"
	[ $way = resumable ] || echo tail >>"$mnt/copy"
	mv "$mnt/copy" "$mnt/moved"
	chmod 600 "$mnt/small"
	mkdir "$mnt/dir"
	mv "$mnt/small" "$mnt/dir/small"
	mv "$mnt/dir" "$mnt/dir2"
	check "upload=$way: a large file reads back" cmp "$tmp/data" "$mnt/large"
	if [ $way = resumable ]; then check "upload=$way: a copy of a file reads back" cmp "$tmp/data" "$mnt/moved"
	else check "upload=$way: a file that was copied, appended to and renamed reads back" cmp "$tmp/longer" "$mnt/moved"; fi
	expect_eq "small 600" "$(cat "$mnt/dir2/small") $(stat -c %a "$mnt/dir2/small")" "upload=$way: a small file reads back"
	for name in large moved dir2%2Fsmall; do
		expect_eq "$sealed_says" "$(sealed $name)" "$name is nobody else's to read"
	done
	umount_ckptfs
	[ $way = resumable ] || { mount_ckptfs "csek_file=$tmp/key"; rm -r "$mnt"/*; umount "$mnt"; mount_wait; }
done

program=$(cd "$builddir" && pwd)/ckptfs
(cd "$tmp" && "$program" -o "endpoint=$CKPTFS_TEST_ENDPOINT,csek_file=key,log=background.log" \
	"gs://$CKPTFS_TEST_BUCKET" "$mnt")
expect_eq "0 relative" "$? $(echo relative >"$mnt/relative"; cat "$mnt/relative")" \
	"a mount in the background finds a key by a relative path"
umount "$mnt"
check "the mount in the background ends" wait_for 20 grep -q 'statistics of' "$tmp/background.log"

mount_ckptfs "csek_file=$tmp/other"
expect_eq "EACCES" "$(fdo open r "$mnt/large")" "another key opens nothing"
expect_log 'customerEncryptionKeyIsIncorrect'
umount_ckptfs "the daemon says why"
refused() { "$builddir/ckptfs" -f -o "endpoint=$1,$2" gs://b "$mnt" 2>&1 | grep -q "$3"; }
check "a key does not travel in clear text" refused http://192.0.2.1:80 "csek_file=$tmp/key" 'clear text'
check "two keys are refused" refused "$CKPTFS_TEST_ENDPOINT" "csek_file=$tmp/key,kms_key=k" 'give one'
check "a file that holds no key is refused" refused "$CKPTFS_TEST_ENDPOINT" "csek_file=$tmp/data" 'csek_file .*no such key'
check "a key file that is not there is refused" refused "$CKPTFS_TEST_ENDPOINT" "csek_file=$tmp/none" 'csek_file .*No such file'
