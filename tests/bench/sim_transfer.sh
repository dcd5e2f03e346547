#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bodies that say themselves where they end (Transfer-Encoding: chunked), to both of the simulator's protocols, and broken ones.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
for tool in bash jq; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
plan 36

head -c 3000000 /dev/urandom >"$tmp/big"
# chunked METHOD PATH FILE [curl option...]
chunked() {
	from=$3 method=$1 path=$2
	shift 3
	req "$method" "$path" -H 'Transfer-Encoding: chunked' -T - "$@" <"$from"
}
same() { req GET "$1" >/dev/null && cmp -s "$tmp/body" "$2" && echo same; }
# raw: sends what it reads as it is, and prints what comes until the connection ends
raw() {
	# shellcheck disable=SC2016
	timeout 120 bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1##*:}" && cat >&3 && cat <&3' - "${url#http://}"
}
statuses() { sed -n 's/^HTTP[^ ]* \([0-9]*\) .*/\1/p' | paste -sd ' '; }

sim_start --data "$tmp/data"
expect_eq 200 "$(chunked PUT /bkt/a "$tmp/big")" "an object is put"
expect_eq 1 "$(grep -c '100 Continue' "$tmp/head")" "a client that asks whether it may is told to go on"
expect_eq same "$(same /bkt/a "$tmp/big")" "a body in chunks is kept as it was sent"
check "a body's bytes are counted without frames" grep -q ' PutObject bkt a - 200 3000000 ' "$tmp/requests"
expect_eq 200 "$(chunked PUT /bkt/none /dev/null)" "a body without a byte is taken"
expect_eq 200 "$(req PUT /bkt/b --data-binary @"$tmp/big" -H 'Transfer-Encoding: chunked' -H Expect:)" "a body of a client that did not ask is taken"
expect_eq same "$(same /bkt/b "$tmp/big")" "a body of a client that did not ask is kept as it was sent"
expect_eq 400 "$(chunked PUT /bkt/bad "$tmp/big" -H 'x-amz-checksum-crc32c: AAAAAA==')" "a checksum is verified"
expect_eq 400 "$(chunked PUT "/bkt/k/$(printf '%01024d' 7)" "$tmp/big" -H Expect:)" "what is refused is read to its end"
{ printf '2dc6c0\r\n'; cat "$tmp/big"; printf '\r\n0\r\n\r\n'; } >"$tmp/twice"
expect_eq 200 "$(chunked PUT /bkt/c "$tmp/twice" -H 'Content-Encoding: aws-chunked' -H 'x-amz-decoded-content-length: 3000000')" \
	"the vendor's chunks may be inside"
expect_eq same "$(same /bkt/c "$tmp/big")" "the vendor's chunks and trailers are no bytes of the object"
printf '<Delete><Object><Key>b</Key></Object></Delete>' >"$tmp/text"
expect_eq 200 "$(chunked POST '/bkt?delete' "$tmp/text" -H "$(digest_of "$tmp/text")")" "a list of what to delete may come in chunks"
expect_eq 404 "$(req GET /bkt/b)" "an object of a list that came in chunks is deleted"
head -c 5000000 /dev/zero >"$tmp/zero"
expect_eq 413 "$(chunked POST '/bkt?delete' "$tmp/zero" -H "$(digest_of "$tmp/zero")")" "a document that is too large is refused"

head='PUT /bkt/raw HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n'
{
	printf "$head\r\n5;a=b\r\nhello\r\n0\r\nX-Trailer: a\r\n\r\n"
	printf 'GET /bkt/raw HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'
} >"$tmp/two"
raw <"$tmp/two" >"$tmp/got"
expect_eq "200 200 hello" "$(statuses <"$tmp/got") $(tail -n 1 "$tmp/got")" "the next request is found behind the end"

# broken NAME FRAMES
broken() {
	{ printf 'PUT /bkt/broken HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'; printf %b "$2"; } | raw >"$tmp/got"
	expect_eq "400 1" "$(statuses <"$tmp/got") $(grep -ci '^connection: close' "$tmp/got")" "$1 is refused, and the connection ends"
}
broken "a size that is none" 'x\r\nhello\r\n0\r\n\r\n'
broken "no size" '\r\nhello\r\n0\r\n\r\n'
broken "a negative size" '-5\r\nhello\r\n0\r\n\r\n'
broken "a size above all bounds" '10000000000000005\r\nhello\r\n0\r\n\r\n'
broken "data longer than its size" '4\r\nhello\r\n0\r\n\r\n'
broken "an extension without an end" "5;$(printf '%0600d' 1)"
broken "trailers without an end" "0\r\n$(printf 'a: b\\r\\n%.0s' $(seq 80))"
expect_eq 400 "$(printf "${head}Content-Length: 5\r\n\r\n0\r\n\r\n" | raw | statuses)" "a length beside chunks is refused"
expect_eq 501 "$(printf 'PUT /bkt/raw HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n' | raw | statuses)" "another coding is refused"
# shellcheck disable=SC2016
printf "$head\r\na\r\nhello" | timeout 120 bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1##*:}" && cat >&3' - "${url#http://}"
check "a body that stops is lost" wait_for 30 grep -q ' PutObject bkt raw - 000 5 ' "$tmp/requests"
expect_eq "404 200" "$(req GET /bkt/broken) $(req GET /bkt/a)" "nothing is kept of lost bodies"
check "the server ends in good order" sim_stop

# rel NAME END: a description and data
rel() {
	printf '%s\r\n' --b 'Content-Type: application/json' '' "{\"name\":\"$1\"}" --b 'Content-Type: text/plain' ''
	cat "$tmp/big"
	printf "\r\n--b--$2"
}
o=/storage/v1/b/bkt/o up=/upload/storage/v1/b/bkt/o
related='Content-Type: multipart/related; boundary=b'
for mode in "--data $tmp/gs" --null; do
	# shellcheck disable=SC2086
	sim_start $mode --protocol gs
	rel one '\r\n' >"$tmp/one"
	expect_eq "200 3000000" "$(chunked POST "$up?uploadType=multipart" "$tmp/one" -H "$related") $(jq -r .size "$tmp/body")" \
		"${mode%% *}: a description and data are put"
	[ "$mode" = --null ] || expect_eq same "$(same "$o/one?alt=media" "$tmp/big")" "data after a description are kept as they were sent"
	rel two '' >"$tmp/two"
	expect_eq "200 3000000" "$(chunked POST "$up?uploadType=multipart" "$tmp/two" -H "$related") $(jq -r .size "$tmp/body")" \
		"${mode%% *}: a description and data are put without the last break"
	[ "$mode" = --null ] || expect_eq 400 "$(chunked POST "$up?uploadType=multipart" "$tmp/big" -H "$related")" "a body without parts is refused"
	req POST "$up?uploadType=resumable&name=res" -d '' >/dev/null
	session=$(field location) session=${session#"$url"}
	[ "$mode" = --null ] || expect_eq 400 "$(chunked PUT "$session" "$tmp/big" -H 'Content-Range: bytes 0-2999998/2999999')" \
		"a range that is not the body's is refused"
	expect_eq "200 3000000" "$(chunked PUT "$session" "$tmp/big" -H 'Content-Range: bytes 0-2999999/3000000') $(jq -r .size "$tmp/body")" \
		"${mode%% *}: a session takes its data"
	sim_stop
done
