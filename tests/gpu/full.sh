#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# full.sh: everything that is worth 40 minutes of a GPU: gpu.sh, math and train.sh, and then races and wild addresses under
# compute-sanitizer, a tensor beyond 4 GiB, blocks of all sizes, NCCL, and GPUs that are missing,
# taken or shared. `make check-gpu` runs it. CKPTFS_GPU_SIZE is the size of the timed shards (4G),
# CKPTFS_GPU_TENSOR that of the large tensor in MiB (6144), CKPTFS_GPU_DIR a fast directory for both
# (/dev/shm). CKPTFS_GPU_DEVICE=emulated tries the script itself where no GPU is.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
: "${CKPTFS_GPU_DEVICE:=cuda}" "${CKPTFS_GPU_SIZE:=4G}" "${CKPTFS_GPU_DIR:=/dev/shm}" "${CKPTFS_GPU_TENSOR:=6144}"
device=$CKPTFS_GPU_DEVICE
if [ "$device" = cuda ]; then
	bench_has HAVE_CUDA || skip_all "not built with CUDA: configure --with-cuda=DIR"
	[ -e /dev/nvidia0 ] || skip_all "there is no GPU: /dev has no nvidia0"
fi
plan 23
cd "$tmp" || exit 1
disk=$(mktemp -d "$CKPTFS_GPU_DIR/ckptfs-gpu.XXXXXX") || { not_ok "$CKPTFS_GPU_DIR can be written"; exit 1; }
at_exit "rm -rf '$disk'"
small="size=16M storage=disk path=$disk device=$device"
not_cuda() { [ "$device" = cuda ] && return 1; skip "$1" "device=$device is no GPU"; }

for own in "sh $srcdir/tests/gpu/gpu.sh" "$builddir/tests/gpu/math" "sh $srcdir/tests/gpu/train.sh"; do
	if not_cuda "the tests of ${own##*/} pass"; then continue; fi
	$own >own.log 2>&1
	rc=$?
	sed 's/^/# /' own.log
	check "the tests of ${own##*/} pass" sh -c '[ "$1" -eq 0 ] && ! grep -Eq "^not ok|^1\.\.0" own.log' sh "$rc"
done

# --- the sanitizer of kernels and copies ---------------------------------------------------------
sanitizer=$(command -v compute-sanitizer || true)
for tool in memcheck initcheck racecheck; do
	for job in "shards $small epochs=2" "async $small steps=3 steps_per_save=1 step_time=20ms async.staging=pinned"; do
		name="$tool finds nothing in ${job%% *}"
		if not_cuda "$name"; then continue; fi
		[ -n "$sanitizer" ] || { skip "$name" "compute-sanitizer is not on PATH"; continue; }
		check "$name" "$sanitizer" --tool "$tool" --error-exitcode 9 "$builddir/ckptbench" $job out=sanitized
	done
done

# --- beyond what 32 bits count --------------------------------------------------------------------
# One tensor of CKPTFS_GPU_TENSOR MiB: a table of words, 4,096 times two bytes each.
words=$((CKPTFS_GPU_TENSOR * 128))
large() {
	bench shards model=gpt-mini model.vocab=$words model.hidden=4096 model.layers=1 optimizer=off epochs=1 \
		storage=disk path="$disk" device="$device" keep=on out=large seed=5 "$@"
}
large phase=save >saved 2>&1
suffix=$(ls "$disk" | head -n 1)
file=$(find "$disk/$suffix" -type f | head -n 1)
check "a tensor of $CKPTFS_GPU_TENSOR MiB is saved and comes back" large phase=load suffix="$suffix"
at=$((CKPTFS_GPU_TENSOR * 1048576 / 10 * 9 + 1))
byte=$(od -An -tu1 -j $at -N1 "$file" | tr -d ' ')
printf "\\$(printf %o $((byte ^ 255)))" | dd of="$file" bs=1 seek=$at conv=notrunc 2>/dev/null
large phase=load suffix="$suffix" >flipped 2>&1
check "a flipped byte at $at is named" grep -q "(byte $at of" flipped
printf "\\$(printf %o "$byte")" | dd of="$file" bs=1 seek=$at conv=notrunc 2>/dev/null
first=$((CKPTFS_GPU_TENSOR / 8)) second=$((CKPTFS_GPU_TENSOR * 7 / 8))
dd if="$file" of=one bs=1M skip=$first count=1 2>/dev/null
dd if="$file" of=two bs=1M skip=$second count=1 2>/dev/null
dd if=one of="$file" bs=1M seek=$second conv=notrunc 2>/dev/null
dd if=two of="$file" bs=1M seek=$first conv=notrunc 2>/dev/null
large phase=load suffix="$suffix" >swapped 2>&1
diag "$(cat swapped)"
check "two blocks that changed places are named by the first" awk -v from=$((first * 1048576)) '
	match($0, /\(byte [0-9]+ of/) { b = substr($0, RSTART + 6, RLENGTH - 9); found = b >= from && b < from + 64 }
	END { exit !found }' swapped
rm -rf "$disk"/* one two

# --- blocks -----------------------------------------------------------------------------------------
bench shards size="$CKPTFS_GPU_SIZE" storage=disk path="$disk" device="$device" epochs=3 verify=off \
	block=256K,1M,4M,16M device.staging=pinned,pageable out=blocks >blocks.log 2>&1
expect_eq 0 $? "blocks of 256 KiB to 16 MiB, pinned and pageable"
diag "$(jq -r '.job_results[] | "\(.config.block) \(.config["device.staging"]): save \(.metrics.save.gb_per_s) load \(.metrics.load.gb_per_s) GB/s"' \
	blocks/*/*/run_results.json)"
expect_eq 8 "$(jq '[.job_results[] | select(.metrics.save.gb_per_s > 0 and .metrics.load.gb_per_s > 0)] | length' \
	blocks/*/*/run_results.json)" "each of them has a figure"

bench shards size="$CKPTFS_GPU_SIZE" storage=disk path="$disk" device="$device" epochs=3 disk.gds=off,auto \
	out=gds >gds.log 2>&1
expect_eq 0 $? "files by GPUDirect Storage, as far as this machine has it"
diag "$(cat gds.log; jq -c '.job_results[].gds' gds/shards/*/run_results.json)"

# --- GPUs that are missing, taken, shared ---------------------------------------------------------
if not_cuda "without a visible GPU device=cuda is refused in one line"; then
	skip "device=auto takes the host without a visible GPU" "device=$device is no GPU"
	skip "a GPU whose memory is taken is refused, and says so" "device=$device is no GPU"
	skip "device=auto then takes the host" "device=$device is no GPU"
else
	CUDA_VISIBLE_DEVICES='' bench shards $small out=hidden >hidden 2>&1
	expect_eq "1 1" "$? $(wc -l <hidden)" "without a visible GPU device=cuda is refused in one line"
	check "device=auto takes the host without a visible GPU" env CUDA_VISIBLE_DEVICES='' "$builddir/ckptbench" shards size=16M \
		storage=disk path="$disk" device=auto out=hidden
	free=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | head -n 1)
	spawn "$builddir/ckptbench" async size=$((free - 1024))M storage=null device=cuda steps=2 steps_per_save=1 \
		step_time=120000ms async.staging=pageable out=taker
	taken() { [ "$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | head -n 1)" -lt 4096 ]; }
	wait_for 120 taken || diag "the memory was not taken: $(cat "$tmp"/*.log | tail -n 3)"
	bench shards size=8G storage=null device=cuda hold=on out=taken >taken 2>&1
	check "a GPU whose memory is taken is refused, and says so" sh -c '[ "$1" -ne 0 ] && grep -qi "memory" taken' sh $?
	bench shards size=8G storage=null device=auto hold=on out=taken >taken 2>&1
	expect_eq 0 $? "device=auto then takes the host"
	kill "$spawned"
fi
if bench_mpi true; then
	check "two ranks on one GPU save and load" bench_mpi bench shards $small epochs=2 out=shared
	if not_cuda "two ranks restore by NCCL, or are refused one GPU"; then :; else
		bench_mpi bench restore $small mode=shared backend=nccl out=nccl >nccl.log 2>&1
		rc=$?
		diag "$(tail -n 3 nccl.log)"
		check "two ranks restore by NCCL, or are refused one GPU" \
			sh -c '[ "$1" -eq 0 ] || grep -q "share GPU .*one rank a GPU" nccl.log' sh "$rc"
	fi
else
	skip "two ranks on one GPU save and load" "$bench_no_mpi"
	skip "two ranks restore by NCCL, or are refused one GPU" "$bench_no_mpi"
fi

# --- a signal in a save -------------------------------------------------------------------------------
rm -rf "$disk"/*
"$builddir/ckptbench" shards size="$CKPTFS_GPU_SIZE" storage=disk path="$disk" device="$device" block=1M warmup=0 \
	epochs=1000 out=stopped >stopped.log 2>&1 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
begun() { [ -n "$(find "$disk" -type f -name 'shard-*')" ]; }
wait_for 120 begun
kill -TERM "$pid"
wait "$pid"
expect_eq "130 " "$? $(ls "$disk")" "a signal in a save ends it, and no file is left"
check "the log has no word of CUDA's about memory that was freed" sh -c '! grep -i "cuda" stopped.log'
