#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.sh: one file of a whole model, saved and loaded epoch by epoch, with the suite's figures.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 23
cd "$tmp" || exit 1
mkdir disk

keys="model=demo storage=disk path=disk"
check "a model is saved and loaded five times" bench pytorch_checkpointing $keys out=out
run=$(echo out/*/*/run_results.json)
check "the suite's figures are there" jq -e '.job_results[0].metrics | (.save_times_s | length == 5)
	and (.throughput_mibs | length == 5) and .utilization.cpu_mem.max > 0
	and .utilization.cpu_util.n > 0' "$run"
expect_eq "" "$(ls disk)" "no file is left"
# To make the bytes, and to load them, takes longer than the saves; the suites do not look at it.
for sharded in off on; do
	bench lightning_checkpointing size=256M storage=null null.delay_us=10000 epochs=2 checkpoint.sharded=$sharded \
		out=looks-$sharded >looks.out 2>&1 || diag "$(cat looks.out)"
	check "the suite's utilization is that of saves alone, with checkpoint.sharded=$sharded" jq -e '.job_results[0]
		| .metrics.utilization.cpu_mem.n >= 2 and .metrics.utilization.cpu_mem.n < 0.75 * .utilization.cpu_mem.n' \
		looks-$sharded/*/*/run_results.json
done
check "every second epoch is saved" bench lightning_checkpointing $keys epochs=4 save_one_in=2 \
	keep=on out=two
expect_eq "demo-0.ckpt demo-1.ckpt" "$(cd disk/* && echo *)" "keep=on leaves the files"
bench pytorch_checkpointing $keys epochs=1 save_one_in=2 out=out 2>err
expect_eq "1 1" "$? $(wc -l <err)" "saving nothing is refused in one line"

# The suites leave files to the page cache; shards wait for the disk. Each can be asked for the other.
# synced OUT: what the results say of fsync, and whether null's wait of 100 ms for it was there
synced() { jq -r '.job_results[0] | "\(.setup.fsync) \(.metrics.save.sync_s >= 0.1)"' "$1"/*/*/run_results.json; }
null="storage=null null.delay_us=100000 epochs=1"
bench pytorch_checkpointing model=gpt-mini $null out=left >left.out 2>&1
expect_eq "false false" "$(synced left)" "a benchmark of the suites saves without fsync"
bench pytorch_checkpointing model=gpt-mini $null fsync=on out=asked >asked.out 2>&1
expect_eq "true true" "$(synced asked)" "fsync=on waits until a file is durable"
expect_eq "1 1" "$(grep -c 'saves end without fsync' left.out) $(grep -c 'saves end with fsync' asked.out)" \
	"the table says which it was"
bench shards size=1M $null warmup=0 out=shards >shards.out 2>&1
expect_eq "true true" "$(synced shards)" "shards are durable before they are closed"

# What a callback of Lightning's keeps.
keys="model=gpt-mini storage=disk path=disk"
rm -r disk/*
lightning() { bench lightning_checkpointing $keys "$@"; }
suite() { jq -rc ".job_results[0].metrics.$2" "$1"/*/*/run_results.json; }
check "the newest two of four stay" lightning epochs=4 checkpoint.save_top_k=2 keep=on out=newest
expect_eq "gpt-mini-2.ckpt gpt-mini-3.ckpt [2,3]" "$(cd disk/* && echo *) $(suite newest kept)" "the newest two are named in the results"
rm -r disk/*
check "the best two stay, and the last under its name" lightning epochs=5 checkpoint.save_top_k=2 \
	checkpoint.monitor=loss checkpoint.save_last=on keep=on out=best
expect_eq "gpt-mini-2.ckpt gpt-mini-3.ckpt last.ckpt 5" "$(cd disk/* && echo *) $(suite best 'last_save_times_s | length')" \
	"the best two and the last are files, with their times"
rm -r disk/*
check "a run without keep=on succeeds" lightning epochs=3 checkpoint.save_top_k=2 checkpoint.save_last=on out=none
expect_eq "" "$(ls disk)" "a run without keep=on leaves no file"
check "a save of rows of each rank succeeds" lightning epochs=3 format=dcp checkpoint.save_top_k=1 \
	keep=on out=rows
expect_eq ".metadata __0_0.distcp [2] 3" "$(cd disk/* && echo .m* *) $(suite rows kept) $(suite rows 'save_times_s | length')" \
	"the newest of the saves of rows stays"
check "the results tell how busy the machine was" jq -e '.job_results[0].metrics.utilization.cpu_mem.max > 0' rows/*/*/run_results.json
rm -r disk/*
lightning checkpoint.sharded=on checkpoint.save_last=on out=out 2>err
expect_eq "1 1" "$? $(grep -c 'checkpoint.save_last is for one file a save' err)" "last.ckpt of shards is refused"
if bench_mpi true; then
	check "rank 0 of two saves a file, or both save their rows" bench_mpi bench lightning_checkpointing $keys epochs=1 \
		checkpoint.sharded=off,on out=two
else
	skip "rank 0 of two saves a file, or both save their rows" "$bench_no_mpi"
fi
