#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every input of the corpus, what fuzzing once found among them, goes through its target again.
. "${srcdir:?}/tests/lib/tap.sh"
set -- "$srcdir"/tests/fuzz/corpus/*/
plan $(($# + 1))
for corpus in "$@"; do
	target=$(basename "$corpus")
	replay() { TMPDIR=$tmp "$builddir/tests/fuzz/fuzz_$target" "$corpus" 2>"$tmp/out" || { cat "$tmp/out" && false; }; }
	check "fuzz_$target takes every input of its corpus without harm" replay
done
# A function of the door that nobody stands in for takes a door that is none, and what fuzzing finds is that.
for f in $(sed -n 's/^[a-z][a-z0-9_ ]*[ *]\(http_[a-z_]*\)(\(const \)\{0,1\}struct http \*.*/\1/p' "$srcdir/fs/store/http/http.h"); do
	grep -q -e "--wrap=$f\>" "$srcdir/tests/fuzz/local.mk" || echo "$f"
done >"$tmp/missing"
expect_eq "" "$(cat "$tmp/missing")" "a target that plays HTTP stands in for each function of its door"
