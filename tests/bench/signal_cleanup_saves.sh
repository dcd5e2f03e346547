#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# signal_cleanup_saves.sh: of a job of many saves that a signal ends none is left, also of those that were complete
# and were to stay, on a disk and in a bucket, and one line says so; a job of saves has as many files as it asks for.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
plan 20
cd "$tmp" || exit 1
mkdir disk
small="model=gpt-mini model.layers=1 model.vocab=256 model.hidden=32 model.heads=1 model.block=16 optimizer=off"
store_start storesim

in_disk() { find disk -mindepth 1; }
in_bucket() { find "$store_data" -path '*/data/*' -type f; }

# stopped PLACE SCENARIO arguments...: signalled when several of its files are there
stopped() {
	place=$1; shift
	keys="storage=disk path=disk"
	[ "$place" = disk ] || keys="storage=s3 s3.endpoint=$CKPTFS_TEST_ENDPOINT s3.uri=s3://$CKPTFS_TEST_BUCKET/p"
	# shellcheck disable=SC2086 # keys are several
	"$builddir/ckptbench" "$@" $keys out=out progress=0 >out.txt 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	ready() { [ "$(in_"$place" | wc -l)" -gt 12 ]; }
	wait_for 30 ready || diag "never got ready: $(cat out.txt)"
	kill -TERM "$pid"
	wait "$pid"
	rc=$?
	expect_eq "130 1 1" "$rc $(wc -l <out.txt) $(grep -c 'stopped by a signal' out.txt)" "$1 ends by a signal, $place, in a line"
	diag "$(tail -n 5 out.txt)"
	none() { [ -z "$(in_"$place")" ]; }
	check "$1, $place: none of its saves is left" wait_for 10 none
	diag "$(in_"$place" | head -n 3)"
	rm -rf disk/*
}
endless="epochs=10000 fsync=off"
for place in disk bucket; do
	stopped $place dcp_ddp_save $small $endless
	stopped $place mlperf model.hidden=64 model.layers=3 model.ffn=256 model.vocab=512 $endless mlperf.interval=1ms phase=save
	stopped $place lightning_checkpointing $small $endless keep=on checkpoint.sharded=on
	stopped $place pytorch_checkpointing $small $endless keep=on
done
stopped bucket shards $small $endless keep=on warmup=0

bench shards $small storage=disk path=disk phase=save fsync=off epochs=4200 warmup=0 out=many >many.out 2>&1
expect_eq 0 $? "a job saves thousands of files"
diag "$(tail -n 2 many.out)"
expect_eq 4200 "$(in_disk | grep -c /shard-)" "all of them are there"
