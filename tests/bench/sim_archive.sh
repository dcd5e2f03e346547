#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Objects of the simulator that are in an archive: neither read nor copied until they are restored.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 21

printf 'hello world' >"$tmp/small"
put() { req PUT "/bkt/$1" -T "$tmp/small" ${2:+-H "x-amz-storage-class: $2"}; }
copy() { req PUT /bkt/copy -d '' -H "x-amz-copy-source: /bkt/$1"; }
said() { echo "$(element Code) $(element StorageClass) $(element AccessTier)"; }
days='<RestoreRequest><Days>2</Days></RestoreRequest>'

sim_start --data "$tmp/data"
put cold GLACIER >/dev/null
put frozen DEEP_ARCHIVE >/dev/null
put tiered INTELLIGENT_TIERING >/dev/null
put instant GLACIER_IR >/dev/null
put hot >/dev/null
expect_eq "200 GLACIER " "$(req HEAD /bkt/cold) $(field x-amz-storage-class) $(field x-amz-restore)" "a head tells of an object in an archive"
expect_eq "403 InvalidObjectState GLACIER " "$(req GET /bkt/cold) $(said)" "an object in an archive is not read"
expect_eq "The operation is not valid for the object&apos;s storage class" "$(element Message)" "the refusal says why"
expect_eq "403 InvalidObjectState DEEP_ARCHIVE " "$(req GET /bkt/frozen -r 0-0) $(said)" "no byte of an object in an archive is read"
expect_eq "403 InvalidObjectState GLACIER " "$(copy cold) $(said)" "an object in an archive is not copied"
req POST "/bkt/copy?uploads" >/dev/null
upload=$(element UploadId)
expect_eq 403 "$(req PUT "/bkt/copy?partNumber=1&uploadId=$upload" -d '' -H 'x-amz-copy-source: /bkt/frozen')" "an object in an archive is not copied in parts"
expect_eq "200 200" "$(req GET /bkt/tiered) $(req GET /bkt/instant)" "other classes are read"
expect_eq "DEEP_ARCHIVE" "$(req GET '/bkt?list-type=2&prefix=frozen' >/dev/null && element StorageClass)" "a list tells the class"
expect_eq 412 "$(req GET /bkt/cold -H 'If-Match: "other"')" "a condition comes first"

etag=$(req HEAD /bkt/cold >/dev/null && field etag) changed=$(field last-modified)
expect_eq "403 InvalidObjectState" "$(req POST '/bkt/hot?restore' -d "$days") $(element Code)" "what is in no archive is not restored"
expect_eq "400 404" "$(req POST '/bkt/cold?restore' -d '<RestoreRequest></RestoreRequest>') $(req POST '/bkt/none?restore' -d "$days")" \
	"a restore has a time and an object"
expect_eq "202 200" "$(req POST '/bkt/cold?restore' -d "$days") $(req POST '/bkt/cold?restore' -d "$days")" "an object is restored, and longer"
req HEAD /bkt/cold >/dev/null
expect_eq "GLACIER $etag $changed" "$(field x-amz-storage-class) $(field etag) $(field last-modified)" "a restore changes no version"
check "a head tells until when" sh -c 'echo "$1" | grep -q "^ongoing-request=\"false\", expiry-date=\".* GMT\"$"' sh "$(field x-amz-restore)"
expect_eq "200 hello world" "$(req GET /bkt/cold) $(cat "$tmp/body")" "what was restored is read"
expect_eq 200 "$(copy cold)" "what was restored is copied"
expect_eq "200 " "$(req HEAD /bkt/copy) $(field x-amz-storage-class)" "the copy is in no archive"
sim_stop

sim_start --data "$tmp/data" --archive-tier DEEP_ARCHIVE_ACCESS
expect_eq "403 InvalidObjectState INTELLIGENT_TIERING DEEP_ARCHIVE_ACCESS" "$(req GET /bkt/tiered) $(said)" "what has sunk into an archive tier is not read"
expect_eq "DEEP_ARCHIVE_ACCESS" "$(req HEAD /bkt/tiered >/dev/null && field x-amz-archive-status)" "a head tells of the tier"
expect_eq "400 202" "$(req POST '/bkt/tiered?restore' -d "$days") $(req POST '/bkt/tiered?restore' -d '<RestoreRequest></RestoreRequest>')" \
	"an object is restored from a tier without a time"
expect_eq "200 " "$(req GET /bkt/tiered) $(field x-amz-archive-status)" "what left the tier is read"
