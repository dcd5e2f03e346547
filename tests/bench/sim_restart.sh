#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the simulator holds survives its end, also a violent one.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 13

sim_start --data "$tmp/data"
head -c 5242880 /dev/urandom >"$tmp/one"
head -c 99 /dev/urandom >"$tmp/tail"
cat "$tmp/one" "$tmp/tail" >"$tmp/all"
req PUT /bkt/a%2F%0A -T "$tmp/one" -H 'x-amz-meta-k: v w' >/dev/null
req PUT /bkt/gone -T "$tmp/one" >/dev/null
req DELETE /bkt/gone >/dev/null
multipart m "$tmp/one" "$tmp/tail" >/dev/null
etag=$(element ETag)
req POST '/bkt/open?uploads' >/dev/null
up="uploadId=$(element UploadId)"
req PUT "/bkt/open?partNumber=1&$up" -T "$tmp/one" >/dev/null
part=$(field etag)
req PUT '/bkt/copy' -H 'x-amz-copy-source: /bkt/m' -H 'Content-Length: 0' >/dev/null

check_fails "a second server is kept out of the directory" \
	"$builddir/storesim" --bucket bkt --data "$tmp/data"
kill -9 "$sim_pid"
wait "$sim_pid" 2>/dev/null
sim_pid=
echo junk >"$tmp/data/bkt/data/00/0000000000000000"
sim_start --data "$tmp/data"
req GET /bkt/a%2F%0A >/dev/null
check "an object is still there" cmp "$tmp/one" "$tmp/body"
expect_eq "v w" "$(field x-amz-meta-k)" "an object has its metadata after a restart"
req GET /bkt/m >/dev/null
check "an object of several parts is still there" cmp "$tmp/all" "$tmp/body"
expect_eq "$etag" "$(field etag)" "an object of several parts has its ETag"
expect_eq 404 "$(req HEAD /bkt/gone)" "an object that was deleted is not there"
check_fails "bytes that belong to nothing were removed" test -e "$tmp/data/bkt/data/00/0000000000000000"
req PUT "/bkt/open?partNumber=2&$up" -T "$tmp/tail" >/dev/null
printf '1 %s\n2 %s\n' "$part" "$(field etag)" | part_list >"$tmp/list"
expect_eq 200 "$(req POST "/bkt/open?$up" --data-binary "@$tmp/list")" "an upload goes on"
req DELETE /bkt/m >/dev/null
check "the server ends in good order again" sim_stop
sim_start --data "$tmp/data"
req GET /bkt/open >/dev/null
check "an upload that went on is whole" cmp "$tmp/all" "$tmp/body"
req GET /bkt/copy >/dev/null
check "a copy outlives its source" cmp "$tmp/all" "$tmp/body"
for key in a%2F%0A open copy; do req DELETE "/bkt/$key" >/dev/null; done
expect_eq 0 "$(find "$tmp/data/bkt" -type f | wc -l)" "deleting all leaves no file"
expect_eq 0 "$(find "$tmp/data/.uploads" "$tmp/data/.tmp" -type f | wc -l)" "deleting all leaves no trace of uploads"
