#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each C file is as clang-format 14 leaves it; other versions differ in details.
. "${srcdir:?}/tests/lib/tap.sh"
tool=$(command -v clang-format-14 || command -v clang-format || true)
[ -n "$tool" ] || skip_all "clang-format is not installed"
case $("$tool" --version) in
*"version 14."*) ;;
*) skip_all "$tool is not version 14" ;;
esac

plan 1
find "$srcdir/include" "$srcdir/fs" "$srcdir/bench" "$srcdir/tests" \
	\( -name '*.c' -o -name '*.h' -o -name '*.cu' \) -print >"$tmp/files"
check "every C file is formatted (else: clang-format -i)" \
	sh -c 'cd "$1" && xargs "$2" --dry-run -Werror <"$3"' sh "$srcdir" "$tool" "$tmp/files"
