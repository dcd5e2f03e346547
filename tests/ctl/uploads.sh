#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# uploads.sh: ckptctl lists and aborts unfinished uploads, and refuses what it does not understand.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
plan 32
echo '[{"op": "AbortMultipartUpload", "key": "denied", "do": "status", "status": 403, "code": "AccessDenied"}]' >"$tmp/faults.json"
store_start storesim --faults "$tmp/faults.json"
objects() { "$builddir/tests/lib/objects" "$@"; }
ctl() { "$builddir/ckptctl" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$@"; }
bucket=s3://$CKPTFS_TEST_BUCKET

refused() {
	name=$1; shift
	"$builddir/ckptctl" "$@" >"$tmp/out" 2>"$tmp/err"
	expect_eq "1 0 1" "$? $(wc -c <"$tmp/out") $(wc -l <"$tmp/err")" "$name is refused in one line"
}
refused "no command"
refused "a word that is no command" upload list "$bucket"
refused "half a command" uploads "$bucket"
check "half a command is told how it goes on" \
	grep -qx 'ckptctl: uploads is half of a command: give uploads list or uploads abort' "$tmp/err"
refused "a command without a URL" uploads list
refused "two URLs" uploads list "$bucket" "$bucket"
refused "a URL of another kind" recover "ftp://x"
refused "an option that is none" recover --frce "$bucket"
refused "an option that lacks its value" uploads list "$bucket" --key
check "an option that lacks its value is known" grep -q 'ckptctl: --key lacks its value: see' "$tmp/err"
refused "an option of ckptfs that is none" recover "$bucket" -o regoin=x
refused "a file that is not there" recover "$bucket" -c "$tmp/none.yaml"
refused "--force of uploads" uploads list --force "$bucket"
refused "--older of recover" recover --older 1d "$bucket"
refused "--force with --discard" recover --force --discard "$bucket"
refused "a time that is none" uploads list --older yesterday "$bucket"
refused "a bucket that is not there" uploads list -o "endpoint=$CKPTFS_TEST_ENDPOINT" s3://none

expect_eq "" "$(ctl uploads list "$bucket")" "a list of no uploads has no line"
for key in a/1 a/2 b/1; do echo x | objects begin $key; done
echo x | objects keep a/kept
expect_eq "a/1
a/2
a/kept kept
b/1" "$(ctl uploads list "$bucket" | cut -f 3- | tr '\t' ' ')" "each upload is a line, also one that is kept"
expect_eq "1
2
kept" "$(ctl uploads list "$bucket/a" | cut -f 3)" "keys are relative to the URL"
ctl uploads list "$bucket" >"$tmp/list"
expect_eq 4 "$(grep -cE '^([0-9]+m)?[0-9]+s	' "$tmp/list")" "each line begins with the age"
expect_eq "a/1" "$(ctl uploads list --key a/1 "$bucket" | cut -f 3)" "--key chooses one upload"
expect_eq "" "$(ctl uploads list --older 1h "$bucket")" "--older chooses by age"

check_fails "abort of all uploads needs --yes" "$builddir/ckptctl" uploads abort "$bucket" \
	-o "endpoint=$CKPTFS_TEST_ENDPOINT"
expect_eq 4 "$(objects uploads | wc -l)" "abort without --yes does nothing"
expect_eq "" "$(ctl uploads abort --older 1d "$bucket")" "no young upload is aborted by age"
expect_eq "b/1" "$(ctl uploads abort --key b/1 "$bucket" | cut -f 3)" "an upload is aborted by its key"
expect_eq "a/1
a/2" "$(ctl uploads abort --older 0 "$bucket" | cut -f 3)" "other uploads are aborted by age"
echo x | objects begin c
expect_eq "c" "$(ctl uploads abort --yes "$bucket" | cut -f 3)" "abort --yes aborts all others"
expect_eq "a/kept" "$(objects uploads)" "abort leaves uploads that are kept"

echo x | objects begin denied
ctl uploads abort --key denied "$bucket" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(wc -l <"$tmp/err")" "an upload that may not be aborted is told in one line"
check "the line has code and request id of the store, and the permission" \
	grep -qE '^ckptctl: denied: .*403 AccessDenied.*\(request [0-9A-F]+,.*s3:AbortMultipartUpload$' "$tmp/err"
