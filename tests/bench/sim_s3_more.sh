#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What buckets may be beside the usual: directory buckets, those whose requester pays, encrypted objects,
# a clock that is wrong, a store that is full.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
curl --help all | grep -q aws-sigv4 || skip_all "curl cannot sign"
command -v openssl >/dev/null || skip_all "openssl is not installed"
plan 82

any='x-amz-content-sha256: UNSIGNED-PAYLOAD'
printf 'hello world' >"$tmp/small"

# --- directory buckets ---
sim_start --data "$tmp/data" --bucket dir--az1--x-s3 --access-key AK --secret-key SK
by_host() { url=http://dir--az1--x-s3.localhost:${url##*:}; }
by_host
as() {
	who=$1
	shift
	req "$@" --user "$who" --aws-sigv4 aws:amz:us-east-1:s3express -H "$any"
}
expect_eq "403 InvalidAccessKeyId" "$(as AK:SK PUT /a -T "$tmp/small") $(element Code)" "a directory bucket wants a session"
expect_eq 200 "$(as AK:SK GET "/?session=")" "a directory bucket gives a session"
keys=$(element AccessKeyId):$(element SecretAccessKey) token="x-amz-s3session-token: $(element SessionToken)"
expect_eq 200 "$(as "$keys" PUT /a -T "$tmp/small" -H "$token")" "an object is put with a session"
expect_eq 400 "$(as "$keys" PUT /a -T "$tmp/small" -H 'x-amz-s3session-token: no')" "another session token is refused"
expect_eq 403 "$(as "${keys%?}x" PUT /a -T "$tmp/small" -H "$token")" "another session secret is refused"
sim_stop
sim_start --data "$tmp/data" --bucket dir--az1--x-s3
by_host
req GET "/?session" >/dev/null
token="x-amz-s3session-token: $(element SessionToken)"
expect_eq 403 "$(req HEAD /a)" "a session is wanted though keys are not"
etag=$(req HEAD /a -H "$token" >/dev/null && field etag)
req PUT /z -T "$tmp/small" -H "$token" >/dev/null
rename() {
	to=$1 from=$2
	shift 2
	req PUT "/$to?renameObject=" -d '' -H "$token" -H "x-amz-rename-source: $from" "$@"
}
expect_eq 412 "$(rename b a -H 'x-amz-rename-source-if-match: "x"')" "a rename of another version is refused"
expect_eq 412 "$(rename z a -H 'If-None-Match: *')" "a rename onto what is there is refused"
expect_eq 200 "$(rename d/b%2B a -H "x-amz-rename-source-if-match: $etag" -H 'If-None-Match: *')" "an object is renamed"
expect_eq "200 $etag" "$(req HEAD /d/b%2B -H "$token") $(field etag)" "a renamed object is the same version"
expect_eq 404 "$(req HEAD /a -H "$token")" "a renamed object is no more where it was"
expect_eq "200 200" "$(rename w z -H 'x-amz-client-token: t1') $(rename w z -H 'x-amz-client-token: t1')" \
	"a rename that was made is confirmed to the same token"
expect_eq "400 IdempotentParameterMismatch" "$(rename v z -H 'x-amz-client-token: t1') $(element Code)" "a token is for one rename"
expect_eq "404 200" "$(rename z y -H 'x-amz-client-token: t2') $(rename z w -H 'x-amz-client-token: t2')" \
	"a rename that failed leaves its token free"
# "The RenameObject API operation will not succeed on objects that end with the slash (/) delimiter character" (user guide).
req PUT /m/ -d '' -H "$token" >/dev/null
expect_eq "400 400 200" "$(rename n m/) $(rename n/ z) $(req HEAD /m/ -H "$token")" "names that end with a slash are not renamed"
req DELETE /m/ -H "$token" >/dev/null
expect_eq 501 "$(req GET "/z?tagging" -H "$token")" "objects of a directory bucket have no tags"
for k in c d e f; do req PUT "/$k" -T "$tmp/small" -H "$token" >/dev/null; done
req GET "/?list-type=2&delimiter=/" -H "$token" >/dev/null
tr '<' '\n' <"$tmp/body" | sed -n 's/^Key>//p' >"$tmp/keys"
expect_eq "c d e f z" "$(sort "$tmp/keys" | xargs)" "a list has all objects"
check "a directory bucket lists in no order" sh -c '! sort -c "$1" 2>/dev/null' sh "$tmp/keys"
expect_eq 400 "$(req GET "/?list-type=2&prefix=ab" -H "$token")" "a prefix is a folder"
# "Object keys in DeleteObjects requests cannot contain Unicode control characters" and "must contain at least one
# non-white space character" (user guide, Differences for directory buckets).
many() {
	echo "<Delete><Object><Key>$1</Key></Object></Delete>" >"$tmp/many"
	req POST "/?delete" -H "$token" --data-binary "@$tmp/many" -H "$(digest_of "$tmp/many")"
}
expect_eq "400 400 200" "$(many "$(printf 'a\177')") $(many ' ') $(many 'a&#13;')" "a directory bucket deletes no odd names together"
# "For directory buckets, key-marker is obfuscated and isn't a real object key. The upload-id-marker parameter isn't
# supported by directory buckets" (API reference, ListMultipartUploads).
for k in m m n; do req POST "/$k?uploads" -H "$token" >/dev/null; done
# "During in-progress multipart uploads, the CommonPrefixes response parameter contains the prefixes that are associated
# with the in-progress multipart uploads" (API_ListObjectsV2).
for k in up/1 up/2 d/3 d/4/5; do req POST "/$k?uploads" -H "$token" >/dev/null && eval "id_$(echo $k | tr / _)=$(element UploadId)"; done
commons() { req GET "/?list-type=2&delimiter=/" -H "$token" >/dev/null; tr '<' '\n' <"$tmp/body" | sed -n 's/^Prefix>\(.*\/\)$/\1/p' | xargs; }
expect_eq "d/ up/" "$(commons)" "a list tells the prefixes of uploads"
for k in up/1 up/2 d/3 d/4/5; do eval "id=\$id_$(echo $k | tr / _)"; req DELETE "/$k?uploadId=$id" -H "$token" >/dev/null; done
expect_eq "d/" "$(commons)" "a list tells no prefixes of uploads that are over"
marker= found=
while :; do
	req GET "/?uploads&max-uploads=1${marker:+&key-marker=$marker}" -H "$token" >/dev/null
	found="$found$(element Key)" marker=$(element NextKeyMarker)
	[ -n "$marker" ] || break
done
expect_eq "mmn " "$found $(element NextUploadIdMarker)" "the uploads of a directory bucket are listed by their key marker alone"
expect_eq "501 400" "$(req GET "/?uploads&key-marker=m&upload-id-marker=" -H "$token") $(req GET "/?uploads&key-marker=m" -H "$token")" \
	"other markers of uploads in a directory bucket are refused"
sim_stop
sim_start --data "$tmp/data" --bucket dir--az1--x-s3 --session-life 0
by_host
req GET "/?session=" >/dev/null
expect_eq "400 ExpiredToken" "$(req GET "/c" -H "x-amz-s3session-token: $(element SessionToken)") $(element Code)" "a session ends"
sim_stop
# "You can use the access point name instead of a bucket name for all data operations" (user guide, "Referencing access
# points for directory buckets").
sim_start --data "$tmp/data" --bucket ap--az1--xa-s3
expect_eq "400 InvalidRequest" "$(req GET '/ap--az1--xa-s3?session=') $(element Code)" "an access point of a directory bucket is not served by its path"
url=http://ap--az1--xa-s3.localhost:${url##*:}
expect_eq "403 200" "$(req GET /c) $(req GET '/?session=')" "an access point of a directory bucket wants a session, and gives it"
sim_stop
# "RenameObject is only supported for objects stored in the S3 Express One Zone storage class" (API reference), and
# x-amz-write-offset-bytes is, too, which objects in a Local Zone are not.
sim_start --data "$tmp/data" --bucket dir--az1--x-s3 --local-zone
by_host
req GET "/?session=" >/dev/null
token="x-amz-s3session-token: $(element SessionToken)"
req PUT /z -T "$tmp/small" -H "$token" >/dev/null
expect_eq "501 NotImplemented 200" "$(rename v z) $(element Code) $(req HEAD /z -H "$token")" "a directory bucket in a Local Zone renames nothing"
expect_eq "501 NotImplemented" "$(req PUT /z -T "$tmp/small" -H "$token" -H 'x-amz-write-offset-bytes: 11') $(element Code)" \
	"a directory bucket in a Local Zone appends nothing"
url=http://127.0.0.1:${url##*:}
expect_eq 501 "$(req PUT '/bkt/x?renameObject=' -d '' -H 'x-amz-rename-source: y')" "no other bucket has a rename"
sim_stop

# --- conditions on the target of a copy ---
copy_onto() { req PUT "/bkt/$1" -d '' -H 'x-amz-copy-source: /bkt/from' -H "$2"; }
sim_start --data "$tmp/data"
req PUT /bkt/from -T "$tmp/small" >/dev/null
expect_eq "200 412" "$(copy_onto to 'If-None-Match: *') $(copy_onto to 'If-None-Match: *')" "a copy is made where nothing is"
req HEAD /bkt/to >/dev/null
etag=$(field etag)
expect_eq "412 200" "$(copy_onto to 'If-Match: "x"') $(copy_onto to "If-Match: $etag")" "a copy is made in place of one version"
expect_eq "404 501" "$(copy_onto no 'If-Match: "x"') $(copy_onto no "If-None-Match: $etag")" "a copy in place of a version needs that version"
sim_stop
sim_start --data "$tmp/data" --copy-if ignore
expect_eq 200 "$(copy_onto to 'If-None-Match: *')" "another server ignores the condition"
sim_stop
sim_start --data "$tmp/data" --copy-if refuse
expect_eq "501 NotImplemented" "$(copy_onto to 'If-None-Match: *') $(element Code)" "another server refuses the condition"
sim_stop

# --- other servers ---
put_if() { req PUT "/bkt/to" -T "$tmp/small" -H "$1"; }
sim_start --data "$tmp/data" --if-match ignore
expect_eq "200 200 412" "$(put_if 'If-Match: "x"') $(copy_onto to 'If-Match: "x"') $(put_if 'If-None-Match: *')" "another server ignores If-Match alone"
sim_stop
sim_start --data "$tmp/data" --if-none-match ignore
expect_eq "412 200 200" "$(put_if 'If-Match: "x"') $(copy_onto to 'If-None-Match: *') $(put_if 'If-None-Match: *')" \
	"another server ignores If-None-Match alone"
sim_stop
sim_start --data "$tmp/data" --if-match refuse --strict-headers
expect_eq "501 501 412" "$(put_if 'If-Match: "x"') $(copy_onto to 'If-Match: "x"') $(put_if 'If-None-Match: *')" "another server refuses If-Match alone"
expect_eq 412 "$(req GET /bkt/to -H 'If-Match: "x"')" "another server honors If-Match in a get"
expect_eq "501 NotImplemented 200" "$(copy_onto to 'x-amz-copy-if-match: "x"') $(element Code) $(copy_onto to 'x-amz-meta-a: b')" \
	"another server refuses headers that are not the vendor's"
sim_stop
sim_start --data "$tmp/data" --key-tokens
for k in 'p%20q/1' 'p%20q/2'; do req PUT "/bkt/$k" -T "$tmp/small" >/dev/null; done
req GET '/bkt?list-type=2&prefix=p&max-keys=1&encoding-type=url' >/dev/null
expect_eq p%20q/1 "$(element NextContinuationToken)" "another server's token is the last name, encoded as it is"
req GET '/bkt?list-type=2&prefix=p&continuation-token=p%2520q/1' >/dev/null
expect_eq "" "$(element Key)" "another server takes a token for a name as it is"
req GET '/bkt?list-type=2&prefix=p&continuation-token=p%20q/1' >/dev/null
expect_eq "p q/2" "$(element Key)" "another server goes on behind the name"
sim_stop

# --- the requester pays ---
sim_start --data "$tmp/data" --requester-pays
expect_eq 403 "$(req PUT /bkt/p -T "$tmp/small")" "who does not say that he pays is refused"
expect_eq 200 "$(req PUT /bkt/p -T "$tmp/small" -H 'x-amz-request-payer: requester')" "who says that he pays is served"
expect_eq requester "$(field x-amz-request-charged)" "who pays is told so"
sim_stop

# --- encryption ---
sim_start --data "$tmp/data" --allow-sse-c
sse=x-amz-server-side-encryption
expect_eq 200 "$(req PUT /bkt/k -T "$tmp/small" -H "$sse: aws:kms" -H "$sse-aws-kms-key-id: key")" "an object is put with a key of KMS"
expect_eq "aws:kms key" "$(field $sse) $(field $sse-aws-kms-key-id)" "the reply to a put says its key of KMS"
expect_eq "200 aws:kms key" "$(req GET /bkt/k) $(field $sse) $(field $sse-aws-kms-key-id)" "a read says its key of KMS"
expect_eq 400 "$(req PUT /bkt/k -T "$tmp/small" -H "$sse: rot13")" "a method that is none is refused"
expect_eq 400 "$(req PUT /bkt/k -T "$tmp/small" -H "$sse-aws-kms-key-id: key")" "a key without a method is refused"
req POST '/bkt/m?uploads' -H "$sse: AES256" >/dev/null
expect_eq AES256 "$(field $sse)" "an upload has a key of KMS, too"
key=$(printf '%032d' 7 | openssl base64 -A) md5=$(printf '%032d' 7 | openssl md5 -binary | openssl base64 -A)
other=$(printf '%032d' 8 | openssl base64 -A) othermd5=$(printf '%032d' 8 | openssl md5 -binary | openssl base64 -A)
own() {
	k=$1 m=$2
	shift 2
	req "$@" -H "$sse-customer-algorithm: AES256" -H "$sse-customer-key: $k" -H "$sse-customer-key-MD5: $m"
}
expect_eq 200 "$(own "$key" "$md5" PUT /bkt/c -T "$tmp/small")" "an object is put with a key of one's own"
expect_eq 400 "$(own "$key" "$othermd5" PUT /bkt/c -T "$tmp/small")" "an object is not put with another key's digest"
expect_eq 400 "$(req GET /bkt/c)" "an object is not read without its key"
expect_eq 403 "$(own "$other" "$othermd5" GET /bkt/c)" "an object is not read with another key"
expect_eq "200 hello world" "$(own "$key" "$md5" GET /bkt/c) $(cat "$tmp/body")" "an object is read with its key"
expect_eq 400 "$(own "$key" "$md5" GET /bkt/k)" "an object without such a key is not read with one"
expect_eq 400 "$(own "$key" "$md5" PUT /bkt/c2 -d '' -H 'x-amz-copy-source: /bkt/c')" "a copy needs the source's key"
cs=x-amz-copy-source-server-side-encryption-customer
expect_eq 200 "$(req PUT /bkt/c2 -d '' -H 'x-amz-copy-source: /bkt/c' -H "$cs-algorithm: AES256" -H "$cs-key: $key" \
	-H "$cs-key-MD5: $md5")" "a copy is made with the source's key"
expect_eq 200 "$(req GET /bkt/c2)" "a copy has no key when none is given"
own "$key" "$md5" POST '/bkt/u?uploads' >/dev/null
upload=$(element UploadId)
expect_eq 400 "$(req PUT "/bkt/u?partNumber=1&uploadId=$upload" -T "$tmp/small")" "a part needs the upload's key"
expect_eq 200 "$(own "$key" "$md5" PUT "/bkt/u?partNumber=1&uploadId=$upload" -T "$tmp/small")" "a part is taken with the upload's key"
own "$key" "$md5" PUT "/bkt/key" -T "$tmp/small" >/dev/null
from() { req PUT "/bkt/u?partNumber=2&uploadId=$upload" -d '' -H 'x-amz-copy-source: /bkt/key' -H "$cs-algorithm: AES256" -H "$cs-key: $key" -H "$cs-key-MD5: $md5" "$@"; }
expect_eq 400 "$(from)" "a part that is copied needs the upload's key"
expect_eq 200 "$(from -H "$sse-customer-algorithm: AES256" -H "$sse-customer-key: $key" -H "$sse-customer-key-MD5: $md5")" "a part is copied with the keys of source and upload"
own "$key" "$md5" POST '/bkt/u?uploads' -H 'x-amz-checksum-algorithm: CRC32C' >/dev/null
upload=$(element UploadId)
own "$key" "$md5" PUT "/bkt/u?partNumber=1&uploadId=$upload" -T "$tmp/small" -H "x-amz-checksum-crc32c: yZRlqg==" >/dev/null
echo "1 $(field ETag)" | part_list >"$tmp/list"
expect_eq "400 400" "$(req GET "/bkt/u?uploadId=$upload") $(req POST "/bkt/u?uploadId=$upload" --data-binary "@$tmp/list")" \
	"an upload with checksums, its parts and Complete are answered"
expect_eq "200 200" "$(own "$key" "$md5" GET "/bkt/u?uploadId=$upload") $(own "$key" "$md5" POST \
	"/bkt/u?uploadId=$upload" --data-binary "@$tmp/list")" "parts and Complete are answered with checksums"

# "Starting April 2026, Amazon S3 automatically disables server-side encryption with customer-provided keys (SSE-C) for
# all new general purpose buckets [...] Existing SSE-C encrypted objects in the bucket are unaffected" (user guide).
sim_stop
sim_start --data "$tmp/data"
expect_eq "403 AccessDenied" "$(own "$key" "$md5" PUT /bkt/c3 -T "$tmp/small") $(element Code)" "a new bucket refuses an object with a key of one's own"
expect_eq "403 403" "$(own "$key" "$md5" POST '/bkt/u?uploads') $(own "$key" "$md5" PUT /bkt/c3 -d '' -H 'x-amz-copy-source: /bkt/k')" \
	"a new bucket refuses uploads and copies with a key of one's own"
expect_eq "200 hello world" "$(own "$key" "$md5" GET /bkt/c) $(cat "$tmp/body")" "an object with a key of one's own is read from such a bucket"

# --- tags ---
req PUT /bkt/t -d x -H 'x-amz-tagging: team=ml&a%26b=' >/dev/null
expect_eq 200 "$(req GET '/bkt/t?tagging')" "the tags of an object are told"
expect_eq "<Tag><Key>team</Key><Value>ml</Value></Tag><Tag><Key>a&amp;b</Key><Value></Value></Tag>" \
	"$(sed -n 's/.*<TagSet>\(.*\)<\/TagSet>.*/\1/p' "$tmp/body")" "tags are told as they were meant"
expect_eq "200 " "$(req GET '/bkt/k?tagging') $(element Key)" "an object without tags has an empty set"
expect_eq 404 "$(req GET '/bkt/nothing?tagging')" "tags of what is not there are not found"

# --- deletes of many that fail in part ---
sim_stop
cat >"$tmp/rules" <<-END
	[{"op": "DeleteObjects.Key", "key": "c2", "do": "status", "code": "AccessDenied"},
	{"key": "gone", "do": "delay", "stall": "1ms"}]
END
sim_start --data "$tmp/data" --faults "$tmp/rules"
echo '<Delete><Object><Key>k</Key></Object><Object><Key>c2</Key></Object></Delete>' >"$tmp/many"
expect_eq 200 "$(req POST '/bkt?delete' --data-binary "@$tmp/many" -H "$(digest_of "$tmp/many")")" "a delete of many is answered"
expect_eq "AccessDenied" "$(element Code)" "a delete of many tells the error of one"
expect_eq "404 200" "$(req HEAD /bkt/k) $(req HEAD /bkt/c2)" "an object that may not be deleted stays, and the other goes"
echo '<Delete><Object><Key>gone</Key><ETag>"0"</ETag></Object></Delete>' >"$tmp/many"
req POST '/bkt?delete' --data-binary "@$tmp/many" -H "$(digest_of "$tmp/many")" >/dev/null
expect_eq "NoSuchKey" "$(element Code)" "a fault that refuses nothing gives a key no other error than it has"
sim_stop

# --- clock and room ---
sim_start --data "$tmp/data" --access-key AK --secret-key SK --clock-skew 1h
expect_eq "403 RequestTimeTooSkewed" "$(as AK:SK GET /bkt/c2) $(element Code)" "a clock that is wrong is told"
now=$(date +%s) theirs=$(date -d "$(field date)" +%s)
check "the right time is in the reply" test $((theirs - now)) -gt 3000
sim_stop
sim_start --data "$tmp/full" --quota 1M
head -c 600000 /dev/zero >"$tmp/big"
expect_eq "200 507" "$(req PUT /bkt/1 -T "$tmp/big") $(req PUT /bkt/2 -T "$tmp/big")" "a store that is full says so"
req DELETE /bkt/1 >/dev/null
expect_eq 200 "$(req PUT /bkt/2 -T "$tmp/big")" "a store is full until there is room"
