#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# metadata_hidden.sh: an object with metadata that the store keeps and does not return (S3's
# x-amz-missing-meta) can be read, renamed and deleted; what would drop them is refused.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 22
CKPTFS_TEST_BUCKET=bkt
sim_start --data "$tmp/objects"
CKPTFS_TEST_ENDPOINT=$url
bell='=?UTF-8?B?BwcH?='
put_hidden() {
	req PUT "/bkt/$1" -d "$2" -H "x-amz-meta-bell: $bell" -H 'x-amz-meta-seen: yes' >/dev/null
}
hidden() { req HEAD "/bkt/$1" >/dev/null; echo "$(field x-amz-missing-meta):$(field x-amz-meta-seen)"; }
refused() { LC_ALL=C "$@" 2>&1 | grep -c 'not permitted'; }
append() { sh -c 'echo more >>"$1"' sh "$1"; }

put_hidden theirs bytes
expect_eq "1:yes" "$(hidden theirs)" "the store counts what it does not return"
mount_ckptfs
expect_eq bytes "$(cat "$mnt/theirs")" "the file can be read"
expect_log "metadata that cannot be kept here"
expect_eq 1 "$(refused chmod 600 "$mnt/theirs")" "the mode of the file cannot be changed"
expect_eq 1 "$(refused touch -cd 2001-01-01 "$mnt/theirs")" "the times cannot be changed"
# promise: attrs.hidden
expect_eq 1 "$(refused append "$mnt/theirs")" "the file cannot be written"
expect_eq 1 "$(refused truncate -s 2 "$mnt/theirs")" "the file cannot be cut"
expect_eq "bytes 1:yes" "$(cat "$mnt/theirs") $(hidden theirs)" "the refused file stays what it was"
# promise: log.errors
expect_eq 4 "$(grep -c 'metadata that cannot be kept here' "$mount_log")" "each refusal has a line in the log"
mv "$mnt/theirs" "$mnt/moved"
expect_eq "bytes 1:yes" "$(cat "$mnt/moved") $(hidden moved)" "a rename takes all of it along"
ls -l "$mnt" >/dev/null
expect_eq 1 "$(refused append "$mnt/moved")" "a rename is no way around"
cp "$mnt/moved" "$mnt/copy"
append "$mnt/copy"
expect_eq "bytesmore :" "$(cat "$mnt/copy") $(hidden copy)" "a copy is a new file without hidden metadata"
put_hidden listed more
umount_ckptfs
mount_ckptfs
expect_log "metadata that cannot be kept here"
ls -l "$mnt" >/dev/null
expect_eq 1 "$(refused append "$mnt/listed")" "a file that was only listed cannot be written"
expect_eq "1:yes" "$(hidden listed)" "the listed file keeps its metadata"

# 2 KiB are as much as a store takes.
put_long() { req PUT "/bkt/$1" -d bytes -H "x-amz-meta-long: $(head -c "$2" /dev/zero | tr '\0' x)" >/dev/null; }
long() { req HEAD "/bkt/$1" >/dev/null; field x-amz-meta-long | tr -d '\n' | wc -c; }
put_long full 2030
put_long fits 1980
put_long filled 1880
expect_log "so much metadata that the times of a change find no room"
# promise: attrs.hidden
expect_eq 1 "$(refused append "$mnt/full")" "a file whose metadata leave no room for times cannot be written"
expect_eq "bytes 2030" "$(cat "$mnt/full") $(long full)" "the refused file keeps its bytes and metadata"
mv "$mnt/full" "$mnt/full2"
expect_eq 2030 "$(long full2)" "a file with much metadata is renamed"
append "$mnt/fits"
expect_eq "bytesmore 1980" "$(cat "$mnt/fits") $(long fits)" "a file whose metadata leave room for times is written"
check "one more attribute is added to its metadata" setfattr -n user.a -v b "$mnt/filled"
append "$mnt/filled"
expect_eq "bytesmore b" "$(cat "$mnt/filled") $(getfattr --absolute-names --only-values -n user.a "$mnt/filled")" \
	"what could be added stands in nobody's way"
rm "$mnt/listed"
req HEAD /bkt/listed >"$tmp/status"
expect_eq 404 "$(cat "$tmp/status")" "the listed file can be deleted"
umount_ckptfs
