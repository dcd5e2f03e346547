#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each name of a check can be read alone: it neither leans on the name before it nor lacks its verb.
. "${srcdir:?}/tests/lib/tap.sh"
plan 3

# What begins with a word of the name before, or has fewer than three words. A name is the first word of
# a check, or the last of its line.
fragments() {
	begins='(and|it|right|the same)( [^"]*)?'
	short='[^" $]+( [^" $]+)?'
	first='(^|[;&{]|then|else|do)[[:space:]]*(check|check_fails|skip|ok|not_ok|expect_requests) '
	grep -nE "$first\"($begins|$short)\"( |;|\$)" "$@"
	grep -nE "^[^#]*(expect_eq|fdo_ends) .* \"($begins|$short)\"\$" "$@"
	grep -nE "^[[:space:]]+\"($begins)\"\$" "$@"
}
cat >"$tmp/sample" <<'END'
check "and whole" true
	skip "two ranks" "no MPI"
expect_eq a "$(cat b)" "it is there"
	"the same again"
check "a file that is renamed is whole" true
END
expect_eq 4 "$(fragments "$tmp/sample" | wc -l)" "each kind of fragment is found in a sample"
cd "$srcdir" || exit 1
find tests -name '*.sh' ! -path 'tests/lib/*' ! -path tests/docs/names.sh >"$tmp/files"
# shellcheck disable=SC2046 # names of our own files
expect_eq "" "$(fragments $(cat "$tmp/files"))" "each name of a check is a sentence of its own"
# A file of tests/lib is no test; setup.sh and others are named where they are used.
expect_eq "" "$(while read -r file; do
	grep -q "/${file##*/}\b" "${file%/*}/local.mk" || echo "$file"
done <"$tmp/files")" "each test stands in the list of its folder"
