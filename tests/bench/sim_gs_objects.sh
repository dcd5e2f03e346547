#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulator's JSON API: objects, their metadata, generations, preconditions, lists and batches.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 54

sim_start --data "$tmp/data" --protocol gs
o=/storage/v1/b/bkt/o up=/upload/storage/v1/b/bkt/o
j() { jq -r "$1" <"$tmp/body"; }
json='Content-Type: application/json'
printf 'hello world' >"$tmp/small"

expect_eq 200 "$(req POST "$up?uploadType=media&name=d/a%20b" -H 'Content-Type: text/x' --data-binary "@$tmp/small")" \
	"an object is put"
expect_eq "d/a b 11 1 text/x" "$(j '"\(.name) \(.size) \(.metageneration) \(.contentType)"')" "the resource of an object tells of it"
gen=$(j .generation)
expect_eq yZRlqg== "$(j .crc32c)" "an object's resource has its CRC32C"
expect_eq 200 "$(req GET "$o/d%2Fa%20b?alt=media")" "an object is read"
expect_eq "hello world" "$(cat "$tmp/body")" "an object is read as it was put"
expect_eq "$gen" "$(field x-goog-generation)" "a read tells the generation"
expect_eq 206 "$(req GET "$o/d%2Fa%20b?alt=media" -H 'Range: bytes=6-8')" "a range is read"
expect_eq "wor bytes 6-8/11" "$(cat "$tmp/body") $(field content-range)" "a range has the right bytes"
expect_eq 416 "$(req GET "$o/d%2Fa%20b?alt=media" -H 'Range: bytes=11-')" "a range behind the end is refused"
expect_eq 404 "$(req GET "$o/d/a%20b")" "a name with an open slash is not found"

# An object that is packed is given as it is to those alone who take it so.
gzip -c "$tmp/small" >"$tmp/packed"
req PUT /bkt/packed -T "$tmp/packed" -H 'Content-Encoding: gzip' >/dev/null
expect_eq "501 501" "$(req GET "$o/packed?alt=media") $(req GET /bkt/packed)" "nothing is unpacked for who does not accept gzip"
expect_eq "206 gzip 206" "$(req GET "$o/packed?alt=media" -r 0-9 -H 'Accept-Encoding: gzip') $(field content-encoding) \
$(req GET /bkt/packed -r 0-9 -H 'Accept-Encoding: gzip')" "a packed object is read by who accepts gzip"
req DELETE "$o/packed" >/dev/null

# Preconditions.
media() { req POST "$up?uploadType=media&name=$1" -H 'Content-Type:' --data-binary "@$tmp/small"; }
expect_eq 412 "$(media 'd/a%20b&ifGenerationMatch=0')" "create-only is refused where something is"
expect_eq conditionNotMet "$(j '.error.errors[0].reason')" "the refusal of create-only names its condition"
expect_eq 200 "$(media 'new&ifGenerationMatch=0')" "create-only succeeds where nothing is"
expect_eq 412 "$(req GET "$o/d%2Fa%20b?ifGenerationMatch=1")" "a read of another generation is refused"
expect_eq 304 "$(req GET "$o/d%2Fa%20b?ifGenerationNotMatch=$gen")" "a read of the same is not answered"
expect_eq 404 "$(req GET "$o/d%2Fa%20b?generation=1")" "a generation that is not there is not found"
expect_eq 200 "$(media "d/a%20b&ifGenerationMatch=$gen")" "an overwrite of the present generation is done"
expect_eq 412 "$(media "d/a%20b&ifGenerationMatch=$gen")" "an overwrite of one generation is done once"
expect_eq 404 "$(req GET "$o/d%2Fa%20b?alt=media&generation=$gen")" "the generation before is gone"
media gone >/dev/null
expect_eq 204 "$(req DELETE "$o/gone?generation=0")" "generation 0 is the present one"
expect_eq 400 "$(req POST "$up?uploadType=media&name=bad" -H 'x-goog-hash: crc32c=AAAAAA==' -d x)" \
	"a body with another checksum is refused"

# Two parts in one body, with and without the last line break.
for end in '\r\n' ''; do
	printf '%s\r\n' --b 'Content-Type: application/json' '' \
		'{"name":"rel","crc32c":"yZRlqg==","metadata":{"Mode":"33188"}}' --b 'Content-Type: text/plain' '' >"$tmp/rel"
	printf "hello world\r\n--b--$end" >>"$tmp/rel"
	expect_eq 200 "$(req POST "$up?uploadType=multipart" -H 'Content-Type: multipart/related; boundary=b' \
		--data-binary "@$tmp/rel")" "a description and data are put"
	expect_eq "11 33188 text/plain" "$(j '"\(.size) \(.metadata.Mode) \(.contentType)"')" "a description and data are both kept"
done
printf '%s\r\n' --b '' '{"name":"empty"}' --b '' '' --b-- >"$tmp/rel"
expect_eq 200 "$(req POST "$up?uploadType=multipart" -H 'Content-Type: multipart/related; boundary="b"' \
	--data-binary "@$tmp/rel")" "an empty object is put with a description"
expect_eq "0 AAAAAA==" "$(j '"\(.size) \(.crc32c)"')" "an empty object has the size 0 and the checksum of nothing"

# Metadata alone.
expect_eq 200 "$(req PATCH "$o/rel?ifMetagenerationMatch=1" -H "$json" -d '{"metadata":{"uid":"7"},"contentType":"a/b"}')" \
	"metadata is changed"
expect_eq "2 33188 7 a/b" "$(j '"\(.metageneration) \(.metadata.Mode) \(.metadata.uid) \(.contentType)"')" "metadata is changed beside what was there"
expect_eq 412 "$(req PATCH "$o/rel?ifMetagenerationMatch=1" -H "$json" -d '{}')" "metadata is changed on its metageneration only"
req PATCH "$o/rel" -H "$json" -d '{"metadata":{"uid":null}}' >/dev/null
expect_eq 'null 33188' "$(j '"\(.metadata.uid) \(.metadata.Mode)"')" "null takes a name away"
expect_eq "200 hello world" "$(req GET "$o/rel?alt=media") $(cat "$tmp/body")" "a change of metadata leaves the bytes"

# Lists.
for k in x/1 x/2 x/y/3 x/z; do media "$k" >/dev/null; done
req GET "$o?prefix=x/&delimiter=/" >/dev/null
expect_eq "x/1,x/2,x/z x/y/" "$(j '"\([.items[].name]|join(",")) \(.prefixes|join(","))"')" "a folder is listed"
media x/y/ >/dev/null
req GET "$o?prefix=x/&delimiter=/&includeTrailingDelimiter=true" >/dev/null
expect_eq "x/1,x/2,x/y/,x/z x/y/" "$(j '"\([.items[].name]|join(",")) \(.prefixes|join(","))"')" "a folder's list has the object of its name when that is asked for"
req DELETE "$o/x%2Fy%2F" >/dev/null
req GET "$o?prefix=x/&maxResults=2&delimiter=/" >/dev/null
token=$(j .nextPageToken)
req GET "$o?prefix=x/&maxResults=2&delimiter=/&pageToken=$token" >/dev/null
expect_eq "x/z x/y/ null" "$(j '"\([.items[].name]|join(",")) \(.prefixes|join(",")) \(.nextPageToken)"')" "a list goes page by page"
req GET "$o?startOffset=x/2&endOffset=x/z" >/dev/null
expect_eq "x/2,x/y/3" "$(j '[.items[].name]|join(",")')" "a list goes from an offset to another"
expect_eq 400 "$(req GET "$o?pageToken=zz")" "a token that is none is refused"

# "Object names cannot contain Carriage Return or Line Feed characters" (Object name requirements).
expect_eq "400 400 400" "$(media 'a%0Ab') $(media 'a%0Db') $(req PUT /bkt/a%0Ab -d '')" "a name of two lines is refused"

# Deletes, one and many.
gen=$(req GET "$o/new" >/dev/null && j .generation)
expect_eq 412 "$(req DELETE "$o/new?ifGenerationMatch=1")" "a delete of another generation is refused"
expect_eq 204 "$(req DELETE "$o/new?ifGenerationMatch=$gen")" "a delete of the right generation is done"
expect_eq 404 "$(req DELETE "$o/new")" "a deleted generation cannot be deleted again"
for k in x%2F1 x%2F2 gone; do
	printf '%s\r\n' --c 'Content-Type: application/http' "Content-ID: <$k>" '' "DELETE $o/$k HTTP/1.1" '' ''
done >"$tmp/batch"
printf '%s\r\n' --c-- >>"$tmp/batch"
expect_eq 200 "$(req POST /batch/storage/v1 -H 'Content-Type: multipart/mixed; boundary=c' --data-binary "@$tmp/batch")" \
	"a batch is answered"
expect_eq "204 204 404" "$(sed -n 's/^HTTP.1.1 \([0-9]*\).*/\1/p' "$tmp/body" | xargs)" "a batch is answered one by one"
expect_eq "<response-x%2F1>" "$(sed -n 's/^Content-ID: //p' "$tmp/body" | head -n 1 | tr -d '\r')" "each answer of a batch has its name"

printf -- '--c\nContent-Type: application/http\n\nDELETE %s/x%%2Fz HTTP/1.1\n--c--\n' $o >"$tmp/batch"
expect_eq 200 "$(req POST /batch/storage/v1 -H 'Content-Type: multipart/mixed; boundary="c"' --data-binary "@$tmp/batch")" \
	"a batch with other line breaks is answered"
expect_eq "204" "$(sed -n 's/^HTTP.1.1 \([0-9]*\).*/\1/p' "$tmp/body" | xargs)" "a batch with other line breaks is done"

# Errors and buckets.
expect_eq 404 "$(req GET /storage/v1/b/other/o)" "a bucket that is not there is not found"
expect_eq "404 notFound" "$(j '"\(.error.code) \(.error.errors[0].reason)"')" "a refusal is told in JSON"
expect_eq 200 "$(req GET /storage/v1/b/bkt/storageLayout)" "the layout is told"
expect_eq false "$(j .hierarchicalNamespace.enabled)" "a flat bucket has a flat layout"
sim_stop
sim_start --data "$tmp/data" --protocol gs --versioning
req GET "$o/rel" >/dev/null
expect_eq 3 "$(j .metageneration)" "generations outlive the server"
gen=$(j .generation)
media rel >/dev/null
expect_eq 200 "$(req GET "$o/rel?alt=media&generation=$gen")" "a replaced generation is read where versions are kept"
