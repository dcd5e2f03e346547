#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_class.sh: a file of another storage class than its bucket's, which somebody wrote or a lifecycle rule made, can be
# appended to, though "the source objects must all [...] use the same storage class" (XML API, Compose).
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 9
CKPTFS_TEST_BUCKET=bkt
o=/storage/v1/b/bkt/o
head -c 12000000 /dev/urandom >"$tmp/data"
sim_start --data "$tmp/store" --protocol gs --rewrite-chunk 4M
export CKPTFS_TEST_ENDPOINT="$url"
# cold KEY: the object gets another class, and another name before
cold() { req POST "$o/$1/rewriteTo/b/bkt/o/cold-$1" -H 'Content-Type: application/json' -d '{"storageClass":"NEARLINE","metadata":{"mode":"33184","theirs":"1"}}'; }
class_of() { req GET "$o/$1" >/dev/null && sed -n 's/.*"storageClass": *"\([^"]*\)".*/\1/p' "$tmp/body"; }

head -c 3000000 "$tmp/data" | store_put f
cold f >/dev/null
mount_ckptfs part_size=5M
expect_eq NEARLINE "$(class_of cold-f)" "the file has another class"
head -c 3000000 "$tmp/data" >"$tmp/want"
echo tail | tee -a "$tmp/want" >>"$mnt/cold-f"
expect_eq 0 $? "a file of another class is appended to"
# promise: gs.class
same "a file of another class has what was appended" "$tmp/want" cold-f
expect_eq "STANDARD 640" "$(class_of cold-f) $(stat -c %a "$mnt/cold-f")" "a file that was appended to has the class of the bucket, and its mode"
cat "$tmp/data" >>"$mnt/cold-f"
cat "$tmp/data" >>"$tmp/want"
same "a file of the class of the bucket is appended to by parts" "$tmp/want" cold-f

req POST "$o/cold-f/rewriteTo/b/bkt/o/large" -H 'Content-Type: application/json' -d '{"storageClass":"COLDLINE"}' >/dev/null
while grep -q rewriteToken "$tmp/body"; do
	token=$(sed -n 's/.*"rewriteToken": *"\([^"]*\)".*/\1/p' "$tmp/body")
	req POST "$o/cold-f/rewriteTo/b/bkt/o/large?rewriteToken=$token" -H 'Content-Type: application/json' -d '{"storageClass":"COLDLINE"}' >/dev/null
done
expect_eq COLDLINE "$(class_of large)" "a large file has another class"
cat "$tmp/data" >>"$mnt/large"
cat "$tmp/data" >>"$tmp/want"
same "a large file, which takes several calls to rewrite, is appended to" "$tmp/want" large

umount_ckptfs
expect_eq "cold-f f large" "$(store_ls | xargs)" "no piece is left behind"
