#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mlperf.sh: sizes of MLPerf Storage's checkpoints, their files, saves and loads that are verified, and
# ranks that do not fit a shape.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 17
cd "$tmp" || exit 1
mkdir disk

# The published sizes: model and optimizer of rank 0, and of all ranks, GiB.
bench mlperf --dry-run model=8b,70b,405b,1t storage=null >dry
for line in "8b 8 1.87 11.22 104.7" "70b 64 2.03 12.20 911.2" "405b 512 3.46 8.86 5291.8" "1t 1024 5.05 12.91 15427.2"; do
	set -- $line
	check "$1 is $5 GiB, of which rank 0 has $3 and $4" grep -q \
		"mlperf-$1: .*, $2 ranks; rank 0: $3 GiB of model, $4 GiB of optimizer; all $5 GiB" dry
done

tiny="model.hidden=64 model.layers=3 model.ffn=256 model.vocab=512 epochs=2 mlperf.interval=10ms storage=disk path=disk"
run() { echo "$1"/*/*/run_results.json; }
check "the first rank of 8 saves and loads two checkpoints" bench mlperf $tiny out=sub
check "the results have the benchmark's figures" jq -e '.job_results[0].metrics | .mode == "subset"
	and .ranks_of_shape == 8 and (.save_checkpoint_duration_seconds | length == 2)
	and .load_checkpoint_io_mean_GiB_per_second > 0' "$(run sub)"
expect_eq "every timed byte, after the clock" "$(jq -r '.job_results[0].setup.verified' "$(run sub)")" \
	"every byte is verified"
expect_eq "" "$(ls disk)" "a run leaves nothing behind"
bench mlperf $tiny phase=save keep=on epochs=1 out=zero3 >/dev/null
expect_eq "model-rank_00000.pt optimizer-rank_00000.pt" "$(cd disk/* && echo *)" \
	"ZeRO-3: one file of weights and one of the optimizer"
suffix=$(ls disk)
check "another run loads the files of ZeRO-3" bench mlperf $tiny phase=load epochs=1 suffix="$suffix" out=load
expect_eq "$suffix" "$(ls disk)" "a load leaves the files where they are"
rm -rf disk/*
bench mlperf $tiny model=405b mlperf.pp=2 phase=save keep=on epochs=1 out=zero1 >/dev/null
expect_eq "layer_000-tp_00-model.pt layer_001-tp_00-model.pt layer_002-tp_00-model.pt optimizer-rank_00000.pt" \
	"$(cd disk/* && echo *)" "ZeRO-1: a file a layer of its stage"

refused() {
	pattern=$1; shift
	bench mlperf "$@" >out 2>err
	expect_eq "1 1" "$? $(grep -c -- "$pattern" err)" "a bad option is refused: $pattern"
}
refused "needs 8 ranks and there are 1" $tiny mlperf.mode=full
refused "model 'L7b' is no shape of MLPerf's" $tiny model=L7b
refused "no layout of MLPerf's" $tiny mlperf.pp=2
if bench_mpi true; then
	check "two ranks of two run the whole benchmark" bench_mpi bench mlperf $tiny mlperf.dp=2 mlperf.mode=full out=full
	bench_mpi bench mlperf $tiny mlperf.dp=3 >out 2>err
	check "two ranks of three do not divide" grep -q '2 ranks do not divide the 3' err
else
	skip "two ranks of two run the whole benchmark" "$bench_no_mpi"
	skip "two ranks of three do not divide" "$bench_no_mpi"
fi
