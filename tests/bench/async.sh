#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# async.sh: saves beside training steps: what blocks, what a slow storage costs, and that the wait for
# the save before is counted.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 11
cd "$tmp" || exit 1
mkdir disk

check "steps with a save each are run on a disk, and the last save is verified" bench async size=16M storage=disk \
	path=disk steps=4 step_time=20ms out=disk.out
expect_eq "" "$(ls disk)" "no file is left"
check "each save has its figures" jq -e '.job_results[0].metrics | (.blocked_s | length == 4)
	and ([.blocked_s, .staged_s] | transpose | all(.[0] >= .[1]))
	and ([.visible_s, .durable_s] | transpose | all(.[0] >= .[1]))
	and .step_s > 0 and .peak_memory_bytes > 16e6' disk.out/*/*/run_results.json

# open, transfer, sync and close wait 100 ms each: every save but the first has to wait for one
bench async size=4M storage=null null.delay_us=100000 steps=4 step_time=10ms out=slow >slow.out
check "a storage that is slower than the steps is not hidden" jq -e '.job_results[0].metrics
	| all(.visible_s[]; . >= 0.4) and all(.blocked_s[1:][]; . >= 0.3) and .blocked_s[0] < 0.3' \
	slow/*/*/run_results.json
# What a clock would see that starts when a save can begin, not when it is wanted: the copy alone.
check "the wait for the save before is told from the copy and counts as blocked" jq -e '
	.job_results[0].metrics | . as $m | .waited_s[0] < 0.3
	and all(range(1; 4); $m.waited_s[.] >= 0.3 and $m.blocked_s[.] >= $m.waited_s[.] + $m.staged_s[.] - 1e-6
		and $m.staged_s[.] < $m.waited_s[.])' slow/*/*/run_results.json
diag "$(cat slow.out)"
check "a staging buffer is used for several saves" bench async size=4M storage=null steps=3 step_time=5ms \
	async.staging=cached steps_per_save=2 out=cached
check "a process writes saves from memory of each kind, and the last one is verified" bench async size=8M \
	storage=disk path=disk steps=4 step_time=5ms steps_per_save=2 async.writer=process \
	async.staging=pageable,pinned,cached out=process
check "the peak of memory of a writing process is told apart" jq -e 'all(.job_results[].metrics;
	.peak_memory_writer_bytes > 8e6 and .peak_memory_bytes > 16e6)' process/*/*/run_results.json
expect_eq "" "$(ls disk)" "an asynchronous save leaves no file"
bench async size=4M storage=null steps=1 steps_per_save=2 out=none 2>err
expect_eq "1 1" "$? $(wc -l <err)" "steps without a save are refused in one line"
if bench_mpi true; then
	check "two ranks save while their steps run" bench_mpi bench async size=16M storage=disk path=disk steps=3 step_time=10ms out=two
else
	skip "two ranks save while their steps run" "$bench_no_mpi"
fi
