#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each name of a check can be read alone: it neither leans on the name before it nor lacks its verb.
. "${srcdir:?}/tests/lib/tap.sh"
plan 4

# What begins with a word of the name before, or has fewer than three words. A name is the first word of
# a check or of a function of a test that makes one, or the last of its line.
fragments() {
	leans='and|also|as|but|by|for|from|here|in|instead|is|are|it|its|nor|of which|one (that|which|who|whose|with)'
	leans="$leans|or|over|right|says|so|than|that|the same|then|there|these|they|those|through|to|under|which|whose|with"
	begins="($leans)( [^\"]*)?"
	short='[^" $]+( [^" $]+)?'
	first='(^|[;&{]|then|else|do)[[:space:]]*(check|check_fails|skip|ok|not_ok|expect_requests) '
	grep -nE "$first\"($begins|$short)\"( |;|\$)" "$@"
	grep -nE "^[^#]*(expect_eq|fdo_ends|same) .* \"($begins|$short)\"\$" "$@"
	grep -nE "^[[:space:]]+\"($begins)\"\$" "$@"
	grep -nE "^[[:space:]]*(agree|asks|between|changed|denied|fails|meanwhile|opens|read_ok|run|stopped|same) \"($begins)\"" "$@"
	grep -nE "^[[:space:]]*refused \"($begins)\" ['\"]" "$@"
}
# The same of units, whose names have no blanks.
unit_fragments() {
	grep -nE "START_TEST\(((and|also|as|but|by|for|in|is|it|its|nor|one_(that|which|who|whose)|or|so|then|these|they|those|which|with)_|[a-z0-9]*\))" "$@"
}
cat >"$tmp/sample" <<'END'
check "and whole" true
	skip "two ranks" "no MPI"
expect_eq a "$(cat b)" "it is there"
	"the same again"
same "with its bytes" a b
	opens "or from a file" "$url"
refused "as is none" 'no token' "$url"
check "a file that is renamed is whole" true
START_TEST(it_is_a_string)
START_TEST(commit)
START_TEST(a_commit_ends)
END
expect_eq "7 2" "$(fragments "$tmp/sample" | wc -l) $(unit_fragments "$tmp/sample" | wc -l)" "each kind of fragment is found in a sample"
cd "$srcdir" || exit 1
find tests -name '*.sh' ! -path tests/docs/names.sh >"$tmp/files"
# shellcheck disable=SC2046 # names of our own files
expect_eq "" "$(fragments $(cat "$tmp/files"))" "each name of a check is a sentence of its own"
expect_eq "" "$(unit_fragments tests/*/test_*.c)" "each name of a unit is a sentence of its own"
# A file of tests/lib is no test; setup.sh and others are named where they are used.
expect_eq "" "$(while read -r file; do
	case $file in tests/lib/*) continue ;; esac
	grep -q "/${file##*/}\b" "${file%/*}/local.mk" || echo "$file"
done <"$tmp/files")" "each test stands in the list of its folder"
