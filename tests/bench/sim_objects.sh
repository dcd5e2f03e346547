#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Objects of the simulator: what is put comes back, under any key, whole and in ranges.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 60

sim_start --data "$tmp/data"
head -c 3000000 /dev/urandom >"$tmp/big"
printf 'hello world' >"$tmp/small"

expect_eq 200 "$(req HEAD /bkt)" "the bucket answers"
expect_eq 404 "$(req GET '/nosuch?list-type=2')" "another bucket is not found"
expect_eq NoSuchBucket "$(element Code)" "the reply says which bucket is not found"
[ -n "$(field x-amz-request-id)" ] && [ "$(field x-amz-request-id)" = "$(element RequestId)" ]
expect_eq 0 $? "an error bears the id of its request"

expect_eq 200 "$(req PUT /bkt/a -T "$tmp/small" -H 'x-amz-meta-Mode: 33188' -H 'Content-Type: text/plain' \
	-H 'x-amz-checksum-crc32c: yZRlqg==')" "an object is put"
expect_eq yZRlqg== "$(field x-amz-checksum-crc32c)" "the reply confirms its checksum"
etag=$(field etag)
expect_eq 200 "$(req GET /bkt/a -H 'x-amz-checksum-mode: ENABLED')" "an object is read"
expect_eq "hello world" "$(cat "$tmp/body")" "an object is read as it was put"
expect_eq "$etag 33188 text/plain yZRlqg== FULL_OBJECT" "$(field etag) $(field x-amz-meta-mode) \
$(field content-type) $(field x-amz-checksum-crc32c) $(field x-amz-checksum-type)" "an object's headers are read as they were put"
expect_eq 200 "$(req HEAD /bkt/a)" "an object's head is read"
expect_eq 11 "$(field content-length)" "the head tells the size"

expect_eq 206 "$(req GET /bkt/a -r 2-4)" "a range is read"
expect_eq "llo bytes 2-4/11" "$(cat "$tmp/body") $(field content-range)" "a range has the right bytes"
expect_eq 206 "$(req GET /bkt/a -r -5)" "the last bytes are read"
expect_eq world "$(cat "$tmp/body")" "the last bytes are the right ones"
expect_eq "206 hello world bytes 0-10/11" "$(req GET '/bkt/a?partNumber=1') $(cat "$tmp/body") $(field content-range)" \
	"what came as one has one part"
expect_eq "416 InvalidPartNumber" "$(req GET '/bkt/a?partNumber=2') $(element Code)" "what came as one has no second part"
expect_eq "400 InvalidRequest" "$(req GET '/bkt/a?partNumber=1' -r 2-4) $(element Code)" "a part has no range"
expect_eq 416 "$(req GET /bkt/a -r 11-)" "a range behind the end is refused"
expect_eq 'bytes */11' "$(field content-range)" "a refused range is told the size"

expect_eq 412 "$(req GET /bkt/a -H 'If-Match: "other"')" "another version is not read"
expect_eq 304 "$(req GET /bkt/a -H "If-None-Match: $etag")" "a version that is known is not sent"
expect_eq 412 "$(req PUT /bkt/a -T "$tmp/small" -H 'If-None-Match: *')" "a create finds the object"
expect_eq 200 "$(req PUT /bkt/new -T "$tmp/small" -H 'If-None-Match: *')" "a create makes an object"
expect_eq 412 "$(req PUT /bkt/a -T "$tmp/small" -H 'If-Match: "other"')" "an overwrite sees another version"
expect_eq 200 "$(req PUT /bkt/a -T "$tmp/small" -H "If-Match: $etag")" "an overwrite finds its version"
expect_eq 404 "$(req PUT /bkt/none -T "$tmp/small" -H "If-Match: $etag")" "an overwrite finds nothing"
expect_eq 501 "$(req PUT /bkt/none -T "$tmp/small" -H "If-None-Match: $etag")" "an object is put where none is, not where another is"

expect_eq 400 "$(req PUT /bkt/bad -T "$tmp/small" -H 'x-amz-checksum-crc32c: AAAAAA==')" \
	"a body with another CRC32C is refused"
expect_eq BadDigest "$(element Code)" "a wrong CRC32C is BadDigest"
expect_eq 400 "$(req PUT /bkt/bad -T "$tmp/small" -H 'Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==')" \
	"a body with another MD5 is refused"
expect_eq 404 "$(req GET /bkt/bad)" "a refused body leaves no object"
expect_eq 411 "$(req PUT /bkt/bad)" "a body without a length is refused"

req PUT /bkt/big -T "$tmp/big" >/dev/null
req GET /bkt/big >/dev/null
check "a large object comes back" cmp "$tmp/big" "$tmp/body"
expect_eq 200 "$(req PUT '/bkt/copy%20of' -H 'x-amz-copy-source: /bkt/big' -H 'Content-Length: 0')" "a large object is copied"
self="-H x-amz-copy-source:/bkt/big -H Content-Length:0"
expect_eq 400 "$(req PUT /bkt/big $self)" "a copy of an object to itself that changes nothing is refused"
expect_eq InvalidRequest "$(element Code)" "the refusal of a copy to itself is InvalidRequest"
expect_eq 200 "$(req PUT /bkt/big $self -H x-amz-metadata-directive:REPLACE)" "an object is copied to itself with other metadata"
expect_eq 204 "$(req DELETE /bkt/big)" "the source is deleted"
req GET '/bkt/copy%20of' >/dev/null
check "the copy holds the bytes" cmp "$tmp/big" "$tmp/body"
expect_eq 204 "$(req DELETE /bkt/big)" "deleting again is a success"
expect_eq 404 "$(req GET /bkt/big)" "a deleted object is gone"

wrong=0
for key in a//b a%2F %2E%2E/x x%0Ay %C3%BC%26%3C%25 a+b%2Bc "$(printf '%01024d' 7)"; do
	echo "$key" >"$tmp/text"
	[ "$(req PUT "/bkt/k/$key" -T "$tmp/text")" = 200 ] || [ ${#key} -gt 1000 ] || wrong=1
	req GET "/bkt/k/$key" >/dev/null
	cmp -s "$tmp/text" "$tmp/body" || [ ${#key} -gt 1000 ] || wrong=1
done
expect_eq 0 $wrong "keys that are no names of files work"
expect_eq 400 "$(req PUT "/bkt/k/$(printf '%01024d' 7)" -T "$tmp/text")" "a key above 1024 bytes is refused"
expect_eq 200 "$(req PUT "/bkt/$(printf '%01024d' 7)" -T "$tmp/text")" "a key of 1024 bytes is taken"

chunked() {
	req PUT "$1" -T "$tmp/text" -H 'Content-Encoding: aws-chunked' -H 'x-amz-decoded-content-length: 11' \
		-H 'x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER' -H 'x-amz-trailer: x-amz-checksum-crc32c'
}
printf '6\r\nhello \r\n5;chunk-signature=ab\r\nworld\r\n0\r\nx-amz-checksum-crc32c:yZRlqg==\r\n\r\n' >"$tmp/text"
expect_eq 200 "$(chunked /bkt/chunked)" "a body in chunks is taken"
req GET /bkt/chunked >/dev/null
expect_eq "hello world" "$(cat "$tmp/body")" "a body in chunks is kept without its frames"
expect_eq "" "$(field content-encoding)" "a body in chunks is kept without a word about them"
printf 'b\r\nhello worle\r\n0\r\nx-amz-checksum-crc32c:yZRlqg==\r\n\r\n' >"$tmp/text"
expect_eq 400 "$(chunked /bkt/chunked)" "the checksum behind them is verified"
printf 'a\r\nhello worl\r\n0\r\n\r\n' >"$tmp/text"
expect_eq 400 "$(chunked /bkt/chunked)" "the length of a body in chunks is verified"
printf 'x\r\nhello world\r\n0\r\n\r\n' >"$tmp/text"
expect_eq 400 "$(chunked /bkt/chunked)" "the frame of a chunk is verified"
printf 'b\r\nhello world\r\n0\r\n' >"$tmp/text"
expect_eq 400 "$(chunked /bkt/chunked)" "the end of the chunks is verified"
head -c 900000 /dev/zero >"$tmp/zero"
expect_eq 400 "$(req PUT "/bkt/k/$(printf '%01024d' 7)" -T "$tmp/zero" -H Expect:)" \
	"what is refused is read to its end"

long=$(printf '%02100d' 1)
expect_eq 400 "$(req PUT /bkt/meta -T "$tmp/text" -H "x-amz-meta-a: $long")" "metadata above 2 KiB is refused"
# "The PUT request header is limited to 8 KB in size" (user guide).
expect_eq "400 RequestHeaderSectionTooLarge" "$(req PUT /bkt/meta -T "$tmp/text" -H "Cache-Control: $(printf '%08192d' 1)") $(element Code)" \
	"a head above 8 KiB is refused"
expect_eq 200 "$(req PUT /bkt/meta -T "$tmp/text" -H "Cache-Control: $(printf '%07900d' 1)")" "a head of less is taken"
printf '<Delete><Object><Key>a</Key></Object><Object><Key>new</Key></Object></Delete>' >"$tmp/text"
# "The Content-MD5 request header or a additional checksum request header ... is required" (API_DeleteObjects).
expect_eq "400 InvalidRequest" "$(req POST '/bkt?delete' --data-binary "@$tmp/text") $(element Code)" "a delete of several without a digest is refused"
expect_eq 200 "$(req POST '/bkt?delete' --data-binary "@$tmp/text" -H "$(digest_of "$tmp/text")")" "several objects are deleted"
expect_eq "404 404" "$(req GET /bkt/a) $(req GET /bkt/new)" "several objects that were deleted are gone"
check "the server ends in good order" sim_stop
