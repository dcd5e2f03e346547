#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The threat model: each line says what is defended, and what not, and names tests that are run.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1
plan 4
# One line for each, with what is continued below.
awk '/^- \*\*/ { if (line) print line; line = $0; next }
	/^  / && line { line = line substr($0, 2); next }
	line { print line; line = "" }
	END { if (line) print line }' docs/security.md >"$tmp/lines"
check "the threat model has lines" test "$(wc -l <"$tmp/lines")" -ge 20
expect_eq "" "$(grep -vE '^- \*\*.*\.\*\* Defended: .*\. Not defended: .*\. Tests: (`tests/[^` ]*`(, *)?)+\.$' "$tmp/lines")" \
	"each line says what is defended, what not, and which tests show it"
grep -o '`tests/[^`]*`' "$tmp/lines" | tr -d '`' | sort -u | while read -r file; do
	name=${file##*/}
	grep -qE "%D%/(.*/)?${name%.c}\b" "${file%/*}/local.mk" && [ -e "$file" ] || echo "$file"
done >"$tmp/unknown"
expect_eq "" "$(cat "$tmp/unknown")" "each test that the threat model names is there and is run"
check "the way to report a hole and the threat model name each other" \
	sh -c 'grep -q "(docs/security.md)" SECURITY.md && grep -q "(../SECURITY.md)" docs/security.md'
