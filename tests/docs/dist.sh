#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every file that git tracks is in the archive that `make dist` makes, or is named here as left out.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1
git ls-files --error-unmatch tests/docs/dist.sh >/dev/null 2>&1 || skip_all "this is no clone of git"
plan 2
left_out='.gitignore'

git ls-files >"$tmp/tracked"
# What the Makefile lists; a folder stands for what is below it.
make -s -C "$builddir" --no-print-directory --eval='print-dist: ; @printf "%s\n" $(DISTFILES)' print-dist >"$tmp/listed"
sed "s,^$srcdir/,,; s,^\(\.\./\)*,,; s,^\./,," "$tmp/listed" | sort -u >"$tmp/dist"
check "the Makefile tells what it distributes" grep -qx configure.ac "$tmp/dist"
expect_eq "" "$(awk -v left="$left_out" '
	FNR == NR { listed[$0]; next }
	BEGIN { n = split(left, l, " "); for (i = 1; i <= n; i++) listed[l[i]] }
	{
		for (path = $0; path != ""; sub(/\/?[^\/]*$/, "", path))
			if (path in listed)
				next
		print
	}' "$tmp/dist" "$tmp/tracked")" "each tracked file is in the archive, or left out by name"
