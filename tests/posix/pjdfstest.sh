#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pjdfstest.sh: the public suite for POSIX file systems; what fails is named in pjdfstest.except.
. "${srcdir:?}/tests/posix/posix.sh"
need_fuse
need_tool pjdfstest
plan 4
start_store
mount_ckptfs allow_other
chmod 755 "$tmp"
mkdir -m 777 "$mnt/pjd"

check "the suite comes to its end" sh -c '
	timeout -k 10 1000 "$1" -c "$2/tests/posix/pjdfstest.toml" -p "$3/pjd" >"$4" 2>&1
	grep "^Summary: " "$4"' sh "$tool" "$srcdir" "$mnt" "$tmp/pjd.log"
sed -n 's/^\([a-z_0-9:]*\)  *FAILED.*/\1/p' "$tmp/pjd.log" | sort >"$tmp/failed"
sed -n 's/^\([a-z_0-9:]*\) .*/\1/p' "$srcdir/tests/posix/pjdfstest.except" | sort >"$tmp/except"
# promise: attrs.rights
expect_eq "" "$(comm -23 "$tmp/failed" "$tmp/except")" "each case passes that has no exception"
diag "$(grep '^Summary: ' "$tmp/pjd.log")"
[ $tap_failed -eq 0 ] || diag "$(grep -A 8 FAILED "$tmp/pjd.log" | head -n 60)"

# A race passes at times; what has another reason does not, or its line is out of date.
sed -n 's/^\([a-z_0-9:]*\) *race:.*/\1/p' "$srcdir/tests/posix/pjdfstest.except" | sort >"$tmp/races"
comm -13 "$tmp/failed" "$tmp/except" | comm -23 - "$tmp/races" >"$tmp/stale"
expect_eq "" "$(cat "$tmp/stale")" "each exception is a case that fails"
umount_ckptfs
