#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every input of the corpus, what fuzzing once found among them, goes through its target again.
. "${srcdir:?}/tests/lib/tap.sh"
set -- "$srcdir"/tests/fuzz/corpus/*/
plan $#
for corpus in "$@"; do
	target=$(basename "$corpus")
	replay() { TMPDIR=$tmp "$builddir/tests/fuzz/fuzz_$target" "$corpus" 2>"$tmp/out" || { cat "$tmp/out" && false; }; }
	check "fuzz_$target takes every input of its corpus without harm" replay
done
