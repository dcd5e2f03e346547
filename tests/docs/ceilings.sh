#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ceilings for files and functions, a licence line in each source, no notes to self.
. "${srcdir:?}/tests/lib/tap.sh"
plan 6

cd "$srcdir" || exit 1
# What the build makes inside a clone (build*/) is not source, nor are inputs of the fuzz targets.
find include fs bench conf man packaging tests .ci quickstart configure.ac Makefile.am -type f \
	! -path 'tests/fuzz/corpus/*' ! -name '*.o' ! -name '*.json' ! -name '*.md' -print >"$tmp/sources"
grep -E '\.(c|h|cu|cuh|def)$' "$tmp/sources" >"$tmp/c"

# each LIST PROGRAM: awk over the files of a list
each() { xargs awk "$2" <"$1"; }

check "no file is longer than 900 lines" each "$tmp/sources" '
	FNR > 900 && !seen[FILENAME]++ { print FILENAME " is too long"; bad = 1 }
	END { exit bad }'

# A function begins with "{" in the first column and ends with "}" there.
check "no function is longer than 80 lines" each "$tmp/c" '
	/^\{/ { start = FNR }
	/^\}/ && start {
		if (FNR - start + 1 > 80) {
			print FILENAME ":" start ": " FNR - start + 1 " lines"; bad = 1
		}
		start = 0
	}
	END { exit bad }'

check "each source names its licence" sh -c '
	lacking=$(xargs grep -L "SPDX-License-Identifier: Apache-2.0" <"$1")
	[ -z "$lacking" ] || { echo "$lacking"; exit 1; }' sh "$tmp/sources"

# clang-format breaks one that is too long, or has a ruler.
check "the heading of a section is one line" sh -c '
	! xargs grep -nE "^ *[/][*] --- " <"$1" | grep -v -e " --- [*][/]\$"' sh "$tmp/c"

check "no source has a note to self" sh -c '
	! xargs grep -nwE "TO""DO|FIX""ME|X""XX" <"$1"' sh "$tmp/sources"

# An example is compiled by those who have nothing else of this.
grep '\.c$' "$tmp/c" | grep -v '^conf/' >"$tmp/only-c"
check "each C file includes base/banned.h last" each "$tmp/only-c" '
	function finish() {
		if (file != "" && last !~ /"base\/banned\.h"/) { print file ": " last; bad = 1 }
	}
	FNR == 1 { finish(); file = FILENAME; last = "no include" }
	/^#include ["<]/ && !/\.def"/ { last = $0 }
	END { finish(); exit bad }'
