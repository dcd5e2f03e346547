#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# reshard.sh: a directory of torch.distributed.checkpoint loaded by other ranks than saved it: each
# fetches what it needs and no more, which the store's log says too; hybrid sharding; wrong bytes.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_mpi true || skip_all "$bench_no_mpi"
plan 23
cd "$tmp" || exit 1
mkdir disk
store_start storesim --log "$tmp/requests"
keys="model=gpt-mini optimizer=on path=disk s3.endpoint=$CKPTFS_TEST_ENDPOINT s3.uri=s3://$CKPTFS_TEST_BUCKET"
result() { jq -r ".job_results[-1]$2" "$1"/*/*/run_results.json; }
store_bytes() { awk '$2 == "GetObject" && $4 !~ /metadata/ { n += $8 } END { print n }' requests; }
flip() {
	byte=$(od -An -tu1 -j "$2" -N1 "$1" | tr -d ' ')
	printf "\\$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

check "one rank saves rows in two files" bench dcp_fsdp_save $keys storage=s3 thread_count=2 out=one
: >requests
check "two ranks load what one saved" \
	bench_mpi bench dcp_fsdp_load $keys storage=s3 suffix="$(result one .setup.suffix)" out=two_of_one
expect_eq "1 $(store_bytes)" "$(result two_of_one '.load | "\(.fetched_over_needed) \(.fetched_bytes)"')" \
	"two ranks fetch each byte once, as the store says"
bench dcp_ddp_save $keys storage=s3 checkpoint.sync_files=off s3.part_size=5M thread_count=4 out=nosync >/dev/null
check "what nobody synced is there after close" bench dcp_ddp_load $keys storage=s3 \
	suffix="$(result nosync .setup.suffix)" out=nosync_load
check "two ranks save rows" bench_mpi bench dcp_fsdp_save $keys storage=s3 out=two
: >requests
check "one rank loads what two saved" \
	bench dcp_fsdp_load $keys storage=s3 suffix="$(result two .setup.suffix)" hold=off out=one_of_two
expect_eq "1 $(store_bytes)" "$(result one_of_two '.load | "\(.fetched_over_needed) \(.fetched_bytes)"')" \
	"one rank fetches each byte of two ranks' model once"
expect_eq "every timed byte, inside the clock" "$(result one_of_two .setup.verified)" "every byte is verified on the way"
: >requests
check "two replicas load all of it each" \
	bench_mpi bench dcp_ddp_load $keys storage=s3 suffix="$(result two .setup.suffix)" out=ddp
expect_eq "1 $(store_bytes) 2" "$(result ddp '.load | "\(.fetched_over_needed) \(.fetched_bytes)"') \
$(($(result ddp .load.fetched_bytes) / $(result one_of_two .load.fetched_bytes)))" "two replicas fetch the model twice"

check "groups of one rank are replicas of each other" bench_mpi bench dcp_fsdp_save $keys storage=disk \
	checkpoint.sharding_strategy=hybrid checkpoint.hybrid_group=1 out=hybrid
dir=disk/$(result hybrid .setup.suffix)
all=$(result one_of_two .load.fetched_bytes)
a=$(stat -c %s "$dir/__0_0.distcp") b=$(stat -c %s "$dir/__1_0.distcp")
check "copies of replicas are written once, by both groups" \
	test $((a + b)) -lt $((all + 1000000)) -a $((a * 2)) -gt "$b" -a $((b * 2)) -gt "$a"
check "a model is loaded in groups of ranks" bench_mpi bench dcp_fsdp_load $keys storage=disk suffix="${dir#disk/}" \
	checkpoint.sharding_strategy=hybrid checkpoint.hybrid_group=1 out=groups
expect_eq "2" "$(($(result groups .load.fetched_bytes) / $(result one_of_two .load.fetched_bytes)))" \
	"each group of ranks loads all rows"
check "a model's rows are loaded by all ranks together" bench_mpi bench dcp_fsdp_load $keys storage=disk suffix="${dir#disk/}" out=full
bench_mpi bench dcp_fsdp_save $keys storage=disk checkpoint.sharding_strategy=hybrid \
	checkpoint.hybrid_group=3 out=odd 2>odd.err
expect_eq 1 "$(grep -c '2 ranks are not divided into groups of 3' odd.err)" "groups that do not fit are refused"

# Behind the last tensor of a file is the end of its archive, without which torch does not open it.
sized() {
	bench dcp_fsdp_load $keys storage=disk suffix="${dir#disk/}" "$@" out=sized >sized.out 2>sized.err
	rc=$?
	echo "$rc $(grep -c "load of ${dir#disk/}/__1_0.distcp: __1_0.distcp has [0-9]* bytes where $b were saved" sized.err)"
}
truncate -s -1 "$dir/__1_0.distcp"
expect_eq "1 1" "$(sized)" "a file that lacks a byte of which nothing is loaded is found"
expect_eq "0 0" "$(sized verify=off)" "verify=off asks for no size of files"
truncate -s +2 "$dir/__1_0.distcp"
expect_eq "1 1" "$(sized)" "a file of a directory that has grown is found"
truncate -s "$b" "$dir/__1_0.distcp"
bench simulated path=disk world_size=3 model.layers=6 model.ffn=4 epochs=1 phase=save out=played >played.out 2>&1
played=$(result played .setup.suffix)
printf x >>"disk/$played/__2_0.distcp"
bench simulated path=disk world_size=3 model.layers=6 model.ffn=4 epochs=1 phase=load suffix="$played" out=played >played.out 2>played.err
expect_eq "1 1" "$? $(grep -c 'load of .*/__2_0.distcp: __2_0.distcp has [0-9]* bytes where [0-9]* were saved' played.err)" \
	"a file of a rank that was played, and has grown, is found"
diag "$(cat played.err)"

flip "$dir/__1_0.distcp" 2000000
bench dcp_fsdp_load $keys storage=disk suffix="${dir#disk/}" out=bad 2>bad.err
check "a wrong byte is named with file, tensor and offset" \
	grep -qE "__1_0.distcp: wrong byte [0-9]+ of tensor [a-z]+\.[0-9]+\.[a-z.]+ " bad.err
diag "$(cat bad.err)"
check_fails "another model's keys are refused" bench dcp_fsdp_load $keys storage=disk model.layers=3 \
	suffix="${dir#disk/}" out=bad
printf '\200\2cos\nsystem\n(U\1atR.' >"$dir/.metadata"
bench dcp_fsdp_load $keys storage=disk suffix="${dir#disk/}" out=bad 2>bad.err
expect_eq "1 1" "$? $(grep -c 'metadata cannot be loaded: it asks for os.system' bad.err)" "nothing in .metadata is run"
