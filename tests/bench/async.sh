#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# async.sh: saves beside training steps: what blocks, what a slow storage costs, that the wait for the
# save before is counted, and that a save is a checkpoint from which training goes on.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 24
cd "$tmp" || exit 1
mkdir disk

check "steps with a save each are run on a disk, and the last save is verified" bench async size=16M storage=disk \
	path=disk steps=4 step_time=20ms out=disk.out
expect_eq "" "$(ls disk)" "no file is left"
check "each save has its figures" jq -e '.job_results[0].metrics | (.blocked_s | length == 4)
	and ([.blocked_s, .staged_s] | transpose | all(.[0] >= .[1]))
	and ([.visible_s, .durable_s] | transpose | all(.[0] >= .[1]))
	and .step_s > 0 and .peak_memory_bytes > 16e6' disk.out/*/*/run_results.json

# Open, transfer, sync and close wait 800 ms each: every save but the first has to wait for one, also where the machine
# stands still for two seconds.
bench async size=4M storage=null null.delay_us=800000 steps=4 step_time=10ms out=slow >slow.out
check "a storage that is slower than the steps is not hidden" jq -e '.job_results[0].metrics
	| all(.visible_s[]; . >= 3.2) and all(.blocked_s[1:][]; . >= 0.3) and .blocked_s[0] < 3.2' \
	slow/*/*/run_results.json
# What a clock would see that starts when a save can begin, not when it is wanted: the copy alone.
check "the wait for the save before is told from the copy and counts as blocked" jq -e '
	.job_results[0].metrics | . as $m | .waited_s[0] < 3.2
	and all(range(1; 4); $m.waited_s[.] >= 0.3 and $m.blocked_s[.] >= $m.waited_s[.] + $m.staged_s[.] - 1e-6
		and $m.staged_s[.] < $m.waited_s[.])' slow/*/*/run_results.json
diag "$(cat slow.out)"
check "how long a save stalls training is said in words" grep -qE \
	'^null: a save stalls training for [0-9.]+ s and is durable [0-9.]+ s after it was asked for\.$' slow.out
check "a staging buffer is used for several saves" bench async size=4M storage=null steps=3 step_time=5ms \
	async.staging=cached steps_per_save=2 out=cached
check "a process writes saves from memory of each kind, and the last one is verified" bench async size=8M \
	storage=disk path=disk steps=4 step_time=5ms steps_per_save=2 async.writer=process \
	async.staging=pageable,pinned,cached out=process
check "the peak of memory of a writing process is told apart" jq -e 'all(.job_results[].metrics;
	.peak_memory_writer_bytes > 8e6 and .peak_memory_bytes > 16e6)' process/*/*/run_results.json
expect_eq "" "$(ls disk)" "an asynchronous save leaves no file"
store_start storesim --clock-skew 1h # which the store's client tells of where it may
bench async size=4M storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri="s3://$CKPTFS_TEST_BUCKET" steps=2 step_time=5ms \
	async.writer=process out=quiet >/dev/null 2>err
expect_eq "0 " "$? $(cat err)" "a process that writes says no more than its rank"
store_stop
bench async size=4M storage=null steps=1 steps_per_save=2 out=none 2>err
expect_eq "1 1" "$? $(wc -l <err)" "steps without a save are refused in one line"

# What is saved is a model that learns: training goes on from it.
small="model=gpt-mini model.layers=1 batch_size=2"
# shellcheck disable=SC2086
train() { bench train $small train.mode=fsdp optimizer.name=adamw warmup_steps=0 storage=disk path=disk "$@" >/dev/null; }
metric() { jq -c ".job_results[0].$2" "$1"/*/*/run_results.json; }
# refused PATTERN KEY...
refused() {
	pattern=$1
	shift
	bench async storage=disk path=disk "$@" >out 2>err
	expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c -- "$pattern" err)" "what cannot be is refused in one line: $pattern"
}
trained="trained"
bench_has HAVE_OPENBLAS || trained=pattern
# shellcheck disable=SC2086
bench async $small storage=disk path=disk steps=3 step_time=1ms keep=on async.writer=process out=kept >kept.out 2>&1
suffix=$(metric kept setup.suffix | tr -d '"')
expect_eq "$trained" "$(metric kept setup.state | tr -d '"')" "a GPT on the host is trained"
expect_eq "3 .metadata __0_0.distcp" "$(ls "disk/$suffix" | wc -l) $(ls -A "disk/$suffix"/step-00000005 | paste -sd ' ')" \
	"each save is a directory with .metadata"
if bench_has HAVE_OPENBLAS; then
	train steps=7 out=whole
	train steps=2 resume="$suffix/step-00000005" out=on
	expect_eq "$(metric whole 'metrics.losses[5:]')" "$(metric on metrics.losses)" "training goes on from an asynchronous save, to the bit"
	refused "async.state=trained: only GPTs are trained" async.state=trained model=demo
	refused "async.state=trained: an emulated device trains nothing" async.state=trained device=emulated model=gpt-mini
else
	skip "training goes on from an asynchronous save, to the bit" "built without OpenBLAS"
	refused "async.state=trained: only GPTs are trained" async.state=trained model=demo
	refused "async.state=trained: .*OpenBLAS" async.state=trained model=gpt-mini device=host
fi
refused "give a steps_per_save with which they are 1000 at most" steps=1001
rm -r disk/*
check "a model that is not trained has a pattern that each step makes anew" bench async model=padding model.layers=40 \
	storage=disk path=disk steps=2 step_time=1ms out=pattern
expect_eq '"pattern"' "$(metric pattern setup.state)" "the results tell a pattern from what is trained"
check "each rank has a file of its own with another format than dcp" bench async size=4M storage=disk path=disk steps=2 step_time=1ms \
	format=raw,safetensors,torch keep=on out=formats
expect_eq "2 2 2" "$(for e in "" .safetensors .ckpt; do find disk -name "step-0000000[34]-00000-of-00001$e" | wc -l; done | paste -sd ' ')" \
	"files of the other formats say whose they are"
rm -r disk/*
if bench_mpi true; then
	check "two ranks save while their steps run" bench_mpi bench async size=16M storage=disk path=disk steps=3 step_time=10ms \
		keep=on out=two
	expect_eq ".metadata __0_0.distcp __1_0.distcp" "$(ls -A disk/*/step-00000005 | paste -sd ' ')" "the shares of two ranks have one .metadata"
else
	skip "two ranks save while their steps run" "$bench_no_mpi"
	skip "the shares of two ranks have one .metadata" "$bench_no_mpi"
fi
