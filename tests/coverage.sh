#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coverage.sh: which lines and branches of fs/ the tests reach, a room a line. `make coverage` calls it.
#
#   coverage.sh SOURCES DIR TEST...     builds in DIR, runs the tests there, and reports
#   coverage.sh SOURCES DIR             reports once more
#
# The counters are pages of a file that all processes of a program share, so nobody has to write them at
# an end: a daemon that is killed counts too. DIR/missed names the lines that no test reached, and the
# functions that none entered. Status 1: fewer than 90 % of the lines, or than 75 % of the branches.
set -eu
src=$(cd "$1" && pwd -P) dir=$2
shift 2
cc=${CKPTFS_COVERAGE_CC:-clang-19}
command -v "$cc" >/dev/null || { echo "coverage: $cc is missing: install clang-19, llvm-19 and libclang-rt-19-dev" >&2; exit 2; }
mkdir -p "$dir"
cd "$dir"

if [ $# -gt 0 ]; then
	printf '[clang]\ndefault:skip\nsource:*/fs/*=allow\nfunction:main=allow\n' >only_fs
	[ -e Makefile ] || "$src/configure" -q CC="$cc" --without-mpi --without-openblas \
		CFLAGS="-O1 -g -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic \
			-Xclang -mllvm -Xclang -runtime-counter-relocation -fprofile-list=$PWD/only_fs"
	${MAKE:-make} programs >make.log 2>&1 || { tail -n 20 make.log >&2; exit 2; }
	rm -rf counters
	LLVM_PROFILE_FILE=$PWD/counters/%m%c.profraw \
		${MAKE:-make} -k check-TESTS check_PROGRAMS= TESTS="$*" >tests.log 2>&1 ||
		grep -E '^(FAIL|ERROR): ' tests.log || { tail -n 20 tests.log >&2; exit 2; }
fi

llvm=$(dirname "$(readlink -f "$("$cc" -print-prog-name=llvm-profdata)")")
"$llvm/llvm-profdata" merge -o all.profdata counters/*.profraw
set --
for program in ckptctl tests/unit/test_* tests/store/test_* tests/fuzz/fuzz_*; do
	case $program in *.*) ;; *) [ ! -x "$program" ] || set -- "$@" -object "$program" ;; esac
done
"$llvm/llvm-cov" export -format=lcov ckptfs "$@" -instr-profile all.profdata >all.lcov 2>export.log ||
	{ cat export.log >&2; exit 2; }
rc=0
LC_ALL=C awk -v top="$src/" -v missed=unsorted -v lines=90 -v branches=75 -f "$src/tests/coverage.awk" all.lcov || rc=$?
sort -V unsorted >missed
exit $rc
