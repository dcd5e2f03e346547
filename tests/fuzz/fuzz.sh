#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: runs the fuzz targets of a build that was configured with CC=clang-19 --enable-fuzzing.
#
#   tests/fuzz/fuzz.sh BUILD-DIR SECONDS [TARGET...]      a target is a folder of tests/fuzz/corpus
#
# SECONDS is the time of all targets together. Inputs that lead further are added to
# BUILD-DIR/fuzz/TARGET, which the next run begins with; one that does harm is kept as
# BUILD-DIR/fuzz/TARGET-crash-..., and the exit status is 1. Mend what it found, and put the input
# into the corpus under a name that says what it is.
set -euo pipefail

[ $# -ge 2 ] || {
	echo "usage: tests/fuzz/fuzz.sh BUILD-DIR SECONDS [TARGET...]" >&2
	exit 2
}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$1" && pwd)
seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(ls "$here/corpus")
each=$((seconds / $# > 0 ? seconds / $# : 1))
bad=0
for target in "$@"; do
	mkdir -p "$build/fuzz/$target"
	options=(-max_total_time="$each" -timeout=20 -rss_limit_mb=2560 -max_len=16384 -print_final_stats=1
		-artifact_prefix="$build/fuzz/$target-")
	[ ! -e "$here/dict/$target.dict" ] || options+=(-dict="$here/dict/$target.dict")
	if "$build/tests/fuzz/fuzz_$target" "${options[@]}" "$build/fuzz/$target" "$here/corpus/$target" \
		>"$build/fuzz/$target.log" 2>&1; then
		executions=$(sed -n 's/^stat::number_of_executed_units: //p' "$build/fuzz/$target.log")
		edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$build/fuzz/$target.log" | tail -n 1)
		echo "ok      $target: $executions executions, $edges edges"
	else
		echo "FAILED  $target: the end of $build/fuzz/$target.log:"
		tail -n 30 "$build/fuzz/$target.log"
		bad=1
	fi
done
exit $bad
