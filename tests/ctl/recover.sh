#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recover.sh: ckptctl shows, publishes and discards the changes that lost to another host's.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
plan 22
store_start storesim
objects() { "$builddir/tests/lib/objects" "$@"; }
ctl() { "$builddir/ckptctl" recover -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$@"; }
bucket=s3://$CKPTFS_TEST_BUCKET
status() { "$@" >"$tmp/out" 2>"$tmp/err"; echo $?; }

expect_eq "0 0" "$(status ctl "$bucket") $(wc -c <"$tmp/out")" "recover exits with 0 where nothing is left"

head -c 6000000 /dev/urandom >"$tmp/large"
for key in one two three; do
	echo other | objects put d/$key
	objects keep d/$key <"$tmp/large"
done
printf small | objects put .ckptfs/orphan/0123456789abcdef
printf theirs | objects put small
echo '{"key": "small", "size": 5, "time": 1, "host": "node"}' |
	objects put .ckptfs/kept/0123456789abcdef

expect_eq 2 "$(status ctl "$bucket")" "recover exits with 2 where changes are kept"
expect_eq "kept 5 node small
kept 6000000 host d/one
kept 6000000 host d/three
kept 6000000 host d/two" "$(cut -f 1,3- "$tmp/out" | tr '\t' ' ' | sort)" "each kept change is a line"
expect_eq other "$(objects cat d/one)" "the other's object stands"

expect_eq 0 "$(status ctl --force --key d/one "$bucket")" "a kept change is published by its key"
expect_eq "$(cksum <"$tmp/large")" "$(objects cat d/one | cksum)" "a published change has its bytes"
expect_eq 0 "$(status ctl --discard --key d/two "$bucket")" "a kept change is discarded by its key"
expect_eq other "$(objects cat d/two)" "the object stands after a change was discarded"
expect_eq d/three "$(objects uploads)" "no upload is left of a change that was discarded"
expect_eq "kept small
kept d/three" "$(ctl "$bucket" | cut -f 1,5 | tr '\t' ' ' | sort -r)" "the other kept changes are still there"
expect_eq 0 "$(status ctl --force --key small "$bucket")" "a change without an upload is published"
expect_eq small "$(objects cat small)" "a change without an upload has its bytes"
expect_eq "" "$(objects ls .ckptfs/orphan/)" "the bytes of a published change are kept no more"

# Half of the work is done already: the record was not deleted.
objects abort
expect_eq 1 "$(status ctl --force "$bucket")" "a change whose bytes are gone cannot be published"
expect_eq 1 "$(wc -l <"$tmp/err")" "missing bytes are said in one line"
expect_eq 0 "$(status ctl --discard "$bucket")" "a change whose bytes are gone is discarded"
expect_eq 0 "$(status ctl "$bucket")" "recover finds nothing after a discard"

# What a mount that died left of a file that was deleted while it was open.
printf bytes | objects put .ckptfs/unlinked/0123456789abcdef
expect_eq "0 " "$(status ctl --older 1d "$bucket") $(cat "$tmp/out")" "what was deleted lately may be in use"
expect_eq "0 removed 5 .ckptfs/unlinked/0123456789abcdef" \
	"$(status ctl --older 0s "$bucket") $(cut -f 1,3- "$tmp/out" | tr '\t' ' ')" "what was deleted long ago is removed"
expect_eq "" "$(objects ls .ckptfs/unlinked/)" "what was deleted long ago is removed from the store"

echo garbage | objects put .ckptfs/kept/bad
expect_eq 1 "$(status ctl "$bucket")" "a record that is none is an error"
check "the error names the record" grep -q '^ckptctl: \.ckptfs/kept/bad:' "$tmp/err"
