#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# table.sh BUILD: the rows of the table in docs/trainers.md, with the results of the last tests in BUILD.
# table.sh BUILD docs/trainers.md writes them into it, between the two comments that name this script.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?the build tree}

rows() {
	printf '| on a mount | checks that pass |\n| --- | --- |\n'
	grep -v '^#' "$here/rows" | while IFS='	' read -r test text; do
		results=$build/tests/$test.trs
		if [ ! -f "$results" ]; then mark='not run'; else
			passed=$(grep -c '^:test-result: PASS' "$results" || :)
			all=$(grep -c '^:test-result: \(PASS\|FAIL\|ERROR\|SKIP\)' "$results" || :)
			mark="$passed of $all"
		fi
		echo "| $text | $mark |"
	done
}

if [ $# -lt 2 ]; then
	rows
	exit
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
rows >"$new.rows"
awk -v rows="$new.rows" '
	/^<!-- end of tests\/trainers\/table.sh/ { inside = 0 }
	!inside { print }
	/^<!-- tests\/trainers\/table.sh/ { inside = 1; while ((getline line < rows) > 0) print line }
' "$2" >"$new"
rm -f "$new.rows"
cat "$new" >"$2"
