#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of docs/trainers.md has the rows of the tests that are run, each with a result.
. "${srcdir:?}/tests/lib/tap.sh"
plan 4

cd "$srcdir" || exit 1
sed -n '/^<!-- tests\/trainers\/table.sh/,/^<!-- end/p' docs/trainers.md | grep '^| ' >"$tmp/table"
cut -d '|' -f 2 "$tmp/table" >"$tmp/have"
sh tests/trainers/table.sh /nonexistent | cut -d '|' -f 2 >"$tmp/want"
check "the rows are those of tests/trainers/rows" diff "$tmp/want" "$tmp/have"

tail -n +3 "$tmp/table" | grep -vE '\| ([1-9][0-9]*) of \1 \|$' >"$tmp/bad"
expect_eq "" "$(cat "$tmp/bad")" "each row has a result, and all its checks pass"

# As many checks as the tests plan, where that is a number.
grep -v '^#' tests/trainers/rows | while IFS='	' read -r test text; do
	planned=$(sed -n 's/^plan \([0-9]*\)$/\1/p; s/^plan_each \([0-9]*\)$/\1 * 2/p' "tests/$test.sh")
	planned=$((${planned:-0}))
	[ $planned -eq 0 ] || grep -qF "| $text | $planned of $planned |" docs/trainers.md || echo "$test: $planned"
done >"$tmp/outdated"
expect_eq "" "$(cat "$tmp/outdated")" "the rows have as many checks as the tests have now"

# A test without a row would be missed by those who read the table.
ls tests/trainers/*.sh tests/posix/*.sh | sed 's|^tests/||; s|\.sh$||' |
	grep -vE '/(setup|trainers|table|posix)$' | sort >"$tmp/tests"
grep -v '^#' tests/trainers/rows | cut -f 1 | sort >"$tmp/rows"
check "each test of trainers and of POSIX has a row" diff "$tmp/tests" "$tmp/rows"
