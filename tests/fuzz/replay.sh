#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every input of the corpus, what fuzzing once found among them, goes through its target again.
. "${srcdir:?}/tests/lib/tap.sh"
set -- "$srcdir"/tests/fuzz/corpus/*/
plan $(($# + 2))
for corpus in "$@"; do
	target=$(basename "$corpus")
	replay() { TMPDIR=$tmp "$builddir/tests/fuzz/fuzz_$target" "$corpus" 2>"$tmp/out" || { cat "$tmp/out" && false; }; }
	check "fuzz_$target takes every input of its corpus without harm" replay
done
# A function of the door that nobody stands in for takes a door that is none, and what fuzzing finds is that. The same
# holds for a chain of credentials.
{
	sed -n 's/^[a-z][a-z0-9_ ]*[ *]\(http_[a-z_]*\)(\(const \)\{0,1\}struct http \*.*/\1/p' "$srcdir/fs/store/http/http.h"
	sed -n 's/^[a-z][a-z0-9_ ]*[ *]\(cred_chain_[a-z_]*\)(\(const \)\{0,1\}struct cred_chain \*c[,)].*/\1/p' "$srcdir/fs/store/cred/cred.h" |
		grep -vx cred_chain_wait # for calls of other services
} >"$tmp/functions"
while read -r f; do
	grep -q -e "--wrap=$f\>" "$srcdir/tests/fuzz/local.mk" || echo "$f"
done <"$tmp/functions" >"$tmp/missing"
check "the functions of door and chain are found in their headers" sh -c '[ "$(grep -c ^http_ "$1")" -gt 2 ] && [ "$(grep -c ^cred_chain_ "$1")" -gt 9 ]' sh "$tmp/functions"
expect_eq "" "$(cat "$tmp/missing")" "a target that plays HTTP stands in for each function of its door and its credentials"
