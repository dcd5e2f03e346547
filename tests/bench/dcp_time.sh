#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dcp_time.sh: the seconds of a save or load of torch.distributed.checkpoint are those of all that
# dcp.save() and dcp.load() do, .metadata with it; and the files of a rank share its connections.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 9
cd "$tmp" || exit 1
echo '[]' >faults

# Storage null waits 50 ms in each of create, write and close: of the files, then of .metadata.
null="model=gpt-mini storage=null null.delay_us=50000 thread_count=2"
bench dcp_ddp_save $null out=null >null.out 2>&1 || diag "$(cat null.out)"
check "a save lasts until .metadata is there" jq -e '.job_results[0]
	| .metrics.save.seconds >= 0.3 and .metrics.corrected_save_durations_s[0] >= 0.3' null/*/*/run_results.json
check "throughput and the whole are of the same seconds" jq -e '.job_results[0] | .metrics.corrected_save_durations_s[0] as $s
	| (.metrics.throughput_mibs[0] * $s * 1048576 / (.model.parameters * .model.bytes_a_parameter) - 1 | fabs) < 1e-9
	and .metrics.processing_durations_s[0] == $s' null/*/*/run_results.json
check "the phases of a save make it up" jq -e '.job_results[0].metrics.save.epochs[0][0]
	| .files_s >= 0.15 and .finish_s >= 0.15 and .transfer_s < .files_s
	and (.plan_s + .files_s + .finish_s - .total_s | fabs) < 1e-6' null/*/*/run_results.json
bench shards size=1M storage=null warmup=0 out=shards >shards.out 2>&1
check "a shard of one rank has no such phases" jq -e '.job_results[0].metrics.save
	| has("files_s") == false and (.epochs[0][0] | has("plan_s") == false)' shards/*/*/run_results.json

# A store that takes 40 connections: 32 clients, one a file, would have twice as many.
store_start storesim --connections 40 --faults "$tmp/faults"
s3="model=gpt-mini storage=s3 s3.uri=s3://$CKPTFS_TEST_BUCKET/p s3.endpoint=$CKPTFS_TEST_ENDPOINT s3.connections=2"
check "many files of a rank are saved" timeout 600 "$builddir/ckptbench" dcp_ddp_save $s3 thread_count=32 optimizer=on out=save
suffix=$(jq -r '.job_results[0].setup.suffix' save/*/*/run_results.json)
check "the checkpoint is loaded again" timeout 600 "$builddir/ckptbench" dcp_ddp_load $s3 suffix="$suffix" optimizer=on out=load
expect_eq 0 "$(grep -c 'connections are open' "$store_log")" "many files of a rank go over the connections of one client"
store_rules faults '[{"op": "GetObject", "key": "p/'"$suffix"'/.metadata", "times": 1, "do": "delay", "stall": "300ms"}]'
bench dcp_ddp_load $s3 suffix="$suffix" optimizer=on out=late >late.out 2>&1 || diag "$(cat late.out)"
check "a load begins before .metadata is read" jq -e '.job_results[0]
	| .metrics.load.plan_s >= 0.3 and .metrics.corrected_load_durations_s[0] >= .metrics.load.plan_s' late/*/*/run_results.json
check "the phases of a load make it up" jq -e '.job_results[0].metrics.load.epochs[0][0]
	| .files_s > 0 and (.plan_s + .files_s + .finish_s - .total_s | fabs) < 1e-6' late/*/*/run_results.json
