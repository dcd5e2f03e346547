#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wrong_byte.sh: one bit that a store flips on the way fails the load of a checkpoint, straight and through
# a mount, whoever finds it: the checksum of the object, the mount, or the pattern of the data.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 23
cd "$tmp" || exit 1
mkdir mnt
echo '[]' >faults
store_start storesim --faults "$tmp/faults"
uri=s3://$CKPTFS_TEST_BUCKET/dir
model="model=gpt-mini optimizer=on"
direct="storage=s3 s3.uri=$uri s3.endpoint=$CKPTFS_TEST_ENDPOINT"

# wrong KEY OFFSET: from now on replies with objects of that name have one bit flipped there
wrong() {
	store_rules faults "[{\"op\": \"GetObject\", \"key\": \"$1\", \"do\": \"corrupt\", \"after_bytes\": $2}]"
}
right() { store_rules faults '[]'; }
# load SCENARIO arguments...: the exit status, with what was said in err
load() {
	timeout 600 "$builddir/ckptbench" "$@" out=out >load.out 2>err
	rc=$?
	sed 's/^/# /' err
	return $rc
}
# fails NAME PATTERN command...: exit status 1, and a line that matches
fails() {
	name=$1 pattern=$2; shift 2
	"$@"
	expect_eq "1 1" "$? $(grep -c -- "$pattern" err | sed 's/^[1-9][0-9]*$/1/')" "$name"
}
save() { jq -r '.job_results[0].setup.suffix' "$(ls -d "$1"/*/*/run_results.json)"; }

bench dcp_ddp_save $model thread_count=2 $direct out=saved >saved.out 2>&1
expect_eq 0 $? "a directory of torch.distributed.checkpoint is saved"
suffix=$(save saved)
named="load of $suffix/__0_1.distcp: wrong byte [0-9]* of tensor [^ ]* (byte 5 of the rank's shard)"
wrong "*__0_1.distcp" 5
fails "a wrong byte of s3 is named" "$named" \
	load dcp_ddp_load $model $direct suffix="$suffix"
fails "a wrong byte is named when it is checked on the way" "$named" load dcp_ddp_load $model $direct suffix="$suffix" hold=off
if bench_mpi true; then
	bench_mpi bench dcp_fsdp_save $model $direct out=rows >rows.out 2>&1
	rows=$(save rows)
	wrong "*__1_0.distcp" 5
	bench_mpi bench dcp_fsdp_load $model $direct suffix="$rows" out=out >load.out 2>err
	expect_eq "1 1 0" "$(($? != 0)) $(grep -c "rank 1: load of $rows/__1_0.distcp: wrong byte [0-9]* of tensor [^ ]* (byte 5 of" err) $(grep -c "rank 0: .*wrong byte" err)" \
		"the one of two ranks that met a wrong byte says so"
	diag "$(cat err)"
	wrong "*__1_0.distcp" 300000
	bench_mpi bench restore $model $direct mode=shared out=out >load.out 2>err
	expect_eq "1 1" "$(($? != 0)) $(grep -c 'rank 1: restore of .*/__1_0.distcp: wrong byte [0-9]* of tensor [^ ]* (byte 300000 of' err)" \
		"the object's checksum finds a wrong byte, and nothing is handed on"
	diag "$(cat err)"
else
	skip "the one of two ranks that met a wrong byte says so" "$bench_no_mpi"
	skip "the object's checksum finds a wrong byte, and nothing is handed on" "$bench_no_mpi"
fi
wrong "*.ckpt" 300000
fails "a wrong byte of a torch archive is named" "load of [^ ]*/[^ ]*.ckpt: wrong byte [0-9]* of tensor [^ ]* (byte 300000 of" load pytorch_checkpointing $model $direct
wrong "*model-rank*" 2000
fails "a wrong byte of a file of mlperf is named" "load of model-rank_00000.pt: wrong byte [0-9]* of tensor [^ ]* (byte 2000 of" \
	load mlperf model.hidden=64 model.layers=3 model.ffn=256 model.vocab=512 epochs=1 mlperf.interval=1ms $direct
wrong "*step*" 300000
fails "a wrong byte of an asynchronous save is named" "load of step-[^ ]*: tensor [^ ]* is not what the step has saved" load async size=4M steps=1 step_time=1ms $direct
store_rules faults '[{"op": "GetObject", "key": "*shard-*", "do": "status", "status": 404, "code": "NoSuchKey"}]'
fails "an object that is gone as soon as it is saved is no suffix that was wrong" "shard-000-00000-of-00001: No such file or directory$" \
	load shards size=4M warmup=0 $direct
# Of two jobs the first one fails: figures of it would be none.
some_fail() {
	store_rules faults '[{"op": "PutObject", "key": "*_00000.pt", "times": 1, "do": "status", "status": 403, "code": "AccessDenied"},
		{"op": "PutObject", "key": "*step*distcp", "times": 1, "do": "status", "status": 403, "code": "AccessDenied"}]'
	name=$1; shift
	load "$@" $direct seed=1,2
	expect_eq "1 1 1" "$? $(grep -c '^s3 seed=1 *failed: Permission denied' load.out) $(grep -c '^s3 seed=2  *[a-z ]*[0-9]' load.out)" "$name"
	diag "$(cat load.out)"
}
some_fail "the table of async says which job failed" async size=4M steps=1 step_time=1ms
some_fail "the table of mlperf says which job failed" mlperf model.hidden=64 model.layers=3 model.ffn=256 model.vocab=512 epochs=1 mlperf.interval=1ms
if bench_has HAVE_OPENBLAS; then
	some_fail "the table of train says which job failed" train model=gpt-mini model.layers=1 model.vocab=64 model.block=8 batch_size=1 \
		warmup_steps=0 steps=2 train.mode=fsdp format=dcp save=sync
	wrong "*.ckpt" 70000
	rm -rf out
	load train model=gpt-mini model.layers=1 model.vocab=64 model.block=8 batch_size=1 warmup_steps=0 steps=2 save=sync \
		format=torch,safetensors $direct
	expect_eq "1 1 1" "$? $(grep -c '^s3 format=torch *failed: ' load.out) $(grep -c '^s3 format=.*: a save of' load.out)" \
		"a save that does not pass verification has no line of what it cost"
	diag "$(cat load.out)"
	expect_eq "true,false false,true" "$(jq -r '.job_results | [[.[] | has("error")], [.[] | has("metrics")]] |
		map(map(tostring) | join(",")) | join(" ")' "$(ls -d out/train/*/run_results.json | tail -n 1)")" \
		"a save that does not pass verification has no figures"
	expect_eq "1/delay" "$(cd out/train/*/ && ls -d */delay)" "a save that does not pass verification has no text of figures"
	rm -rf out
	load train model=gpt-mini model.layers=1 model.vocab=64 model.block=8 batch_size=1 warmup_steps=0 steps=2 save=sync \
		profile=on $direct
	expect_eq "1 " "$? $(find out -type f)" "a training that fails alone leaves no results"
else
	skip "the table of train says which job failed" "built without OpenBLAS"
	skip "a save that does not pass verification has no line of what it cost" "built without OpenBLAS"
	skip "a save that does not pass verification has no figures" "built without OpenBLAS"
	skip "a save that does not pass verification has no text of figures" "built without OpenBLAS"
	skip "a training that fails alone leaves no results" "built without OpenBLAS"
fi
right
check "without the fault the same directory is loaded" load dcp_ddp_load $model $direct suffix="$suffix"

if ! [ -w /dev/fuse ]; then
	for t in 1 2 3 4 5 6; do skip "a wrong byte is found through a mount" "/dev/fuse cannot be opened"; done
	exit 0
fi
spawn "$builddir/ckptfs" -f "s3://$CKPTFS_TEST_BUCKET" "$tmp/mnt" -o "endpoint=$CKPTFS_TEST_ENDPOINT" 2>mount.log
at_exit 'timeout 20 umount "$tmp/mnt" 2>/dev/null || timeout 20 umount -l "$tmp/mnt" 2>/dev/null'
wait_for 20 mountpoint -q mnt
mount="storage=mount mount.path=$tmp/mnt/dir"
wrong "*__0_1.distcp" 300000
fails "a load through a mount fails, with the file and its errno" \
	"load of $suffix/__0_1.distcp: .*/__0_1.distcp: Input/output error" \
	load dcp_ddp_load $model $mount suffix="$suffix"
check "the mount's log says whose checksum differs" grep -q '__0_1.distcp: what was read does not have the checksum of the object' mount.log
diag "$(tail -n 3 mount.log)"
fails "a wrong byte is named when it is checked on the way" "load of $suffix/__0_1.distcp: " load dcp_ddp_load $model $mount suffix="$suffix" hold=off
fails "a load through a mount fails where the page cache is not dropped, too" "load of $suffix/__0_1.distcp: " \
	load dcp_ddp_load $model $mount suffix="$suffix" drop=none
fails "a wrong byte is named by small reads, of which the first ones pass" "Input/output error; wrong byte [0-9]* of tensor [^ ]* (byte" \
	load dcp_ddp_load $model $mount suffix="$suffix" block=4K
right
check "without the fault the mount kept nothing wrong" load dcp_ddp_load $model $mount suffix="$suffix"
