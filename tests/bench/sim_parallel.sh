#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many clients of the simulator on few names: every reader sees one whole version.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 6

sim_start --data "$tmp/data" --threads 4
export url tmp
for i in 0 1 2 3 4 5 6 7; do
	awk -v i="$i" 'BEGIN { for (n = 0; n < 40000; n++) print "version", i }' >"$tmp/v$i"
done

cat >"$tmp/client" <<'EOF'
# client NUMBER: eight rounds of everything
for round in 1 2 3 4 5 6 7 8; do
	key=$((($1 + round) % 3))
	out=$tmp/out.$1
	curl -s -o /dev/null -T "$tmp/v$1" "$url/bkt/k$key"
	curl -s -o "$out" "$url/bkt/k$key" -o "$out.again" "$url/bkt/k$key"
	for got in "$out" "$out.again"; do
		! grep -q '<Error>' "$got" || continue
		read -r _ version <"$got"
		cmp -s "$got" "$tmp/v$version" || echo "torn k$key" >>"$tmp/torn"
	done
	curl -s -o /dev/null "$url/bkt?list-type=2&delimiter=/" -o /dev/null "$url/bkt?uploads"
	id=$(curl -s -X POST "$url/bkt/k$key?uploads" | sed -n 's/.*<UploadId>\(.*\)<.UploadId>.*/\1/p')
	etag=$(curl -s -o /dev/null -D - -T "$tmp/v$1" "$url/bkt/k$key?partNumber=1&uploadId=$id" |
		sed -n 's/^ETag: *//p' | tr -d '\r')
	if [ $((round % 3)) = 0 ]; then
		curl -s -o /dev/null -X DELETE "$url/bkt/k$key?uploadId=$id"
	else
		curl -s -o /dev/null -d "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>$etag</ETag></Part></CompleteMultipartUpload>" \
			"$url/bkt/k$key?uploadId=$id"
	fi
	[ $((round % 4)) != 0 ] || curl -s -o /dev/null -X DELETE "$url/bkt/k$key"
done
EOF
clients=
for i in 0 1 2 3 4 5 6 7; do
	sh "$tmp/client" "$i" &
	clients="$clients $!"
done
for pid in $clients; do wait "$pid"; done

check_fails "no reader saw two versions in one" test -e "$tmp/torn"
expect_eq 0 "$(awk '$6 == "000" || $6 >= 500' "$tmp/requests" | wc -l)" "no request failed in the server"
req GET '/bkt?uploads' >/dev/null
expect_eq "" "$(element UploadId)" "no upload is left"
for key in k0 k1 k2; do req DELETE "/bkt/$key" >/dev/null; done
expect_eq 0 "$(find "$tmp/data/bkt" "$tmp/data/.uploads" "$tmp/data/.tmp" -type f | wc -l)" "no file is left"

# At the cap connections wait and are served in their turn.
sim_stop
sim_start --null --connections 2
clients=
for i in 1 2 3 4 5 6; do
	curl -s -o "$tmp/capped.$i" "$url/bkt?list-type=2" &
	clients="$clients $!"
done
served=0
for pid in $clients; do wait "$pid" && served=$((served + 1)); done
expect_eq 6 $served "above the cap connections wait"
check "the server ends in good order" sim_stop
