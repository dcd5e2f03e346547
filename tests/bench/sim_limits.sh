#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the connections of the simulator share: a line of so many bytes a second, and the requests a second of a prefix.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 7

head -c 3000000 /dev/urandom >"$tmp/big"
sim_start --data "$tmp/data" --total-rate 40M --rate 20M --ttfb 1ms
for i in 1 2 3 4; do
	curl -s -o /dev/null -T "$tmp/big" "$url/bkt/k$i" &
	put="${put:-} $!"
done
for pid in $put; do wait "$pid"; done
for i in 1 2 3 4; do
	curl -s -o "$tmp/got.$i" "$url/bkt/k$i" &
	got="${got:-} $!"
done
for pid in $got; do wait "$pid"; done
whole=0
for i in 1 2 3 4; do cmp -s "$tmp/big" "$tmp/got.$i" && whole=$((whole + 1)); done
expect_eq 4 $whole "objects pass whole through a line that is shared"
expect_eq 404 "$(req HEAD /bkt/none)" "a reply without a body passes"
sim_stop

: >"$tmp/requests"
sim_start --null --request-rate 1,1
many() { for _ in 1 2 3 4 5 6 7 8 9 10; do printf '%s ' "$url$1"; done; }
# shellcheck disable=SC2046
curl -s -X PUT --max-time 30 -o /dev/null $(many /bkt/dir/k) -o /dev/null -d x >"$tmp/replies"
expect_eq "200 404" "$(req PUT /bkt/other/k -d x) $(req GET /bkt/dir/none)" "other prefixes and reads have their own rate"
# shellcheck disable=SC2046
curl -s --max-time 30 -o /dev/null $(many /bkt/dir/none) >"$tmp/replies"
check "reads that come too fast are told to slow down" grep -q '<Code>SlowDown<' "$tmp/replies"
check "the server ends in good order" sim_stop
expect_eq 200 "$(sed -n 's/^[^ ]* PutObject bkt dir\/k - \([0-9]*\) .*/\1/p' "$tmp/requests" | head -n 1)" "the first write of a prefix is taken"
check "writes that come too fast are refused" grep -q ' PutObject bkt dir/k - 503 ' "$tmp/requests"
