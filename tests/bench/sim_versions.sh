#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sim_versions.sh: buckets of S3 that keep versions (user guide, "Retaining multiple versions of objects with S3
# Versioning", "Deleting object versions from a versioning-enabled bucket").
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 17
printf one >"$tmp/one"
printf two >"$tmp/two"
version() { field x-amz-version-id; }

sim_start --data "$tmp/data" --bucket dir--az1--x-s3 --versioning
req GET '/bkt?versioning' >/dev/null
expect_eq Enabled "$(element Status)" "a bucket says that it keeps versions"
expect_eq 200 "$(req PUT /bkt/k -T "$tmp/one")" "an object is put"
one=$(version)
expect_eq 200 "$(req PUT /bkt/k -T "$tmp/two")" "another version is put"
two=$(version)
check "each version has an id" test -n "$one" -a -n "$two" -a "$one" != "$two"
expect_eq "200 two $two" "$(req GET /bkt/k) $(cat "$tmp/body") $(version)" "the present version is read, and told"
expect_eq "200 one $one" "$(req GET "/bkt/k?versionId=$one") $(cat "$tmp/body") $(version)" "the version before is read by its id"
expect_eq "204 true" "$(req DELETE /bkt/k) $(field x-amz-delete-marker)" "a delete makes a marker"
check "a marker has an id of its own" test -n "$(version)" -a "$(version)" != "$two"
expect_eq "404 200" "$(req GET /bkt/k) $(req GET "/bkt/k?versionId=$two")" "what was deleted is there by its id alone"
expect_eq "204 true" "$(req DELETE /bkt/none) $(field x-amz-delete-marker)" "a delete of nothing makes a marker, too"
expect_eq 200 "$(req PUT /bkt/k -T "$tmp/one" -H 'If-None-Match: *')" "an object is made where a marker is"
three=$(version)
expect_eq "412 204" "$(req DELETE /bkt/k -H 'If-Match: "x"') $(req DELETE "/bkt/k?versionId=$two")" "a version is deleted by its id"
expect_eq "404 200" "$(req GET "/bkt/k?versionId=$two") $(req GET "/bkt/k?versionId=$three")" "a version that was deleted is gone, and no other"
expect_eq "200" "$(req PUT /bkt/c -d '' -H 'x-amz-copy-source: /bkt/k')" "a version is copied"
check "a copy has an id" test -n "$(version)"
printf '<Delete><Object><Key>c</Key></Object></Delete>' >"$tmp/delete"
req POST '/bkt?delete' --data-binary "@$tmp/delete" -H "$(digest_of "$tmp/delete")" >/dev/null
expect_eq true "$(element DeleteMarker)" "objects that are deleted together get markers"
sim_stop
sim_start --data "$tmp/data"
expect_eq 501 "$(req GET "/bkt/k?versionId=$one")" "a bucket that keeps none knows no ids"
sim_stop
