#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards.sh: shards of one and of two ranks on a disk and on null: figures, JSON, nothing left.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 16
cd "$tmp" || exit 1

bench shards size=32M storage=disk,null path=disk out=one epochs=2 >one.out 2>&1
expect_eq 0 $? "one rank saves and loads on a disk and on null"
check "a directory of path= that is missing is made" test -d disk
diag "$(cat one.out)"
run=$(echo one/shards/*/run_results.json)
expect_eq "ckptbench-run 1 2" "$(jq -r '"\(.format) \(.version) \(.job_results | length)"' "$run")" \
	"the run's JSON names its format and holds both jobs"
expect_eq "$(jq -c '.job_results[1].metrics' "$run")" \
	"$(jq -c .metrics "$(dirname "$run")/1/job_results.json")" "each job's JSON is in its own directory"
check "durations, rates and CPU time of each phase are there" jq -e '.job_results[0].metrics
	| .save.seconds > 0 and .load.gb_per_s > 0 and .load.seconds >= .load.transfer_s
	and (.save.epochs | length == 2) and .save.cpu_s_per_gb > 0 and .save.sync_s >= 0' "$run"
check "a job says what it verified and how it dropped the page cache" jq -e '.job_results[0].setup
	| .verified == "every timed byte, after the clock" and (.page_cache_dropped == "file" or .page_cache_dropped == "caches")' "$run"
check "no field holds the environment" sh -c '! grep -q "$HOME\|$PATH" "$1"' sh "$run"
expect_eq "" "$(ls disk)" "no file is left on the disk"

bench shards size=32M storage=disk path=disk out=off hold=off block=100K >off.out 2>&1
expect_eq 0 $? "data that is not held is made and checked on the way"
expect_eq "every timed byte, inside the clock" \
	"$(jq -r .job_results[0].setup.verified off/shards/*/run_results.json)" "the results say that data is verified inside the clock"
if dd if=/dev/zero of=direct.probe bs=4096 count=1 oflag=direct status=none 2>/dev/null; then
	check "O_DIRECT saves and loads shards that end in part of a block" \
		bench shards size=32M storage=disk path=disk out=direct direct=on block=1M hold=on
else
	skip "O_DIRECT saves and loads shards that end in part of a block" "the file system refuses O_DIRECT"
fi

check "null copies when it is asked to" bench shards size=8M storage=null null.copies=2 block=1M out=copies

if ! bench_mpi true; then
	for name in "two ranks save and load" "the slow rank's time is the run's" \
		"both ranks together have the model's bytes" "no file is left by two ranks"; do skip "$name" "$bench_no_mpi"; done
	exit 0
fi
bench_mpi bench shards size=32M storage=disk,null path=disk out=two null.delay_us=1000 \
	null.slow_rank=1 >two.out 2>&1
expect_eq 0 $? "two ranks save and load"
diag "$(cat two.out)"
run=$(echo two/shards/*/run_results.json)
check "the slow rank's time is the run's" jq -e '.job_results[1].metrics.save
	| .seconds >= 0.04 and .epochs[0][1].total_s == .seconds and .epochs[0][0].total_s < .seconds' "$run"
check "both ranks together have the model's bytes" jq -e '.job_results[0]
	| ([.metrics.save.epochs[0][].bytes] | add) as $sum
	| (.model.parameters * .model.bytes_a_parameter) as $want | $sum >= $want and $sum < $want * 1.1' "$run"
expect_eq "" "$(ls disk)" "no file is left by two ranks"
