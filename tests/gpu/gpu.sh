#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu.sh: what only a GPU shows: the kernels, copies through pinned memory beside the writes, NCCL, steps
# that multiply matrices. `make check-gpu` runs it; it prints its figures. CKPTFS_GPU_SIZE is the size
# of the timed shards (4G), CKPTFS_GPU_DIR a fast directory for them (/dev/shm).
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_CUDA || skip_all "not built with CUDA: configure --with-cuda=DIR"
cd "$tmp" || exit 1
mkdir probe
# Where there is a GPU, one that does not work is a failure and no reason to leave the tests out.
gpus=$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)
[ "$gpus" -gt 0 ] || skip_all "there is no GPU: /dev has no nvidia0"
bench shards size=1M storage=disk path=probe device=cuda out=probe.out >probe.log 2>&1 || {
	plan 1
	diag "$(cat probe.log)"
	not_ok "device=cuda works on a machine with $gpus GPUs"
	exit 1
}

: "${CKPTFS_GPU_SIZE:=4G}" "${CKPTFS_GPU_DIR:=/dev/shm}"
disk=$(mktemp -d "$CKPTFS_GPU_DIR/ckptfs-gpu.XXXXXX") || skip_all "$CKPTFS_GPU_DIR cannot be written"
at_exit "rm -rf '$disk'"
plan 14
store_start storesim
diag "$(jq -r '.job_results[0].device' probe.out/*/*/run_results.json)"

small="size=64M storage=disk path=$disk"
for format in raw safetensors torch; do
	bench shards $small seed=3 phase=save format=$format device=host suffix=h-$format out=o >out 2>&1
	bench shards $small seed=3 phase=save format=$format device=cuda suffix=c-$format out=o >out 2>&1
	check "kernels make the host's bytes, and copies bring them: $format" \
		cmp "$disk/h-$format/$(ls "$disk/h-$format")" "$disk/c-$format/$(ls "$disk/c-$format")"
	check "kernels verify the host's bytes after a load: $format" bench shards $small seed=3 phase=load format=$format \
		device=cuda suffix=h-$format out=o
done
printf 'x' | dd of="$(echo "$disk"/h-raw/*)" bs=1 seek=5000001 conv=notrunc 2>/dev/null
bench shards $small seed=3 phase=load device=cuda suffix=h-raw out=o >out 2>&1
check "a wrong byte is found on the device and named" \
	grep -q 'wrong byte [0-9]* of tensor .*weight.* (byte 5000001 of' out
rm -rf "$disk"/*

# Seconds of a save: the median over epochs, each the maximum over ranks.
save_s() {
	bench shards size="$CKPTFS_GPU_SIZE" storage=disk path="$disk" epochs=5 phase=both verify=off out="$1" \
		"device=$2" "device.staging=$3" >"$1.log" 2>&1 || { sed 's/^/# /' "$1.log"; return 1; }
	jq -r '.job_results[0].metrics.save.seconds' "$1"/*/*/run_results.json
}
bench async size="$CKPTFS_GPU_SIZE" storage=null device=cuda steps=6 step_time=50ms async.staging=cached \
	verify=off out=d2h >d2h.log 2>&1
d2h=$(jq -r '.job_results[0].metrics.staged_s[1:] | min' d2h/*/*/run_results.json)
storage=$(save_s storage host pinned)
pinned=$(save_s pinned cuda pinned)
pageable=$(save_s pageable cuda pageable)
diag "$CKPTFS_GPU_SIZE: copy from the device $d2h s, storage alone $storage s, save $pinned s, through pageable memory $pageable s"
check "a save takes at most 1.1 times the longer of copy and storage" \
	awk -v d="$d2h" -v s="$storage" -v p="$pinned" \
	'BEGIN { exit !(d > 0 && s > 0 && p > 0 && p <= 1.1 * (d > s ? d : s)) }'

bench async size=256M storage=disk path="$disk" device=cuda steps=8 step_time=50ms \
	async.staging=pageable,pinned,cached out=async >async.log 2>&1
expect_eq 0 $? "steps that multiply matrices, with saves beside them"
diag "$(cat async.log)"
check "the work was the GPU's" jq -e 'all(.job_results[]; .setup.work == "cuda")' async/*/*/run_results.json
check "a process writes what the GPU's copies brought" bench async size=256M storage=disk path="$disk" \
	device=cuda steps=4 step_time=50ms async.writer=process async.staging=cached out=process
check "parts and ranges of a store" bench shards size=256M storage=s3 device=cuda epochs=2 \
	s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://$CKPTFS_TEST_BUCKET/p out=parts
if bench_has HAVE_NCCL; then
	check "NCCL carries the collectives of one rank" bench restore $small device=cuda mode=shared \
		backend=nccl out=nccl
	if bench_mpi true; then
		bench_mpi bench restore $small device=cuda mode=shared backend=nccl out=two >two.log 2>&1
		rc=$?
		if [ "$rc" -eq 0 ]; then ok "two ranks, a GPU each"; else
			check "two ranks on one GPU are refused" grep -q "share GPU .*one rank a GPU" two.log
		fi
	else
		skip "two ranks on one GPU are refused" "$bench_no_mpi"
	fi
else
	skip "NCCL carries the collectives of one rank" "not built with NCCL: configure --with-nccl=DIR"
	skip "two ranks on one GPU are refused" "not built with NCCL"
fi
