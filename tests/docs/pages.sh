#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages in Markdown: short where they must be, no line too long, and what they name exists.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1
plan 8

pages="README.md CONTRIBUTING.md NEWS.md SECURITY.md $(find docs -name '*.md' | sort)"
at_most() { [ "$1" -le "$2" ] || { echo "$1 are more than $2"; return 1; }; }
check "README has at most 150 lines" at_most "$(wc -l <README.md)" 150
check "CONTRIBUTING has at most 1,200 words" at_most "$(wc -w <CONTRIBUTING.md)" 1200
check "no line has more than 120 columns" env LC_ALL=C awk '
	{ gsub(/[\200-\277]/, "") } # bytes that continue a character
	length > 120 { print FILENAME ":" FNR; bad = 1 }
	END { exit bad }' $pages

# Links, relative to the page, without what follows a "#".
for f in $pages; do
	grep -o '](\([^)]*\))' "$f" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^https\{0,1\}:' | sed '/^$/d' | while read -r link; do
		[ -e "${f%"${f##*/}"}$link" ] || echo "$f: $link"
	done
done >"$tmp/broken"
expect_eq "" "$(cat "$tmp/broken")" "each relative link leads to a file"

# Files and folders of the tree, in backquotes.
for f in $pages; do
	grep -oE '`(\.ci|bench|conf|docs|fs|include|man|tests)/[^` ]*`' "$f" | tr -d '`' | grep -v 'NNN\|NAME' | while read -r name; do
		[ -e "$name" ] || echo "$f: $name"
	done
done | sort -u >"$tmp/missing"
expect_eq "" "$(cat "$tmp/missing")" "each file that is named exists"

# What code and tests say of a page: that is there, also by the number of a decision alone.
grep -rhoE '\b(docs/[a-z]+/[0-9]{3}[a-z0-9-]*|docs/[a-z]+\.md|[A-Z]{4,}\.md)' fs bench include man tests quickstart conf Makefile.am |
	sort -u | grep -vx 'PAGE.md' | while read -r name; do
	set -- "$name"*
	[ -e "$1" ] || echo "$name"
done >"$tmp/unknown"
expect_eq "" "$(cat "$tmp/unknown")" "each page that the tree refers to exists"

# fs/mount/{a,b}: the rooms of the include table.
sed -n "/rooms\" <<'END'/,/^END/p" tests/docs/arrows.sh | grep -oE '^fs/[a-z0-9/]*' >"$tmp/all"
[ -s "$tmp/all" ] || echo "arrows.sh lists no rooms" >>"$tmp/all"
while read -r room; do
	grep -qF "\`$room\`" docs/architecture.md || echo "$room"
done <"$tmp/all" >"$tmp/rooms"
expect_eq "" "$(cat "$tmp/rooms")" "the architecture describes each room of the mount and the store"

# The diagram has the steps of the table, but for those that every commit may take: to fail, and to end early.
sed -n '/^} phases/,/^};/{/^} phases/d;p}' fs/mount/write/commit.c | tr -d ' \n' |
	grep -oE '\[COMMIT_[A-Z]*\]=[^}]*' | while IFS='[]=' read -r _ from _ rest; do
	echo "$rest" | grep -oE 'TO\([A-Z]*\)' | sed "s/TO(/${from#COMMIT_} --> /; s/)//"
done | sort >"$tmp/steps"
sed -n 's/^ *\([A-Z]* --> [A-Z]*\):.*/\1/p' docs/architecture.md | sort >"$tmp/drawn"
check "the commit's diagram has the steps of its table" sh -c '
	[ -s "$0" ] && [ -z "$(comm -13 "$0" "$1")" ] &&
		[ -z "$(comm -23 "$0" "$1" | grep -v -e "--> FAILING" -e "--> IDLE")" ] || { diff "$0" "$1"; exit 1; }' \
	"$tmp/steps" "$tmp/drawn"
