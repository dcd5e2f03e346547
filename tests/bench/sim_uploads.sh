#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Multipart uploads of the simulator: what S3 refuses is refused, what it takes is whole.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 30

sim_start --data "$tmp/data"
head -c 5242880 /dev/urandom >"$tmp/one"
head -c 5242881 /dev/urandom >"$tmp/two"
head -c 77 /dev/urandom >"$tmp/tail"
cat "$tmp/one" "$tmp/two" "$tmp/tail" >"$tmp/all"

expect_eq 200 "$(multipart m "$tmp/one" "$tmp/two" "$tmp/tail")" "an upload is completed"
etag=$(element ETag)
case $etag in *-3\") ok "the ETag of an upload tells the number of parts" ;; *) not_ok "the ETag of an upload tells the number of parts" ;; esac
req GET /bkt/m >/dev/null
check "the object is the parts in order" cmp "$tmp/all" "$tmp/body"
req GET /bkt/m -r 5242870-10485770 >/dev/null
tail -c +5242871 "$tmp/all" | head -c 5242901 >"$tmp/want"
check "a range over the border of parts has the bytes of both" cmp "$tmp/want" "$tmp/body"
req PUT /bkt/whole -T "$tmp/all" >/dev/null
crc=$(field x-amz-checksum-crc32c)
req HEAD /bkt/m -H 'x-amz-checksum-mode: ENABLED' >/dev/null
expect_eq "$crc" "$(field x-amz-checksum-crc32c)" "an upload's checksum is that of the bytes"

expect_eq 400 "$(multipart m2 "$tmp/tail" "$tmp/one")" "a small part in the middle is refused"
expect_eq EntityTooSmall "$(element Code)" "a small part is EntityTooSmall"
expect_eq 404 "$(req HEAD /bkt/m2)" "a refused Complete makes no object"
expect_eq 204 "$(req DELETE "/bkt/m2?uploadId=$(cat "$tmp/upload")")" "the upload is still there to be aborted"
expect_eq 404 "$(req DELETE "/bkt/m2?uploadId=$(cat "$tmp/upload")")" "an upload is aborted only once"

req POST '/bkt/m3?uploads' -H 'x-amz-meta-a: b' >/dev/null
up="uploadId=$(element UploadId)"
req PUT "/bkt/m3?partNumber=1&$up" -T "$tmp/two" >/dev/null
first=$(field etag)
req PUT "/bkt/m3?partNumber=1&$up" -T "$tmp/one" >/dev/null
again=$(field etag)
req PUT "/bkt/m3?partNumber=2&$up" -T "$tmp/tail" >/dev/null
second=$(field etag)
req GET "/bkt/m3?$up&max-parts=1" >/dev/null
expect_eq "1 true 1" "$(element PartNumber) $(element IsTruncated) $(element NextPartNumberMarker)" "parts are listed in pages"
req GET "/bkt/m3?$up&part-number-marker=1" >/dev/null
expect_eq "2 77 false" "$(element PartNumber) $(element Size) $(element IsTruncated)" "parts are listed to the last"
req GET '/bkt?uploads' >/dev/null
expect_eq m3 "$(element Key)" "the upload is listed"
complete() {
	printf '%s' "$1" | part_list >"$tmp/list"
	shift
	req POST "/bkt/m3?$up" --data-binary "@$tmp/list" "$@"
}
expect_eq 400 "$(complete "2 $second
1 $again
")" "parts out of order are refused"
expect_eq InvalidPartOrder "$(element Code)" "parts out of order are InvalidPartOrder"
expect_eq 400 "$(complete "1 $first
2 $second
")" "a part that was replaced is refused"
expect_eq InvalidPart "$(element Code)" "a part that was replaced is InvalidPart"
expect_eq 400 "$(complete "1 $again
2 $second
3 $second
")" "a part that was not sent is refused"
# "In CompleteMultipartUpload, when a additional checksum ... is applied to each part, the PartNumber must start at 1 and the
# part numbers must be consecutive. Otherwise, Amazon S3 generates an HTTP 400 Bad Request status code and an InvalidPartOrder
# error code. Directory buckets: ... must start at 1 and the part numbers must be consecutive." (API_CompletedPart)
req PUT "/bkt/m3?partNumber=4&$up" -T "$tmp/tail" >/dev/null
fourth=$(field etag)
expect_eq "400 InvalidPartOrder" "$(complete "1 $again
4 $fourth
") $(element Code)" "numbers with a gap are refused"
expect_eq "400 InvalidPartOrder" "$(complete "2 $second
") $(element Code)" "numbers that do not begin with 1 are refused"
both="1 $again
2 $second
"
expect_eq 400 "$(complete "$both" -H 'x-amz-checksum-crc32c: AAAAAA==' -H 'x-amz-checksum-type: FULL_OBJECT')" \
	"another checksum of the whole is refused"
expect_eq 400 "$(req POST "/bkt/m3?$up" --data-binary '<Complete')" "a broken list is refused"
req PUT /bkt/m3 -T "$tmp/tail" >/dev/null
expect_eq 412 "$(complete "$both" -H 'If-None-Match: *')" "a create sees the object"
expect_eq 200 "$(complete "$both")" "an upload is completed after refusals"
req GET /bkt/m3 >/dev/null
cat "$tmp/one" "$tmp/tail" >"$tmp/want"
check "an object is what was sent last" cmp "$tmp/want" "$tmp/body"
expect_eq b "$(field x-amz-meta-a)" "an object has the metadata of its upload's beginning"
expect_eq 404 "$(complete "$both")" "a second Complete finds no upload"

req POST '/bkt/m4?uploads' >/dev/null
up="uploadId=$(element UploadId)"
req PUT "/bkt/m4?partNumber=1&$up" -H 'x-amz-copy-source: /bkt/m' -H 'Content-Length: 0' \
	-H 'x-amz-copy-source-range: bytes=1-6000000' >/dev/null
one=$(element ETag)
req PUT "/bkt/m4?partNumber=2&$up" -T "$tmp/tail" >/dev/null
printf '1 %s\n2 %s\n' "$one" "$(field etag)" | part_list >"$tmp/list"
# "You can copy a range only if the source object is greater than 5 MB" (API_UploadPartCopy).
head -c 5242880 "$tmp/all" >"$tmp/five"
req PUT /bkt/five -T "$tmp/five" >/dev/null
from() { req PUT "/bkt/m4?partNumber=3&$up" -d '' -H 'x-amz-copy-source: /bkt/five' "$@"; }
expect_eq "400 InvalidRequest 200" "$(from -H 'x-amz-copy-source-range: bytes=0-5242879') $(element Code) $(from)" \
	"a source of 5 MiB is copied as a whole alone"
expect_eq 200 "$(req POST "/bkt/m4?$up" --data-binary "@$tmp/list")" "a copied range is a part"
req GET /bkt/m4 >/dev/null
{ tail -c +2 "$tmp/all" | head -c 6000000; cat "$tmp/tail"; } >"$tmp/want"
check "a copied part has the right bytes" cmp "$tmp/want" "$tmp/body"
