#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite.sh: the configuration files of the S3 connector's suite run as they are published; what the
# command line says beside them only makes the models small.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 20
cd "$tmp" || exit 1
mkdir disk
conf=$srcdir/tests/bench/suite

# suite SCENARIO arguments...
suite() {
	sc=$1; shift
	bench "$sc" -cd "$conf" -cn "$sc" s3.region=us-east-1 s3.uri=s3://b/p path=disk "$@"
}
tiny="model=gpt-mini world_size=1 backend=gloo checkpoint.storage=disk,null thread_count=2"
jobs() { jq -r '[.job_results | length, ([.[] | select(.error)] | length)] | join(" ")' "$1"/*/*/run_results.json; }
suffix() { jq -r '.job_results[0].setup.suffix' "$1"/*/*/run_results.json; }

for kind in ddp fsdp; do
	suite dcp_${kind}_save $tiny out=$kind >$kind.out 2>$kind.err
	expect_eq "0 2 0" "$? $(jobs $kind)" "dcp_${kind}_save: four epochs on two storages"
	expect_eq "1 1" "$(grep -c collate_results $kind.err) $(grep -c "'aws/dynamodb' is left out" $kind.err)" \
		"with a line each about what is not used"
	suite dcp_${kind}_load model=gpt-mini world_size=1 backend=gloo checkpoint.storage=disk \
		checkpoint.suffix="$(suffix $kind)/" out=$kind-load >load.out 2>&1
	expect_eq "0 1 0" "$? $(jobs $kind-load)" "dcp_${kind}_load loads it"
done
for sc in lightning_checkpointing pytorch_checkpointing; do
	suite $sc model=gpt-mini checkpoint.storage=disk,null out=$sc >$sc.out 2>&1
	expect_eq "0 2 0 5" "$? $(jobs $sc) $(jq '.job_results[0].suite.save_times_s | length' $sc/*/*/run_results.json)" \
		"$sc: five saves on two storages"
	suite $sc --dry-run >dry 2>&1
	expect_eq 0 $? "and every model of it can be planned"
done
suite dcp model=gpt-mini world_size=1 thread_count=1,2 backend=gloo checkpoint.storage=disk,null --legacy-names \
	out=dcp >dcp.out 2>&1
expect_eq "0 4 0" "$? $(jobs dcp)" "dcp: the older file, swept"
expect_eq "results_gpt-mini_gloo_1_1_disk.json results_gpt-mini_gloo_1_1_null.json" \
	"$(cd dcp/*/* && echo 0/results_* 1/results_* | sed 's|[01]/||g')" "with the older names of results"

# the libraries of tars are optional
bench dataset -cd "$conf" -cn dataset s3.region=us-east-1 s3.bucket=b mount.path=. path=. sharding=off --dry-run >dry 2>&1
expect_eq "0 1 1" "$? $(grep -c s3iterabledataset dry) $(grep -c mountpointcache dry)" "dataset: five data loaders"

# refused PATTERN SCENARIO arguments...
refused() {
	pattern=$1; shift
	suite "$@" >out 2>err
	expect_eq "1 1" "$? $(grep -c -- "$pattern" err)" "refused: $pattern"
}
refused "checkpoint.suffix has no value yet: give checkpoint.suffix=" dcp_ddp_load backend=gloo world_size=1
refused "model has no value yet: give model=" dcp_fsdp_load backend=gloo world_size=1 suffix=x
refused "world_size=8 is more than the 1 rank" dcp_ddp_save backend=gloo
refused "world_size=2 is more than the 1 rank" dcp backend=gloo model=gpt-mini
refused "unknown key 'checkpoint.stroage': did you mean" dcp backend=gloo world_size=1 +checkpoint.stroage=s3
expect_eq "" "$(ls multirun 2>/dev/null)" "and nothing was made"
if bench_mpi true; then
	bench_mpi bench shards storage=null size=4M world_size=1,2 out=part >part.out 2>&1
	expect_eq "0 [1,2]" "$? $(jq -c '[.job_results[].setup.ranks]' part/*/*/run_results.json)" \
		"world_size is a part of the job, or all of it, for every scenario"
else
	skip "world_size is a part of the job, or all of it, for every scenario" "$bench_no_mpi"
fi
