#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recover_again.sh: "ckptctl recover --force" that ends between publishing a change and forgetting it can be run again.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
plan 24
objects() { "$builddir/tests/lib/objects" "$@"; }
ctl() { "$builddir/ckptctl" recover -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$@"; }
status() { "$@" >"$tmp/out" 2>"$tmp/err"; echo $?; }
store() {
	CKPTFS_TEST_SCHEME=$1 store_data=$tmp/$1
	store_start storesim --faults "$tmp/$1.json"
	bucket=$1://$CKPTFS_TEST_BUCKET
}
head -c 6000000 /dev/urandom >"$tmp/large"

# upload NAME KEY: the state of a run that was killed before it deleted the record
upload() {
	objects keep "$2" <"$tmp/large"
	kept=$(objects ls .ckptfs/kept/)
	objects cat "$kept" >"$tmp/record"
	ctl --force "$bucket" >/dev/null
	objects put "$kept" <"$tmp/record"
	expect_eq "0 published" "$(status ctl --force "$bucket") $(cut -f 1 "$tmp/out")" \
		"$1: a change is published whose upload was completed before"
	expect_eq "$(cksum <"$tmp/large")  " "$(objects cat "$2" | cksum) $(objects ls .ckptfs/) $(objects uploads)" \
		"$1: it has its bytes, and nothing is left"
	echo other | objects put "$2"
	objects put "$kept" <"$tmp/record"
	expect_eq "1 1" "$(status ctl --force "$bucket") $(grep -c 'bytes are gone' "$tmp/err")" \
		"$1: a change whose upload is gone, and is not what is there, cannot be published"
	expect_eq other "$(objects cat "$2")" "$1: what is there stays"
	ctl --discard "$bucket" >/dev/null
}

# bytes NAME: what is too small for an upload
bytes() {
	printf small | objects put .ckptfs/orphan/0123456789abcdef
	echo '{"key": "small", "size": 5, "time": 1, "host": "node"}' | objects put .ckptfs/kept/0123456789abcdef
	expect_eq 1 "$(status ctl --force "$bucket")" "$1: the record cannot be deleted"
	expect_eq "0 small" "$(status ctl --force "$bucket") $(objects cat small)" "$1: the change is published by the next run"
	expect_eq "" "$(objects ls .ckptfs/)" "$1: nothing is left of it"
	printf small | objects put .ckptfs/orphan/fedcba9876543210
	echo '{"key": "small", "size": 5, "time": 1, "host": "node"}' | objects put .ckptfs/kept/fedcba9876543210
	expect_eq "1 published orphan/fedcba9876543210" "$(status ctl --force "$bucket") $(cut -f 1 "$tmp/out") $(
		grep -o 'orphan/[0-9a-f]*' "$tmp/err" | uniq)" "$1: bytes of a published change that cannot be deleted are named"
	printf small | objects put .ckptfs/orphan/0000000000000001
	echo '{"key": "small", "size": 5, "time": 1, "host": "node"}' | objects put .ckptfs/kept/0000000000000001
	status ctl --older 1d "$bucket" >/dev/null
	expect_eq "kept" "$(cut -f 1 "$tmp/out")" "$1: bytes that nobody wants stay for the time that was given"
	status ctl --older 0s "$bucket" >/dev/null
	expect_eq "kept removed .ckptfs/orphan/fedcba9876543210" \
		"$(awk '{ printf "%s%s", sep, $1; if ($1 == "removed") printf " %s", $4; sep = " " }' "$tmp/out")" \
		"$1: then they are removed, and those of a change that is kept stay"
	ctl --discard "$bucket" >/dev/null
}

echo '[{"op": "DeleteObject", "key": ".ckptfs/kept/0123456789abcdef", "times": 1, "do": "status", "status": 403},
	{"op": "DeleteObject", "key": ".ckptfs/orphan/fedcba9876543210", "times": 1, "do": "status", "status": 403}]' >"$tmp/s3.json"
sed 's/DeleteObject/objects.delete/' "$tmp/s3.json" >"$tmp/gs.json"
store s3
upload S3 d/one
bytes S3
store_stop
store gs
upload Google d/one
upload "Google, composed" "d/$(printf '%0990d' 1)"
bytes Google
