#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stages.sh: the deep check leaves out no test: each is in the selection of the build with gcc or of that with ASan.
. "${srcdir:?}/tests/lib/tap.sh"
plan 5

chosen() { make -s -C "$builddir" --no-print-directory "list-$1" | sort >"$tmp/$1"; }
patterns() { make -s -C "$builddir" --no-print-directory --eval="print: ; @echo '\$($1)'" print | tr '|' '\n' | sort; }
# names_none PATTERN...: those that no test has
names_none() {
	while read -r pattern; do
		# shellcheck disable=SC2254 # a pattern of the shell
		while read -r t; do case $t in $pattern) continue 2 ;; esac; done <"$tmp/all"
		echo "$pattern"
	done
}

for list in all gcc asan tsan; do chosen $list; done
expect_eq "" "$(sort "$tmp/gcc" "$tmp/asan" | comm -23 "$tmp/all" - | head; [ -s "$tmp/all" ] || echo 'no tests')" \
	"each test is run with gcc, with ASan, or with both"
# needs_gcc: those that say that they run in no other build
needs_gcc() {
	while read -r t; do [ ! -e "$srcdir/$t" ] || ! grep -q 'SANITIZERS.*skip_all' "$srcdir/$t" || echo "$t"; done <"$tmp/all"
}
expect_eq "" "$(needs_gcc | comm -23 - "$tmp/gcc")" "a test that no sanitizer runs is run with gcc"
expect_eq "$(patterns GCC_TOO)" "$(comm -12 "$tmp/gcc" "$tmp/asan")" "a test that both run has a reason"
expect_eq "" "$(for list in GCC_ALONE TSAN_TESTS TSAN_LEAVES; do patterns $list; done | names_none)" \
	"each pattern of a selection names a test"
expect_eq "asan gcc tsan " "$(sed -n 's/.* tested \([a-z]*\) check-\1$/\1/p' "$srcdir/quickstart" | tr '\n' ' ')" \
	"the deep check runs each selection"
