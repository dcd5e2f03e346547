#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards.sh: shards of one and of two ranks on a disk and on null: figures, JSON, nothing left.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 21
cd "$tmp" || exit 1

bench shards size=32M storage=disk,null path=disk out=one epochs=2 >one.out 2>&1
expect_eq 0 $? "one rank saves and loads on a disk and on null"
check "a directory of path= that is missing is made" test -d disk
diag "$(cat one.out)"
run=$(echo one/shards/*/run_results.json)
expect_eq "ckptbench-run 2 2" "$(jq -r '"\(.format) \(.version) \(.job_results | length)"' "$run")" \
	"the run's JSON names its format and holds both jobs"
expect_eq "$(jq -c '.job_results[1].metrics' "$run")" \
	"$(jq -c .metrics "$(dirname "$run")/1/job_results.json")" "each job's JSON is in its own directory"
check "durations, rates and CPU time of each phase are there" jq -e '.job_results[0].metrics
	| .save.seconds > 0 and .load.gb_per_s > 0 and .load.seconds >= .load.transfer_s
	and (.save.epochs | length == 2) and .save.cpu_s_per_gb > 0 and .save.sync_s >= 0' "$run"
check "a job says what it verified and how it dropped the page cache" jq -e '.job_results[0].setup
	| .verified == "every timed byte, after the clock" and (.page_cache_dropped == "file" or .page_cache_dropped == "caches")' "$run"
log=$(dirname "$run")/0/benchmark.log
said() { grep -c "^\[[-0-9]* [:0-9]*,[0-9]*\]\[shards\]\[INFO\] - $1" "$log"; }
expect_eq "1 2 2 1" "$(said 'job 1 of 2: .*storage disk') $(said 'save of shard.*: [0-9.]* s, 3[0-9]* bytes') \
$(said 'load of shard.*: [0-9.]* s, 3[0-9]* bytes') $(said 'done$')" "the log of a job has its epochs, and when they were"
diag "$(cat "$log")"
check "the results name the libraries" jq -e '.job_results[0].versions
	| (.libcurl | test("^[0-9]+\\.")) and (.openssl | test("^[0-9]+\\.")) and .mpi != "" and .nccl != ""' "$run"
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


# Several threads of a rank: the bytes are those of one thread, whatever block, format and flag.
threads="shards size=20M storage=disk path=disk seed=4 warmup=0"
by_threads() { # KEY=VALUE...: what many threads save one loads, and the other way round
	bench $threads phase=save suffix=one "$@" out=t >t.out 2>&1 &&
		bench $threads phase=save suffix=many disk.threads=7 "$@" out=t >>t.out 2>&1 &&
		diff -r disk/one disk/many &&
		bench $threads phase=load suffix=one disk.threads=7 "$@" out=t >>t.out 2>&1 &&
		bench $threads phase=load suffix=many "$@" out=t >>t.out 2>&1 || { diag "$(tail -n 5 t.out)"; return 1; }
}
same_bytes() {
	by_threads hold=on && by_threads hold=off block=100K && by_threads format=safetensors block=5000 hold=off &&
		{ [ ! -e direct.probe ] || by_threads direct=on block=64K && by_threads direct=on hold=off block=12K; } &&
		by_threads device=emulated block=64K
}
check "threads of a rank save and load the bytes that one thread does" same_bytes
printf x | dd of="$(echo disk/one/*00001)" bs=1 seek=7000001 conv=notrunc 2>/dev/null
bench $threads phase=load suffix=one disk.threads=5 block=64K out=wrong >wrong.out 2>&1
expect_eq "1 1" "$? $(grep -c 'wrong byte [0-9]* of tensor .*(byte 7000001 of' wrong.out)" \
	"threads find a wrong byte, and name it"
truncate -s 15M "$(echo disk/many/*00001)"
bench $threads phase=load suffix=many disk.threads=5 hold=off out=short >short.out 2>&1
expect_eq "1 1" "$? $(grep -c 'many/shard.*: No data available' short.out)" "threads say that a file is too short"
rm -r disk/one disk/many

check "null copies when it is asked to" bench shards size=8M storage=null null.copies=2 block=1M out=copies

if ! bench_mpi true; then
	for name in "two ranks save and load" "the time of the slow rank is the run's" \
		"two ranks together save the model's bytes" "no file is left by two ranks"; do skip "$name" "$bench_no_mpi"; done
	exit 0
fi
# Each of four waits of the slow rank is 800 ms: the other is faster also where it stands still for two seconds.
bench_mpi bench shards size=32M storage=disk,null path=disk out=two warmup=0 epochs=1 null.delay_us=80000 \
	null.slow_rank=1 >two.out 2>&1
expect_eq 0 $? "two ranks save and load"
diag "$(cat two.out)"
run=$(echo two/shards/*/run_results.json)
check "the time of the slow rank is the run's" jq -e '.job_results[1].metrics.save
	| .seconds >= 3.2 and .epochs[0][1].total_s == .seconds and .epochs[0][0].total_s < .seconds' "$run"
check "two ranks together save the model's bytes" jq -e '.job_results[0]
	| ([.metrics.save.epochs[0][].bytes] | add) as $sum
	| (.model.parameters * .model.bytes_a_parameter) as $want | $sum >= $want and $sum < $want * 1.1' "$run"
expect_eq "" "$(ls disk)" "no file is left by two ranks"
