#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dcp.sh: directories of torch.distributed.checkpoint: saved by one and two ranks, replicated and by
# rows, loaded by as many and by others, every byte checked; a wrong byte and a missing save fail.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 19
cd "$tmp" || exit 1
mkdir disk conf

keys="model=gpt-mini optimizer=on storage=disk path=disk"
results() { echo out/"$1"/*/run_results.json | awk '{ print $NF }'; }
suffix() { jq -r '.job_results[-1].setup.suffix' "$(results "$1")"; }

check "one rank saves a replicated model in three files" bench dcp_ddp_save $keys +thread_count=3 out=out
ddp=$(suffix dcp_ddp_save)
expect_eq ".metadata __0_0.distcp __0_1.distcp __0_2.distcp" \
	"$(cd "disk/$ddp" && echo .m* *)" "these and .metadata are there"
check "the suite's figures are there" jq -e '.job_results[0].metrics
	| (.throughput_mibs | length == 1) and .corrected_save_durations_s[0] > 0
	and .processing_durations_s[0] >= .corrected_save_durations_s[0]' "$(results dcp_ddp_save)"
check "a replicated model is loaded byte for byte" bench dcp_ddp_load $keys checkpoint.suffix="$ddp/" out=out
expect_eq "every timed byte, after the clock" \
	"$(jq -r '.job_results[0].setup.verified' "$(results dcp_ddp_load)")" "the results say that the load was verified"

bench dcp_ddp_save $keys --legacy-names thread_count=1,2 out=names >names.out
expect_eq "0 results_gpt-mini_gloo_1_1_disk.json results_gpt-mini_gloo_1_2_disk.json" \
	"$? $(cd names/*/* && echo */results_* | sed 's|./||g')" "results have the older suite's names too"
expect_eq "2 0" "$(grep -c 'not read back; .*; the saves stay in ' names.out) $(grep -c 'page cache' names.out)" \
	"saves that stay are told, and no page cache that no load met"
expect_eq "done params:   thread_count: ['1', '2']" \
	"$(cd names/*/* && echo "$(tail -n 1 0/benchmark.log | sed 's/^\[.*\]\[dcp_ddp_save\]\[INFO\] - //')" "$(grep -e params: -e thread multirun.yaml | tr '\n' ' ' | sed 's/ $//')")" \
	"what was swept stands beside the results"

cp -r "disk/$ddp" disk/wrong
check_fails "bytes of another save are refused" bench dcp_ddp_load $keys suffix=wrong out=out
bench dcp_ddp_load $keys suffix=gone out=out 2>err
expect_eq "1 1" "$? $(grep -c 'gone/.metadata: No such file' err)" "a save that never was is one line"
bench dcp_ddp_save $keys format=torch out=out 2>err
expect_eq "1 1" "$? $(grep -c 'format=torch: dcp_ddp_save writes dcp: give that' err)" "another format is refused"
bench shards $keys format=dcp out=out 2>err
expect_eq "1 1" "$? $(grep -c 'format=dcp: shards writes raw or safetensors or torch: .* dcp_fsdp_save' err)" \
	"shards refuses format=dcp, and names dcp_fsdp_save"
check_fails "more ranks than the job has are refused" bench dcp_ddp_save $keys world_size=2 out=out
bench dcp_ddp_save $keys backend=nccl,gloo out=sweep 2>err
expect_eq "1 2 1" "$? $(jq '.job_results | length' sweep/*/*/run_results.json) $(jq '[.job_results[].error | select(.)] | length' sweep/*/*/run_results.json)" \
	"a job that fails is recorded, and the next one runs"

printf 's3:\n  region: us-east-1\n  uri: s3://b/p\nepochs: 2\npath: disk\nhydra:\n  mode: MULTIRUN\n  sweep:\n    dir: x\n  sweeper:\n    params:\n      +model: gpt-mini\n      +backend: gloo\n      +world_size: 1\n      +thread_count: 2\n      +checkpoint.storage: disk\n' >conf/suite.yaml
check "a configuration file of the suite runs" bench dcp_fsdp_save -cd conf -cn suite out=out

if ! bench_mpi true; then
	for name in "two ranks save the rows of a model" "two ranks load what two saved" "one rank loads what two saved" "one of two ranks takes part"; do
		skip "$name" "$bench_no_mpi"
	done
	exit 0
fi
check "two ranks save the rows of a model" bench_mpi bench dcp_fsdp_save $keys thread_count=2 out=two
fsdp=$(jq -r '.job_results[-1].setup.suffix' two/*/*/run_results.json)
check "two ranks load what two saved" bench_mpi bench dcp_fsdp_load $keys suffix="$fsdp" out=out
check "one rank loads what two saved" bench dcp_fsdp_load $keys suffix="$fsdp" out=out
check "one of two ranks takes part" bench_mpi bench dcp_ddp_save $keys world_size=1 out=out
