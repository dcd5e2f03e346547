#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulator's second protocol: resumable sessions, the XML API and its multipart uploads, and objects
# made of objects.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 63

sim_start --data "$tmp/data" --protocol gs --rewrite-chunk 4M --resume-short 512K
o=/storage/v1/b/bkt/o up=/upload/storage/v1/b/bkt/o
j() { jq -r "$1" <"$tmp/body"; }
json='Content-Type: application/json'
head -c 1000000 /dev/urandom >"$tmp/big"
same() { req GET "$o/$1?alt=media" >/dev/null && cmp -s "$tmp/body" "$2" && echo same; }

# --- a resumable session ---
session() {
	req POST "$up?uploadType=resumable&name=$1" -H "$json" -d "${2:-}" >"$tmp/status"
	session=$(field location)
	session=${session#"$url"}
}
chunk() {
	tail -c "+$(($1 + 1))" "$tmp/big" | head -c "$2" >"$tmp/chunk"
	req PUT "$session" -H "Content-Range: bytes $1-$(($1 + $2 - 1))/$3" --data-binary "@$tmp/chunk"
}
ask() { req PUT "$session" -H 'Content-Range: bytes */1000000' -d ''; }
session 'res&ifGenerationMatch=0' '{"contentType":"a/b","metadata":{"k":"v"}}'
expect_eq 200 "$(cat "$tmp/status")" "a session is begun"
expect_eq 308 "$(ask)" "a session is asked for its state"
expect_eq "" "$(field range)" "a new session has nothing"
expect_eq 308 "$(chunk 0 786432 '*')" "a chunk is taken"
expect_eq bytes=0-524287 "$(field range)" "a chunk is taken in part only"
expect_eq 308 "$(chunk 524288 300000 '*')" "the next chunk is taken"
expect_eq bytes=0-786431 "$(field range)" "the next chunk is kept in grains"
expect_eq 308 "$(req POST "$session" -H 'Content-Range: bytes */1000000' -d '')" "a session may be posted to"
sim_stop
sim_start --data "$tmp/data" --protocol gs --rewrite-chunk 4M
expect_eq 308 "$(ask)" "the session outlives the server"
expect_eq 400 "$(chunk 786433 213567 1000000)" "a chunk that leaves a hole is refused"
expect_eq 200 "$(chunk 700000 300000 1000000)" "the last chunk, which overlaps, ends the session"
expect_eq "1000000 v a/b" "$(j '"\(.size) \(.metadata.k) \(.contentType)"')" "the object has the size, metadata and type that its session was begun with"
expect_eq same "$(same res "$tmp/big")" "the session's object has all its bytes"
expect_eq 404 "$(ask)" "a session is over when its object is there"
session 'res&ifGenerationMatch=0'
expect_eq 412 "$(chunk 0 1000000 1000000)" "a condition of the session counts at its end"
expect_eq 400 "$(session res3; dd if="$tmp/big" of="$tmp/chunk" bs=1000 count=1 status=none
	req PUT "$session" -H 'x-goog-hash: crc32c=AAAAAA==' --data-binary "@$tmp/chunk")" "the checksum of the whole is verified at the end"
session res4
expect_eq "200 308" "$(req PUT "$session" -H 'X-GUploader-No-308: yes' -H 'Content-Range: bytes */*' -d '') $(field x-http-status-code-override)" \
	"who wants no 308 is told in a header"
expect_eq 499 "$(req DELETE "$session")" "a session is cancelled"
expect_eq 404 "$(ask)" "a cancelled session is gone"

# --- the XML API ---
expect_eq 200 "$(req PUT /bkt/xml -T "$tmp/big" -H 'x-goog-meta-k: v')" "an object is put by the XML API"
expect_eq 200 "$(req HEAD /bkt/xml)" "an object of the XML API is asked for"
expect_eq v "$(field x-goog-meta-k)" "an object of the XML API has its metadata"
gen=$(field x-goog-generation) hash=$(field x-goog-hash)
req GET "$o/xml" >/dev/null
expect_eq "$gen $hash v" "$(j '"\(.generation) crc32c=\(.crc32c) \(.metadata.k)"')" "the JSON API tells of an object of the XML API"
expect_eq 412 "$(req PUT /bkt/xml -T "$tmp/big" -H 'x-goog-if-generation-match: 0')" "the XML API obeys conditions"
of_turn() { req PUT /bkt/xml3 -H 'x-goog-copy-source: /bkt/xml' -H "x-goog-copy-source-if-metageneration-match: $1" -d ''; }
expect_eq "412 200" "$(of_turn 2) $(of_turn 1)" "the XML API obeys a condition on the metadata that are copied"
expect_eq 400 "$(req PUT /bkt/xml2 -T "$tmp/big" -H 'x-goog-hash: crc32c=AAAAAA==')" "the XML API verifies checksums"
expect_eq 400 "$(req PUT /bkt/xml2 -T "$tmp/big" -H "x-goog-meta-who: Zoë")" "the XML API takes metadata of ASCII alone"
head -c 5242880 /dev/urandom >"$tmp/p1"
cat "$tmp/p1" "$tmp/big" >"$tmp/whole"
expect_eq 200 "$(multipart xmp "$tmp/p1" "$tmp/big")" "parts are uploaded by the XML API"
hash=$(field x-goog-hash)
expect_eq same "$(same xmp "$tmp/whole")" "parts are the object when they are completed"
req GET "$o/xmp" >/dev/null
expect_eq "$hash" "crc32c=$(j .crc32c)" "an object of parts has the checksum of the whole"
req POST '/bkt/xmq?uploads' >/dev/null
expect_eq 400 "$(req POST "/bkt/xmq?uploadId=$(element UploadId)" -H 'x-goog-if-generation-match: 0' -d '<x/>')" \
	"completing takes no precondition"
expect_eq 404 "$(req DELETE '/bkt/nothing')" "a delete of nothing is not found"

# --- objects of objects ---
expect_eq 200 "$(req POST "$o/res/rewriteTo/b/bkt/o/c%2F1" -d '')" "a small object is rewritten at once"
expect_eq "true c/1 v" "$(j '"\(.done) \(.resource.name) \(.resource.metadata.k)"')" "a rewritten object has its metadata"
expect_eq same "$(same c%2F1 "$tmp/big")" "a rewritten object has its bytes"
req POST "$o/xmp/rewriteTo/b/bkt/o/c2?ifGenerationMatch=0" -d '' >/dev/null
expect_eq "false 4194304" "$(j '"\(.done) \(.totalBytesRewritten)"')" "a large object is rewritten in pieces"
token=$(j .rewriteToken)
expect_eq 404 "$(req GET "$o/c2")" "a large object is not there before the last piece"
req POST "$o/xmp/rewriteTo/b/bkt/o/c2?ifGenerationMatch=0&rewriteToken=$token" -d '' >/dev/null
expect_eq "true 6242880" "$(j '"\(.done) \(.resource.size)"')" "a large object is there after the last piece"
expect_eq 412 "$(req POST "$o/res/rewriteTo/b/bkt/o/c2?ifGenerationMatch=0" -d '')" "conditions of the target are obeyed"
expect_eq 412 "$(req POST "$o/res/rewriteTo/b/bkt/o/c3?ifSourceGenerationMatch=1" -d '')" "conditions of the source are obeyed"
expect_eq 200 "$(req POST "$o/res/copyTo/b/bkt/o/c3" -H "$json" -d '{"metadata":{"n":"w"}}')" "a copy is made"
expect_eq "null w" "$(j '"\(.metadata.k) \(.metadata.n)"')" "a copy has other metadata when it is given"

req GET "$o/xml" >/dev/null
gen=$(j .generation)
compose() { req POST "$o/$1/compose" -H "$json" -d "{\"sourceObjects\":[$2],\"destination\":{\"metadata\":{\"c\":\"d\"}}}"; }
expect_eq 200 "$(compose whole "{\"name\":\"xmp\"},{\"name\":\"xml\",\"generation\":\"$gen\"}")" "objects are composed"
expect_eq "7242880 2 d null" "$(j '"\(.size) \(.componentCount) \(.metadata.c) \(.md5Hash)"')" "two components are composed to one object"
cat "$tmp/whole" "$tmp/big" >"$tmp/three"
expect_eq same "$(same whole "$tmp/three")" "a composed object has all bytes"
crc=$(req GET "$o/whole" >/dev/null && j .crc32c)
req POST "$up?uploadType=media&name=flat" --data-binary "@$tmp/three" -H 'Content-Type:' >/dev/null
expect_eq "$crc" "$(j .crc32c)" "a composed object has its checksum"
expect_eq 200 "$(compose whole '{"name":"whole"},{"name":"xml"}')" "an object is composed onto itself"
expect_eq 3 "$(j .componentCount)" "an object composed onto itself has three components"
expect_eq 404 "$(compose w2 '{"name":"xml","generation":"1"}')" "a generation that is not there is not found"
many=$(printf '{"name":"xml"},%.0s' $(seq 33))
expect_eq 400 "$(compose w2 "${many%,}")" "33 sources are too many"
# "The source objects must all reside in the same bucket and use the same storage class" (XML API, Compose).
expect_eq 200 "$(req POST "$o/xml/rewriteTo/b/bkt/o/cold" -H "$json" -d '{"storageClass":"NEARLINE"}')" "an object gets a class"
expect_eq "NEARLINE STANDARD" "$(req GET "$o/cold" >/dev/null && j .storageClass) $(req GET "$o/xml" >/dev/null && j .storageClass)" \
	"an object has its class, or that of its bucket"
expect_eq "400 true" "$(compose w2 '{"name":"xml"},{"name":"cold"}') $(j '.error.message | test("different storage classes")')" \
	"objects of two classes are not composed"
expect_eq "200 STANDARD" "$(req POST "$o/cold/rewriteTo/b/bkt/o/warm" -d '') $(req GET "$o/warm" >/dev/null && j .storageClass)" \
	"a copy has the class of its bucket"

expect_eq 200 "$(req POST "$o/c%2F1/moveTo/o/m%2F1?ifGenerationMatch=0" -d '')" "an object is moved"
expect_eq same "$(same m%2F1 "$tmp/big")" "a moved object has its bytes"
expect_eq 404 "$(req GET "$o/c%2F1")" "a moved object is no more where it was"
expect_eq 412 "$(req POST "$o/m%2F1/moveTo/o/c2?ifGenerationMatch=0" -d '')" "an object is not moved onto what is there"
expect_eq 200 "$(req GET "$o/m%2F1")" "an object that was not moved stays"
sim_stop
sim_start --data "$tmp/data" --protocol gs --no-move
expect_eq 404 "$(req POST "$o/m%2F1/moveTo/o/m2" -d '')" "a server without moveTo does not find it"
expect_eq same "$(same m%2F1 "$tmp/big")" "an object is there though moveTo is not found"

# --- null mode ---
sim_stop
sim_start --null --protocol gs
expect_eq 200 "$(req POST "$up?uploadType=media&name=n" --data-binary "@$tmp/big" -H 'Content-Type:')" "null mode takes bodies"
expect_eq 1000000 "$(j .size)" "null mode keeps the sizes of bodies"
