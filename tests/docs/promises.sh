#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each promise of ckptfs(1) has tests that name it, and docs/promises.md lists them.
. "${srcdir:?}/tests/lib/tap.sh"
plan 2

cd "$srcdir" || exit 1
check "each promise of ckptfs(1) has a test, and each tag of a test a promise" \
	sh -c 'LC_ALL=C; export LC_ALL; awk -f tests/docs/promises.awk man/ckptfs.1 tests/*/*.sh >"$1"' sh "$tmp/promises.md"
check "docs/promises.md is what promises.awk makes" diff docs/promises.md "$tmp/promises.md"
[ "$tap_failed" -eq 0 ] || diag "LC_ALL=C awk -f tests/docs/promises.awk man/ckptfs.1 tests/*/*.sh >docs/promises.md"
