#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulator goes wrong as its rules say, and only so.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 41

echo '[]' >"$tmp/rules"
sim_start --data "$tmp/data" --faults "$tmp/rules"
head -c 3000000 /dev/urandom >"$tmp/big"
cp "$tmp/big" "$tmp/text"
req PUT /bkt/o -T "$tmp/big" >/dev/null

# Puts rules in force. The signal is handled when a request has seen them: the probe rule says so.
rules() {
	epoch=$((${epoch:-0} + 1))
	printf '%s' "$1" | sed "s/^\[/[{\"op\":\"*\",\"key\":\"probe$epoch\",\"do\":\"status\",\"status\":507},/; s/,\]$/]/" \
		>"$tmp/rules.new"
	mv "$tmp/rules.new" "$tmp/rules"
	kill -HUP "$sim_pid"
	wait_for 10 probe
}
probe() { [ "$(req GET "/bkt/probe$epoch")" = 507 ]; }

rules '[{"op":"GetObject","key":"o*","times":2,"skip":1,"do":"status","code":"SlowDown"}]'
expect_eq "200 503 503 200" "$(req GET /bkt/o) $(req GET /bkt/o) $(req GET /bkt/o) $(req GET /bkt/o)" \
	"a rule with skip and times lets one pass, refuses two, and lets the rest pass"
rules '[{"op":"HeadObject","nth":2,"do":"status","status":404,"code":"NoSuchKey"}]'
expect_eq "200 404 200" "$(req HEAD /bkt/o) $(req HEAD /bkt/o) $(req HEAD /bkt/o)" "a rule with nth refuses the second"
rules '[{"op":"PutObject","do":"status","status":500,"body":"no XML"}]'
expect_eq 500 "$(req PUT /bkt/p -T "$tmp/big")" "a put is refused"
expect_eq "no XML" "$(cat "$tmp/body")" "a refused put has the body of the rule"
expect_eq 404 "$(req HEAD /bkt/p)" "a refused request has no effect"

rules '[{"op":"GetObject","times":1,"do":"truncate","after_bytes":1234567}]'
req GET /bkt/o >/dev/null
expect_eq "1234567 3000000" "$(wc -c <"$tmp/body") $(field content-length)" "a body ends early"
cmp -s -n 1234567 "$tmp/big" "$tmp/body"
expect_eq 0 $? "a truncated body has the first bytes of the object"
rules '[{"op":"GetObject","times":1,"do":"reset","after_bytes":1000}]'
curl -s -o /dev/null "$url/bkt/o"
expect_eq 56 $? "a reply is reset in the middle"
rules '[{"op":"GetObject","times":1,"do":"corrupt","after_bytes":2999999}]'
req GET /bkt/o >/dev/null
expect_eq "3000000 1" "$(wc -c <"$tmp/body") $(cmp -l "$tmp/big" "$tmp/body" | wc -l)" "one byte is corrupt"
expect_eq 3000000 "$(cmp -l "$tmp/big" "$tmp/body" | awk '{ print $1 }')" "the corrupt byte is the one that was named"
req GET /bkt/o >/dev/null
check "a body is whole after the corruption" cmp "$tmp/big" "$tmp/body"

rules '[{"op":"PutObject","times":1,"do":"reset","after_bytes":500000}]'
curl -s -o /dev/null -T "$tmp/big" "$url/bkt/p"
case $? in 55 | 56) ok "a put is reset in the middle" ;; *) not_ok "a put is reset in the middle" ;; esac
expect_eq 404 "$(req HEAD /bkt/p)" "a reset request has no effect"
rules '[{"op":"PutObject","times":1,"do":"reset","after_bytes":3000000}]'
curl -s -o /dev/null -T "$tmp/big" "$url/bkt/p"
case $? in 52 | 55 | 56) ok "a put is reset at its end" ;; *) not_ok "a put is reset at its end" ;; esac
expect_eq 404 "$(req HEAD /bkt/p)" "a reset of a body has no effect either"
rules '[{"op":"PutObject","times":1,"do":"reset_after"}]'
curl -s -o /dev/null -T "$tmp/big" "$url/bkt/p"
case $? in 52 | 55 | 56) ok "the reply to a put is lost" ;; *) not_ok "the reply to a put is lost" ;; esac
req GET /bkt/p >/dev/null
check "the put took effect" cmp "$tmp/big" "$tmp/body"
rules '[{"op":"PutObject","times":1,"do":"corrupt","after_bytes":5}]'
req HEAD /bkt/o -H 'x-amz-checksum-mode: ENABLED' >/dev/null
crc=$(field x-amz-checksum-crc32c)
expect_eq 400 "$(req PUT /bkt/q -T "$tmp/big" -H "x-amz-checksum-crc32c: $crc")" \
	"bytes that are corrupted on their way are noticed"
expect_eq 200 "$(req PUT /bkt/q -T "$tmp/big" -H "x-amz-checksum-crc32c: $crc")" "bytes are not corrupted after that"
rules '[{"op":"DeleteObject","times":1,"do":"reset"}]'
curl -s -o /dev/null -X DELETE "$url/bkt/q"
expect_eq 200 "$(req HEAD /bkt/q)" "a delete that is reset has no effect"

# Times are not asserted: that a stall is not noticed by others is.
rules '[{"op":"GetObject","key":"o","do":"stall","after_bytes":1000,"stall":"600s"},{"op":"PutObject","key":"s","do":"stall","after_bytes":1000,"stall":600}]'
curl -sN -o "$tmp/stalled" "$url/bkt/o" &
stalled=$!
curl -s -o /dev/null -T "$tmp/big" "$url/bkt/s" &
stalled2=$!
wait_for 10 test -s "$tmp/stalled"
expect_eq "200 200" "$(req GET /bkt/p) $(req PUT /bkt/r -T "$tmp/big")" "stalls hold up nobody else"
check "the stalled get still waits" kill -0 "$stalled"
check "the stalled put still waits" kill -0 "$stalled2"
kill "$stalled" "$stalled2"
wait "$stalled" "$stalled2" 2>/dev/null
expect_eq 404 "$(req HEAD /bkt/s)" "the stalled put left nothing"

# began WHAT OP KEY: the line that the log has beside those of requests that are over
began() { wait_for 10 grep -q " $1:$2 bkt $3 - 000 " "$tmp/requests"; }
rules '[{"op":"HeadObject","key":"p","do":"hold","until":"reload"},{"op":"PutObject","key":"h*","do":"delay","until":"reload"}]'
curl -sI -o /dev/null -w '%{http_code}' "$url/bkt/p" >"$tmp/held" &
held=$!
curl -s -o /dev/null -w '%{http_code}' -T "$tmp/big" "$url/bkt/h" >"$tmp/held2" &
held2=$!
began held HeadObject p
began held PutObject h
expect_eq "200 204" "$(req GET /bkt/h) $(req DELETE /bkt/p)" "a put has taken effect whose reply is held up until the rules change"
rules '[{"op":"PutObject","key":"h","times":0,"do":"delay","until":"reload"}]'
wait "$held"
expect_eq 404 "$(cat "$tmp/held")" "a request that was held up finds what there is when the rules have changed"
check "a request is held up on while the rules say so" kill -0 "$held2"
expect_eq 200 "$(req PUT /bkt/h -T "$tmp/big")" "a rule that never acts holds up none that come"
rules '[{"op":"GetObject","key":"h","do":"stall","after_bytes":1000,"until":"reload"}]'
wait "$held2"
expect_eq 200 "$(cat "$tmp/held2")" "a reply that was held up comes when the rules have changed"
req GET /bkt/h >"$tmp/held" &
held=$!
began held GetObject h
rules '[{"op":"GetObject","do":"delay","until":"reload","stall":"10ms"}]'
wait "$held"
expect_eq 200 "$(cat "$tmp/held")" "a body that was held up is whole when the rules have changed"
expect_eq 200 "$(req GET /bkt/h)" "a request whose rules do not change goes on in the end"
began expired GetObject h

rules '[{"op":"ListObjectsV2","key":"dir/","do":"status","status":403}]'
expect_eq "200 403" "$(req GET '/bkt?list-type=2') $(req GET '/bkt?list-type=2&prefix=dir%2F')" "the key of a list is its prefix"

rules "$(cat "$srcdir/tests/faults/complete_200_with_error_once.json")"
head -c 5242880 /dev/urandom >"$tmp/one"
expect_eq 200 "$(multipart m "$tmp/one" "$tmp/big")" "Complete says 200"
expect_eq InternalError "$(element Code)" "Complete's 200 has an error inside"
expect_eq 404 "$(req HEAD /bkt/m)" "an error inside a 200 makes no object"
expect_eq 200 "$(req POST "/bkt/m?uploadId=$(cat "$tmp/upload")" --data-binary "@$tmp/list")" "the next Complete succeeds"
expect_eq m "$(element Key)" "the reply of the next Complete has no error"

echo '[{"op":"*","do":"explode"}]' >"$tmp/rules"
kill -HUP "$sim_pid"
wait_for 10 grep -q 'rule 1 does nothing known' "$tmp/sim.err"
expect_eq 0 $? "a broken file is reported"
check "the requests are in the log with what a rule did" grep -q ' PutObject bkt q - 400 3000000 .* corrupt$' "$tmp/requests"
bad=0
for f in "$srcdir"/tests/faults/*.json; do
	: >"$tmp/sim.err"
	rules "$(cat "$f")"
	[ ! -s "$tmp/sim.err" ] || bad=1
done
expect_eq 0 $bad "every sample file can be read"
rules '[{"op":"GetObject","key":"o","do":"hold","until":"reload"}]'
curl -s -o /dev/null "$url/bkt/o" &
held=$!
began held GetObject o
check "the server ends in good order while it holds up a request" sim_stop
