#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Null mode keeps sizes and answers with the pattern; shaping slows each connection, not the loop.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 14

sim_start --null
head -c 5242880 /dev/zero >"$tmp/one"
head -c 1000003 /dev/zero >"$tmp/tail"
expect_eq 200 "$(multipart m "$tmp/one" "$tmp/one" "$tmp/tail")" "an upload is completed"
req GET /bkt/m -H 'x-amz-checksum-mode: ENABLED' >/dev/null
expect_eq 11485763 "$(wc -c <"$tmp/body")" "the object has its size"
crc=$(field x-amz-checksum-crc32c)
cp "$tmp/body" "$tmp/all"
head -c 258048 "$tmp/all" >"$tmp/period"
tail -c +258049 "$tmp/all" | head -c 258048 | cmp -s - "$tmp/period"
expect_eq 0 $? "the pattern repeats after 63 pages"
req GET /bkt/m -r 5000000-5999999 >/dev/null
tail -c +5000001 "$tmp/all" | head -c 1000000 >"$tmp/want"
check "a range is the range of the whole" cmp "$tmp/want" "$tmp/body"
req PUT /bkt/s -T "$tmp/tail" >/dev/null
req GET /bkt/s >/dev/null
check "every object holds the same bytes" cmp -n 1000003 "$tmp/all" "$tmp/body"
{ printf 'f4243\r\n'; cat "$tmp/tail"; printf '\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n'; } >"$tmp/chunks"
expect_eq 200 "$(req PUT /bkt/c -T "$tmp/chunks" -H 'Content-Encoding: aws-chunked' -H 'x-amz-decoded-content-length: 1000019')" \
	"a body in chunks is taken"
req HEAD /bkt/c >/dev/null
expect_eq 1000019 "$(field content-length)" "the data of a body in chunks is counted"
check "the server ends in good order" sim_stop

sim_start --data "$tmp/data"
req PUT /bkt/m -T "$tmp/all" >/dev/null
expect_eq "$crc" "$(field x-amz-checksum-crc32c)" "the checksum is that of the pattern"
sim_stop

sim_start --null --fill big=2,100G
req HEAD /bkt/big00000001 >/dev/null
expect_eq 107374182400 "$(field content-length)" "a bucket begins with objects of any size"
sim_stop

sim_start --null --rate 20M --ttfb 5ms
req PUT /bkt/s -T "$tmp/tail" >/dev/null
req GET /bkt/s >/dev/null
check "a slow reply has all bytes of the object" cmp -n 1000003 "$tmp/all" "$tmp/body"
check "the server ends in good order" sim_stop
# A request is logged after its reply has left: only a server that has ended has logged the last one.
took() { awk -v op="$1" '$2 == op && $6 == 200 { us = $9 } END { print us }' "$tmp/requests"; }
# Bounds from below only: a busy machine is slower, never faster.
check "a slow reply takes no less than the rate allows" test "$(took GetObject)" -ge 45000
check "a slow put takes no less than the rate allows" test "$(took PutObject)" -ge 45000
