#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages of docs/decisions: numbered without gaps, short, each with problem, choice and figures, and in the index.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1
plan 4

pages=$(ls docs/decisions/[0-9]*.md)
numbers() { printf '%s\n' $pages | sed 's|.*/\([0-9]*\)-[a-z0-9-]*\.md$|\1|'; }
expect_eq "$(numbers | awk '{ printf "%03d\n", NR }')" "$(numbers)" "pages are numbered, 001 on"
check "each page begins with its number and has three parts" sh -c '
	for f; do
		n=${f##*/}
		[ "$(grep -cx "## Problem\|## Choice\|## Figures" "$f")" = 3 ] && head -n 1 "$f" | grep -q "^# ${n%%-*}: " || { echo "$f"; exit 1; }
	done' sh $pages
check "no page has more than 40 lines" awk 'FNR > 40 { print FILENAME; bad = 1; nextfile } END { exit bad }' $pages
for f in $pages; do
	n=${f##*/}
	sed -n "1s/^# \([0-9]*\): \(.*\)/| [\1]($n) | \2 |/p" "$f"
done >"$tmp/want"
grep '^| \[' docs/decisions/README.md >"$tmp/have"
check "the index has each page with its title and no other" diff "$tmp/want" "$tmp/have"
