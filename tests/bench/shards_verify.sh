#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards_verify.sh: a byte that is not the one saved is found and named, in every way of checking.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 14
cd "$tmp" || exit 1
mkdir disk

bench shards size=16M storage=disk path=disk phase=save out=save seed=7 >save.out 2>&1
expect_eq 0 $? "phase=save keeps its file"
suffix=$(jq -r .job_results[0].setup.suffix save/shards/*/run_results.json)
file=disk/$suffix/shard-000-00000-of-00001
check "the file has the suffix that the result names" test -s "$file"
load() { bench shards size=16M storage=disk path=disk phase=load suffix="$suffix" out=load "$@"; }
check "phase=load reads the file back" load seed=7
check_fails "a load with another seed finds the file wrong" load seed=8

# flips every bit of the byte at offset $1
flip() {
	byte=$(od -An -tu1 -j "$1" -N1 "$file" | tr -d ' ')
	printf "\\$(printf %o $((255 - byte)))" | dd of="$file" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
flip 5000001
load seed=7 >flip.out 2>&1
expect_eq 1 $? "a flipped byte fails the run"
check "a flipped byte is named by file, tensor and offset" \
	grep -q "load of $suffix/shard-000-00000-of-00001 from disk: wrong byte [0-9]* of tensor .*weight.* (byte 5000001 of" flip.out
diag "$(cat flip.out)"
load seed=7 hold=off >flip.out 2>&1
check "a flipped byte is found when it is checked on the way" grep -q 'byte 5000001 of' flip.out
check "verify=off asks for no check" load seed=7 verify=off
flip 5000001
printf x >>"$file"
load seed=7 >longer.out 2>&1
expect_eq "1 1" "$? $(grep -c "shard-000-00000-of-00001 has [0-9]* bytes where [0-9]* were saved" longer.out)" \
	"a file that has grown is found, and named with both sizes"
check "verify=off asks for no check of the size" load seed=7 verify=off
truncate -s 6000000 "$file"
load seed=7 verify=off >short.out 2>&1
check "a file that ends early is an error" grep -q "$suffix.*No data" short.out
rm "$file"
load seed=7 >gone.out 2>&1
expect_eq "1 yes" "$? $([ -d "disk/$suffix" ] && echo yes)" "a load that fails removes nothing"

if bench_mpi true; then
	bench_mpi bench shards size=16M storage=disk path=disk phase=save out=two >two.out 2>&1 || diag "$(cat two.out)"
	suffix=$(jq -r .job_results[0].setup.suffix two/shards/*/run_results.json)
	rm "disk/$suffix/shard-000-00001-of-00002"
	bench_mpi bench shards size=16M storage=disk,null path=disk phase=load suffix="$suffix" drop=none out=half >half.out 2>&1
	expect_eq "1 1 0" "$(($? != 0)) $(grep -c 'rank 1: load: .*/shard-000-00001-of-00002: No such file' half.out) $(grep -c 'rank 0: load' half.out)" \
		"the rank whose file is gone says so"
	expect_eq "1 0" "$(cat half/shards/*/0/benchmark.log | grep -c 'load of shard-000-00000-of-00002: another rank failed: No such file') $(
		cat half/shards/*/0/benchmark.log | grep -c 'load of shard-000-00000-of-00002 failed')" "the log does not say it of the file of rank 0"
	diag "$(cat half.out half/shards/*/0/benchmark.log)"
else
	skip "the rank whose file is gone says so" "$bench_no_mpi"
	skip "the log does not say it of the file of rank 0" "$bench_no_mpi"
fi
