#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages of docs/decisions: numbered without gaps, short, each with problem, choice and figures, and shipped.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1
plan 4

numbers() { ls docs/decisions/*.md | sed 's|.*/\([0-9]*\)-[a-z0-9-]*\.md$|\1|'; }
expect_eq "$(numbers | awk '{ printf "%03d\n", NR }')" "$(numbers)" "pages are numbered, 001 on"
check "each begins with its number and has three parts" sh -c '
	for f in docs/decisions/*.md; do
		n=${f##*/}
		[ "$(grep -cx "## Problem\|## Choice\|## Figures" "$f")" = 3 ] && head -n 1 "$f" | grep -q "^# ${n%%-*}: " || { echo "$f"; exit 1; }
	done'
check "no page is longer than a screen, and no line than 120 columns" awk '
	length > 120 || FNR > 60 { print FILENAME ":" FNR; bad = 1 }
	END { exit bad }' docs/decisions/*.md
check "each is shipped" sh -c 'for f in docs/decisions/*.md; do grep -qF "$f" Makefile.am || { echo "$f"; exit 1; }; done'
