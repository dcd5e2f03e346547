#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dataflux.sh: the scenarios that are the Dataflux benchmarks, their environment variables, what a file
# and the command line say instead, and the lines they report.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 38
cd "$tmp" || exit 1
mkdir disk conf
small="model.vocab=64 model.hidden=64 model.ffn=64"
run() { echo "$1"/*/*/run_results.json; }
config() {
	jq -r --arg k "$2" '.job_results[0].config | if has($k) then .[$k] else getpath($k | split(".")) end' "$(run "$1")"
}
suite() { jq -r ".job_results[0].metrics.$2" "$(run "$1")"; }

# Several nodes.
CKPT_DIR_PATH=$tmp/disk NUM_LAYERS=2 NUM_SAVE_CALLS=2 NUM_LOAD_CALLS=3 ACCELERATOR=cpu NUM_NODES=1 NUM_DEVICES=1 \
	STRATEGY=fsdp bench lightning_multinode $small out=multi >multi.out 2>multi.err
expect_eq 0 $? "a run of several nodes takes its configuration from the variables"
diag "$(cat multi.err)"
expect_eq "disk $tmp/disk 2 2 3 host 1 fsdp" "$(for k in storage path model.layers num_save_calls num_load_calls device \
	world_size strategy; do config multi $k; done | tr '\n' ' ' | sed 's/ $//')" "the variables of several nodes set the keys"
expect_eq "2 3" "$(suite multi 'save_times_s | length') $(suite multi 'load_times_s | length')" "the results of several nodes list each save and each load"
check "the lines of the report are printed" sh -c '
	grep -q "^Average time to save one checkpoint: [0-9.]* seconds$" "$1" &&
	grep -q "^All load times: \[[0-9.]*, [0-9.]*, [0-9.]*\]$" "$1"' sh multi.out
check "the log of the job has the lines of the report, too" grep -q '^All save times' multi/*/*/0/benchmark.log
expect_eq "" "$(ls disk)" "the run leaves nothing at the store"

printf 'num_save_calls: 1\nnum_load_calls: 0\nmodel:\n  layers: 1\nsave_only_latest: on\n' >conf/c.yaml
NUM_SAVE_CALLS=7 NUM_LAYERS=9 CKPT_DIR_PATH=/nonexistent bench lightning_multinode $small -cd conf -cn c path=disk \
	num_save_calls=2 out=save >save.out 2>&1
expect_eq "0 2 1" "$? $(config save num_save_calls) $(config save model.layers)" \
	"a file goes before the environment, and the command line before both"
expect_eq "checkpoints/ckpt_1.ckpt" "$(cd disk && ls -d */*)" "without loads the saves stay, here the latest only"
rm -r disk/*

# The suite's own words: a save, a load, both, as its documents have them.
export CKPT_DIR_PATH="$tmp/disk"
export CKPT_RESTORE_PATH="${CKPT_DIR_PATH}/checkpoints"
NUM_LAYERS=1 bench lightning_multinode --strategy=fsdp --save_only $small out=only >save.out 2>&1
expect_eq "0 ckpt_0.ckpt ckpt_1.ckpt ckpt_2.ckpt" "$? $(cd disk/checkpoints && echo *)" \
	"--save_only leaves the saves under the names of the suite"
NUM_LAYERS=1 CKPT_RESTORE_PATH=$CKPT_RESTORE_PATH/ bench lightning_multinode --strategy=fsdp --load_only $small \
	out=load >load.out 2>&1
expect_eq "0 3 null" "$? $(suite load 'load_times_s | length') $(suite load save_times_s)" "--load_only loads them"
diag "$(cat load.out)"
expect_eq "ckpt_0.ckpt ckpt_1.ckpt ckpt_2.ckpt" "$(cd disk/checkpoints && echo *)" "loads of another run's saves leave them"
NUM_LAYERS=1 bench lightning_multinode --strategy=fsdp --distributed_filesystem $small out=dfs >dfs.out 2>&1
expect_eq "0 3 3" "$? $(suite dfs 'save_times_s | length') $(suite dfs 'load_times_s | length')" \
	"--distributed_filesystem saves over what is there, and loads it"
expect_eq "" "$(ls disk)" "what a run saved and loaded is gone, with the directory that held it"
unset CKPT_RESTORE_PATH CKPT_DIR_PATH

CKPTFS_TEST_SCHEME=gs
store_start storesim --protocol gs
CKPT_DIR_PATH=gs://$CKPTFS_TEST_BUCKET/p/ STRATEGY=fsspec_fsdp bench lightning_multinode $small model.layers=1 \
	gcs.endpoint="$CKPTFS_TEST_ENDPOINT" num_load_calls=1 out=gs >gs.out 2>&1
expect_eq "0 gcs 1 1" "$? $(config gs storage) $(config gs s3.connections) $(suite gs 'load_times_s | length')" \
	"a bucket is used one stream at a time"
export CKPT_DIR_PATH="gs://$CKPTFS_TEST_BUCKET"
export CKPT_RESTORE_PATH="${CKPT_DIR_PATH}/checkpoints"
NUM_LAYERS=1 bench lightning_multinode --strategy=dataflux_fsdp $small gcs.endpoint="$CKPTFS_TEST_ENDPOINT" out=direct >direct.out 2>&1
expect_eq "0 3 3" "$? $(suite direct 'save_times_s | length') $(suite direct 'load_times_s | length')" \
	"a bucket is restored from its directory of saves"
diag "$(cat direct.out)"
unset CKPT_RESTORE_PATH CKPT_DIR_PATH
bench lightning_singlenode --project=my-project --ckpt-dir-path="gs://$CKPTFS_TEST_BUCKET/path/to/dir/" --layers=1 --steps=2 \
	$small gcs.endpoint="$CKPTFS_TEST_ENDPOINT" out=flags >flags.out 2>&1
expect_eq "0 gcs 1 2" "$? $(config flags storage) $(config flags model.layers) $(suite flags 'save_times_s | length')" \
	"one node takes the flags of the suite"
diag "$(cat flags.out)"

# One node.
CKPT_DIR_PATH=$tmp/disk bench lightning_singlenode $small model.layers=1 out=single >single.out 2>&1
expect_eq "0 5 5" "$? $(suite single 'save_times_s | length') $(suite single 'load_times_s | length')" \
	"a run of one node makes five steps, then five loads"
expect_eq "" "$(ls disk)" "the run leaves nothing at the store"
bench lightning_singlenode $small model.layers=1 path=disk steps=4 steps_per_save=2 save_only_latest=on phase=save \
	out=latest >latest.out 2>&1
expect_eq "0 demo-1.ckpt" "$? $(cd disk/* && echo *)" "one node leaves the latest checkpoint alone"
bench lightning_singlenode $small model.layers=1 path=disk steps=4 steps_per_save=2 save_only_latest=on phase=load \
	suffix="$(ls disk)" out=reload >reload.out 2>&1
expect_eq "0 1" "$? $(suite reload 'load_times_s | length')" "the latest checkpoint is loaded"
rm -r disk/*

# More ranks than there are.
CKPT_DIR_PATH=$tmp/disk WORLD_SIZE=5 LAYER_SIZE=4 PADDING_SIZE=20 SAMPLE_COUNT=2 bench simulated out=sim >sim.out 2>&1
expect_eq "0 5 2 320000" "$? $(suite sim ranks_played) $(suite sim 'load_times_s | length') $(suite sim bytes)" \
	"one rank plays five, as the variables say"
check "mean and standard deviation are reported" grep -q \
	'^Average time to load one checkpoint: [0-9.]* seconds (stdev [0-9.]*)$' sim.out
bench simulated path=disk world_size=5 model.layers=20 model.ffn=4 epochs=1 keep=on out=kept >kept.out 2>&1
expect_eq ".metadata __0_0.distcp __1_0.distcp __2_0.distcp __3_0.distcp __4_0.distcp" \
	"$(cd disk/* && echo .m* *)" "a simulated run leaves the files of each rank it played"

# A fit.
CKPT_DIR_PATH=$tmp/disk NUM_LAYERS=1 STRATEGY=async_dataflux_fsdp MIN_EPOCHS=1 MAX_EPOCHS=2 MAX_STEPS=4 \
	STEPS_PER_SAVE=2 SIMULATED_WORKLOAD_DURATION=0.01 bench lightning_async $small out=async >async.out 2>&1
expect_eq "0 2" "$? $(jq '.job_results[0].metrics.blocked_s | length' "$(run async)")" \
	"lightning_async saves at every second of four steps"
check "the fit is timed" grep -q '^Time to fit: [0-9.]* seconds$' async.out
bench lightning_async $small storage=null null.delay_us=20000 model.layers=1 max_steps=3 step_time=5ms \
	strategy=dataflux_fsdp out=sync >sync.out 2>&1
check "without async a save blocks until it is visible" jq -e '.job_results[0].metrics
	| [.blocked_s, .visible_s] | transpose | length == 3 and all(.[0] >= .[1])' "$(run sync)"

# refused PATTERN SCENARIO arguments...: one line
refused() {
	pattern=$1; shift
	"$@" >out 2>err
	expect_eq "1 1" "$? $(grep -c -- "$pattern" err)" "a bad option is refused: $pattern"
}
refused "NUM_LAYERS=ten in the environment: model.layers=ten is not" env NUM_LAYERS=ten "$builddir/ckptbench" lightning_multinode storage=null
refused "STRATEGY=ddp in the environment: strategy=ddp is not known" env STRATEGY=ddp "$builddir/ckptbench" lightning_async storage=null
refused "ACCELERATOR=tpu in the environment" env ACCELERATOR=tpu "$builddir/ckptbench" lightning_async storage=null
refused "SIMULATED_WORKLOAD_DURATION=-1 in the environment" env SIMULATED_WORKLOAD_DURATION=-1 "$builddir/ckptbench" lightning_async storage=null
refused "CKPT_RESTORE_PATH=/a/b in the environment is not in CKPT_DIR_PATH=/c" env CKPT_DIR_PATH=/c CKPT_RESTORE_PATH=/a/b \
	"$builddir/ckptbench" lightning_multinode storage=null
refused "strategy=fsdp writes to a path and storage=null has none" bench lightning_multinode storage=null strategy=fsdp
refused "loads without a save need the directory" bench lightning_multinode storage=null num_save_calls=0
refused "world_size=2 is more than the 1 rank" env NUM_NODES=2 NUM_DEVICES=1 "$builddir/ckptbench" lightning_multinode storage=null
refused "min_epochs=3 is more than max_epochs=2" bench lightning_async storage=null min_epochs=3 max_epochs=2
check "other scenarios than the suite's do not look at its variables" env NUM_LAYERS=ten WORLD_SIZE=64 "$builddir/ckptbench" shards storage=null size=1M
if bench_mpi true; then
	CKPT_DIR_PATH=$tmp/disk WORLD_SIZE=4 PADDING_SIZE=8 LAYER_SIZE=1 SAMPLE_COUNT=1 \
		bench_mpi bench simulated out=two >two.out 2>&1
	expect_eq "0 4" "$? $(suite two ranks_played)" "two ranks play four"
	bench_mpi bench simulated storage=null world_size=3 >out 2>err
	check "two ranks do not play three" grep -q 'world_size=3 cannot be played by 2 ranks' err
else
	skip "two ranks play four" "$bench_no_mpi"
	skip "two ranks do not play three" "$bench_no_mpi"
fi
