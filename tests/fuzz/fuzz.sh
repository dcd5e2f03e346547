#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: runs the fuzz targets of a build that was configured with --enable-fuzzing and
# CC=clang-19 (libFuzzer) or CC=afl-clang-fast (AFL++).
#
#   tests/fuzz/fuzz.sh BUILD-DIR SECONDS [TARGET...]      a target is a folder of tests/fuzz/corpus
#
# SECONDS is the time of all targets together. Inputs that lead further are added to
# BUILD-DIR/fuzz/TARGET, which the next run begins with; one that does harm is kept as
# BUILD-DIR/fuzz/TARGET-crash-... or TARGET-timeout-..., and the exit status is 1. Mend what it
# found, and put the input into the corpus under a name that says what it is.
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
timeout_s=20 length_most=16384

# Both are given the program and write what they did to stdout.
libfuzzer() {
	options=(-max_total_time="$each" -timeout="$timeout_s" -rss_limit_mb=2560 -max_len="$length_most" -print_final_stats=1
		-artifact_prefix="$build/fuzz/$target-")
	[ ! -e "$here/dict/$target.dict" ] || options+=(-dict="$here/dict/$target.dict")
	"$1" "${options[@]}" "$build/fuzz/$target" "$here/corpus/$target"
}
libfuzzer_says() {
	executions=$(sed -n 's/^stat::number_of_executed_units: //p' "$1")
	edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$1" | tail -n 1)
	echo "$executions executions, $edges edges"
}

# AFL++ reads one folder and writes another; what it found is put where libFuzzer puts it. It may
# use any core and need not have the machine for itself.
afl() {
	local at="$build/fuzz/$target.afl" options=(-V "$each" -t "$((timeout_s * 1000))" -G "$length_most") found
	rm -rf "$at"
	mkdir -p "$at/in"
	cp "$here/corpus/$target"/* "$at/in"
	find "$build/fuzz/$target" -type f -exec cp -t "$at/in" {} +
	[ ! -e "$here/dict/$target.dict" ] || options+=(-x "$here/dict/$target.dict")
	AFL_NO_UI=1 AFL_NO_AFFINITY=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 \
		afl-fuzz "${options[@]}" -i "$at/in" -o "$at" -- "$1" || return
	for found in "$at"/default/queue/id:* "$at"/default/crashes/id:* "$at"/default/hangs/id:*; do
		[ -e "$found" ] || continue
		name=$(sha1sum <"$found" | cut -d ' ' -f 1)
		case $found in
		*/queue/*) cp "$found" "$build/fuzz/$target/$name" ;;
		*/crashes/*) cp "$found" "$build/fuzz/$target-crash-$name" ;;
		*) cp "$found" "$build/fuzz/$target-timeout-$name" ;;
		esac
	done
	grep -Eq '^saved_(crashes|hangs) *: *[1-9]' "$at/default/fuzzer_stats" && return 1
	return 0
}
afl_says() {
	awk -F ' *: *' '{ v[$1] = $2 } END { print v["execs_done"] " executions, " v["edges_found"] " edges, " v["corpus_count"] " paths" }' \
		"$build/fuzz/$target.afl/default/fuzzer_stats"
}

for target in "$@"; do
	program=$build/tests/fuzz/fuzz_$target log=$build/fuzz/$target.log
	mkdir -p "$build/fuzz/$target"
	fuzzer=libfuzzer
	! grep -q '##SIG_AFL_PERSISTENT##' "$program" || fuzzer=afl
	if "$fuzzer" "$program" >"$log" 2>&1; then
		echo "ok      $target: $("${fuzzer}_says" "$log")"
	else
		echo "FAILED  $target: the end of $log:"
		tail -n 30 "$log"
		bad=1
	fi
done
exit $bad
