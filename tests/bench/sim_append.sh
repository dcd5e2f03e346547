#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sim_append.sh: directory buckets are served by their hosts alone, and add to an object by
# x-amz-write-offset-bytes (user guide, "Appending data to objects in directory buckets"; API reference,
# PutObject).
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 24
printf 'hello ' >"$tmp/a"
printf 'world' >"$tmp/b"
: >"$tmp/none"
offset=x-amz-write-offset-bytes

sim_start --data "$tmp/data" --bucket dir--az1--x-s3
expect_eq 501 "$(req PUT /bkt/a -T "$tmp/a" -H "$offset: 0")" "no other bucket has an append"
expect_eq "400 InvalidRequest" "$(req GET '/dir--az1--x-s3?session=') $(element Code)" "a directory bucket is not served by its path"
url=http://dir--az1--x-s3.localhost:${url##*:}
expect_eq 200 "$(req GET '/?session=')" "a directory bucket is served by its host"
token="x-amz-s3session-token: $(element SessionToken)"
# put KEY FILE [curl option...]: the status and the code of the error
put() {
	key=$1 file=$2
	shift 2
	echo "$(req PUT "/$key" -T "$file" -H "$token" "$@") $(element Code)"
}
expect_eq "200 " "$(put a "$tmp/a" -H "$offset: 0" -H 'x-amz-meta-k: v')" "an append at 0 makes the object that is not there"
expect_eq "" "$(field x-amz-object-size)" "what is made so is told no size"
expect_eq "400 InvalidWriteOffset" "$(put none "$tmp/a" -H "$offset: 1")" "an append behind what is not there is refused"
expect_eq "200 11" "$(req PUT /a -T "$tmp/b" -H "$token" -H "$offset: 6") $(field x-amz-object-size)" "an append at the end is told the new size"
expect_eq "200 hello world" "$(req GET /a -H "$token") $(cat "$tmp/body")" "an append adds to what was there"
expect_eq v "$(field x-amz-meta-k)" "an append keeps the metadata"
etag=$(field etag)
expect_eq "400 InvalidWriteOffset" "$(put a "$tmp/b" -H "$offset: 6")" "an append before the end is refused"
expect_eq "400 InvalidRequest" "$(put a "$tmp/b" -H "$offset: 11" -H 'x-amz-meta-k: w')" "an append with metadata is refused"
expect_eq "400 InvalidRequest" "$(put a "$tmp/none" -H "$offset: 11")" "an append of nothing is refused"
expect_eq "412 PreconditionFailed" "$(put a "$tmp/b" -H "$offset: 11" -H 'If-Match: "x"')" "an append to another version is refused"
expect_eq "200 " "$(put a "$tmp/b" -H "$offset: 11" -H "If-Match: $etag")" "an append to the version that is there is made"
check "an append makes another version" test "$etag" != "$(field etag)"

# checksums: that of the whole is kept, and what is added has to come with the same algorithm
req HEAD /a -H "$token" -H 'x-amz-checksum-mode: ENABLED' >/dev/null
check "what was put without a checksum has the CRC64NVME of the whole" test -n "$(field x-amz-checksum-crc64nvme)"
# the CRC32C of "hello ", "world" and "hello world"
expect_eq "200 " "$(put c "$tmp/a" -H 'x-amz-checksum-crc32c: fmJ+WA==')" "an object is put with a CRC32C"
expect_eq "400 InvalidRequest" "$(put c "$tmp/b" -H "$offset: 6")" "an append with another algorithm is refused"
expect_eq "200 " "$(put c "$tmp/b" -H "$offset: 6" -H 'x-amz-checksum-crc32c: MaqBTg==')" "an append with the same algorithm is made"
req HEAD /c -H "$token" -H 'x-amz-checksum-mode: ENABLED' >/dev/null
expect_eq "yZRlqg== FULL_OBJECT" "$(field x-amz-checksum-crc32c) $(field x-amz-checksum-type)" "the checksum is that of the whole object"

# "Each object can have up to 10,000 parts"
sim_stop
sim_start --null --bucket dir--az1--x-s3
url=http://dir--az1--x-s3.localhost:${url##*:}
req GET '/?session=' >/dev/null
token="x-amz-s3session-token: $(element SessionToken)"
seq 0 10000 | awk -v url="$url/p" -v token="$token" -v name=$offset '{
	if (NR > 1) print "next"
	printf "url = \"%s\"\nrequest = PUT\ndata-binary = x\noutput = /dev/null\nwrite-out = \"%%{http_code}\\n\"\n", url
	printf "header = \"%s\"\nheader = \"%s: %d\"\n", token, name, $1
}' >"$tmp/appends"
curl -s -K "$tmp/appends" | sort | uniq -c | xargs >"$tmp/said"
expect_eq "10000 200 1 400" "$(cat "$tmp/said")" "an object has at most 10,000 parts"
expect_eq "400 TooManyParts" "$(put p "$tmp/b" -H "$offset: 10000")" "what has as many is told so"
expect_eq 200 "$(req PUT /q -d '' -H 'x-amz-copy-source: /dir--az1--x-s3/p')" "an object with as many parts is copied"
expect_eq "200 " "$(put q "$tmp/b" -H "$offset: 10000")" "a copy counts its parts anew"
sim_stop
