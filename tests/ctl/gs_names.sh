#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_names.sh: names, metadata and records that ckptfs did not write are no uploads to ckptctl, at Google's
# protocol: none of them is followed, and none ends it.
. "${srcdir:?}/tests/lib/tap.sh"
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/store.sh"
plan 20
store_start storesim --log "$tmp/requests"
objects() { "$builddir/tests/lib/objects" "$@"; }
bucket=gs://$CKPTFS_TEST_BUCKET
status() { timeout 60 "$builddir/ckptctl" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$@" >"$tmp/out" 2>"$tmp/err"; echo $?; }
# insert NAME METADATA: an object with metadata as they stand in a resource
insert() {
	printf '%s\r\n' --b 'Content-Type: application/json' '' \
		"{\"name\": \"$1\", \"metadata\": $2}" --b 'Content-Type: text/plain' '' x --b-- >"$tmp/body"
	curl -sf -o /dev/null -H 'Content-Type: multipart/related; boundary=b' --data-binary "@$tmp/body" \
		"$CKPTFS_TEST_ENDPOINT/upload/storage/v1/b/$CKPTFS_TEST_BUCKET/o?uploadType=multipart"
}

for name in zzz c- c-zz c-01.x m-01 m-01.x r-01 m-zz-x c-02; do
	insert ".ckptfs/tmp/$name" '{"ckptfs-for": "k"}' || diag "no object $name"
done
insert .ckptfs/tmp/c-03 '{"ckptfs-for": ""}'
insert .ckptfs/tmp/c-02/00001 '{}'
insert .ckptfs/tmp/c-021/00001 '{}'
insert .ckptfs/tmp/c-02x/00001 '{}'
printf x | objects put .ckptfs/tmp/m-04-d%2Fe
# A piece whose marker is gone says itself what is left.
left="c-02 k,m-04. d/e,c-021 .ckptfs/tmp/c-021/00001"
expect_eq "0 $left" "$(status uploads list "$bucket") $(cut -f 2,3 "$tmp/out" | tr '\t' ' ' | paste -sd,)" \
	"three of many names are of uploads"
expect_eq "0 $left" "$(status uploads abort --yes "$bucket") $(cut -f 2,3 "$tmp/out" | tr '\t' ' ' | paste -sd,)" \
	"abort aborts these three"
expect_eq 10 "$(objects ls .ckptfs/tmp/ | wc -l)" "abort touches nothing but uploads"

record() { printf '%s' "$1" | objects put .ckptfs/kept/0123456789abcdef; }
: >"$tmp/requests"
for id in zzz "" c- m-01 r-01 'r-01.@127.0.0.1:1/x' 'r-01.8/x'; do
	record "{\"key\": \"k\", \"size\": 5, \"time\": 1, \"upload\": \"$id\",
		\"parts\": [{\"number\": 1, \"size\": 5, \"etag\": \"1 k\"}]}"
	expect_eq "1 1" "$(status recover --discard "$bucket") $(wc -l <"$tmp/err")" "a record with the upload '$id' is refused in one line"
	expect_eq "1 1" "$(status recover --force "$bucket") $(wc -l <"$tmp/err")" "a record with the upload '$id' is not published"
done
expect_eq 0 "$(grep -cE ' (objects\.compose|objects\.chunk|CompleteMultipartUpload|AbortMultipartUpload) ' "$tmp/requests")" \
	"no record led to a request"

record '{"key": "k", "size": 5, "time": 1, "host": "a\u001b[2J\nkept", "upload": "c-02"}'
status recover "$bucket" >"$tmp/status"
expect_eq "2 kept 5 a\\033[2J\\012kept k" "$(cat "$tmp/status") $(cut -f 1,3- "$tmp/out" | tr '\t' ' ')" \
	"what a record says cannot make lines or move the cursor"
record '{"key": "k", "size": 5'
expect_eq "0 1" "$(status uploads abort --yes "$bucket") $(grep -c 'kept/0123456789abcdef' "$tmp/err")" \
	"a record that is cut off is told of"
