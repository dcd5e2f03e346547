#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The vendor's rules of checksums beside a body, and servers that know some or none.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 31

printf '123456789' >"$tmp/nine"
head -c 5242880 /dev/zero >"$tmp/zeros"
good='x-amz-checksum-crc64nvme: rosUhgp5mIg=' bad='x-amz-checksum-crc64nvme: rosUhgp5mIk='
mode='x-amz-checksum-mode: ENABLED' own='x-amz-checksum-crc32c: 4waSgw=='

# create KEY [curl option...]: the status; the upload is in $upload
create() {
	key=$1
	shift
	status=$(req POST "/bkt/$key?uploads" "$@") upload=$(element UploadId)
	echo "$status" >"$tmp/status"
}
part() {
	number=$1 file=$2
	shift 2
	req PUT "/bkt/$key?partNumber=$number&uploadId=$upload" -T "$file" "$@"
}
complete() { req POST "/bkt/$key?uploadId=$upload" --data-binary "@$tmp/list" "$@"; }

sim_start --data "$tmp/data"
expect_eq "400 BadDigest" "$(req PUT /bkt/a -T "$tmp/nine" -H "$bad") $(element Code)" "a body that differs from its CRC64NVME is refused"
expect_eq 200 "$(req PUT /bkt/a -T "$tmp/nine" -H "$good")" "a body with its CRC64NVME is taken"
expect_eq "rosUhgp5mIg=" "$(field x-amz-checksum-crc64nvme)" "the reply confirms the CRC64NVME"
req GET /bkt/a -H "$mode" >/dev/null
expect_eq "rosUhgp5mIg= FULL_OBJECT" "$(field x-amz-checksum-crc64nvme) $(field x-amz-checksum-type)" "an object gives the CRC64NVME that it was sent with"
expect_eq "" "$(field x-amz-checksum-crc32c)" "an object gives no checksum of another algorithm"
req PUT /bkt/b -d '' -H 'x-amz-copy-source: /bkt/a' -H 'x-amz-metadata-directive: REPLACE' >/dev/null
req HEAD /bkt/b -H "$mode" >/dev/null
expect_eq "rosUhgp5mIg=" "$(field x-amz-checksum-crc64nvme)" "a copy has the checksum of its source"
expect_eq "400 InvalidRequest" "$(req PUT /bkt/a -T "$tmp/nine" -H "$good" -H "$own") $(element Code)" "two checksums of one body are refused"

create up -H 'x-amz-checksum-algorithm: CRC64NVME' -H 'x-amz-checksum-type: COMPOSITE'
expect_eq 400 "$(cat "$tmp/status")" "CRC64NVME of parts one by one is refused"
create up -H 'x-amz-checksum-algorithm: SHA256' -H 'x-amz-checksum-type: FULL_OBJECT'
expect_eq 400 "$(cat "$tmp/status")" "SHA-256 of parts together is refused"
create up -H 'x-amz-checksum-algorithm: MD4'
expect_eq 400 "$(cat "$tmp/status")" "an unknown algorithm is refused"
create up
expect_eq "400 InvalidRequest" "$(part 1 "$tmp/nine" -H "$own") $(element Code)" "a part with a checksum is refused where its upload has none"
create up -H 'x-amz-checksum-algorithm: CRC64NVME'
expect_eq "FULL_OBJECT" "$(field x-amz-checksum-type)" "CRC64NVME is that of parts together"
expect_eq 400 "$(part 1 "$tmp/nine")" "a part without a checksum is refused where its upload has one"
expect_eq 400 "$(part 1 "$tmp/nine" -H "$own")" "a part with a checksum of another algorithm is refused"
expect_eq 400 "$(part 1 "$tmp/nine" -H "$bad")" "a part that differs from its CRC64NVME is refused"
req PUT /bkt/zeros -T "$tmp/zeros" >/dev/null
expect_eq 200 "$(req PUT "/bkt/$key?partNumber=1&uploadId=$upload" -d '' -H 'x-amz-copy-source: /bkt/zeros')" "a part is copied into an upload with CRC64NVME"
first=$(element ETag) sum=$(element ChecksumCRC64NVME)
expect_eq "" "$(element ChecksumCRC32C)" "a copied part has the checksum of its upload alone"
expect_eq 200 "$(part 2 "$tmp/nine" -H "$good")" "a part with its CRC64NVME is taken"
second=$(field etag)
list() {
	printf '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>%s</ETag><ChecksumCRC64NVME>%s</ChecksumCRC64NVME></Part>' "$first" "$sum"
	printf '<Part><PartNumber>2</PartNumber><ETag>%s</ETag><ChecksumCRC64NVME>%s</ChecksumCRC64NVME></Part></CompleteMultipartUpload>' "$second" "$1"
}
list AAAAAAAAAAA= >"$tmp/list"
expect_eq "400 InvalidPart" "$(complete) $(element Code)" "a list with another checksum of a part is refused"
list rosUhgp5mIg= >"$tmp/list"
expect_eq "400 BadDigest" "$(complete -H "$bad") $(element Code)" "an object that differs from its CRC64NVME is not made"
# "If the checksum type doesn't match the checksum type that was specified ... it'll result in a BadDigest error"
# (API_CompleteMultipartUpload).
expect_eq "400 BadDigest" "$(complete -H 'x-amz-checksum-type: COMPOSITE') $(element Code)" "another type of checksum is refused"
expect_eq 200 "$(complete -H 'x-amz-checksum-type: FULL_OBJECT')" "the parts become the object"
whole=$(element ChecksumCRC64NVME)
cat "$tmp/zeros" "$tmp/nine" >"$tmp/both"
expect_eq 200 "$(req PUT /bkt/both -T "$tmp/both" -H "x-amz-checksum-crc64nvme: $whole")" "the CRC64NVME of the parts together is that of the bytes"

sim_stop
sim_start --data "$tmp/data" --checksums crc64nvme
create up -H 'x-amz-checksum-algorithm: CRC32C' -H 'x-amz-checksum-type: FULL_OBJECT'
expect_eq 501 "$(cat "$tmp/status")" "a server with CRC64NVME alone refuses another checksum of parts together"
create up -H 'x-amz-checksum-algorithm: CRC32C'
expect_eq 200 "$(cat "$tmp/status")" "a server with CRC64NVME alone takes another checksum of parts one by one"
expect_eq 200 "$(req PUT /bkt/a -T "$tmp/nine" -H "$own")" "a server with CRC64NVME alone takes another checksum of a body"
sim_stop
sim_start --data "$tmp/data" --checksums none
expect_eq "501 501 200" "$(req PUT /bkt/a -T "$tmp/nine" -H "$own") $(req HEAD /bkt/a -H "$mode") $(req HEAD /bkt/a)" "a server without checksums refuses their headers"
sim_stop
sim_start --data "$tmp/data" --object-lock
expect_eq "400 InvalidRequest" "$(req PUT /bkt/a -T "$tmp/nine") $(element Code)" "a bucket with Object Lock refuses a body without a digest"
expect_eq 200 "$(req PUT /bkt/a -T "$tmp/nine" -H "$own")" "a bucket with Object Lock takes a body with a checksum"
expect_eq 200 "$(req PUT /bkt/a -T "$tmp/nine" -H 'Content-MD5: JfnnlDI7RTiF9RgfG2JNCw==')" "a bucket with Object Lock takes a body with its MD5"
create up
expect_eq 400 "$(part 1 "$tmp/nine")" "a bucket with Object Lock refuses a part without a digest"
