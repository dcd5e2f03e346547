#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# device.sh: shards in memory that is not the host's: the way of the bytes, with host memory behind the
# interface of a GPU's, and one line for what this build or machine has not got.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 23
cd "$tmp" || exit 1
mkdir disk
store_start storesim
small="size=12M storage=disk path=disk"

# A line of standard error, the only one, when device=cuda cannot be had.
refused_cuda() {
	bench shards $small device=cuda out=none >out 2>err
	[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$1" err && [ -z "$(ls disk)" ]
}
if bench_has HAVE_CUDA; then
	if bench shards $small device=cuda out=cuda >out 2>err; then
		skip "a build with CUDA says that there is no GPU" "there is one: make check-gpu"
	else
		check "a build with CUDA says that there is no GPU" refused_cuda "device=cuda: .*driver.*give device=host"
	fi
else
	check "a build without CUDA says so" refused_cuda "device=cuda: not built with CUDA: configure --with-cuda=DIR"
fi
diag "$(cat err)"
bench restore $small device=emulated mode=shared backend=nccl out=none 2>err
expect_eq "1 1" "$? $(wc -l <err)" "NCCL without GPUs is refused in one line"
check "the refusal of NCCL says what is missing" grep -q "backend=nccl.*give .*backend=gloo" err
bench shards $small device=emulated hold=off out=none 2>err
expect_eq "1 1" "$? $(wc -l <err)" "a device holds shards: hold=off is refused in one line"
bench list device=emulated out=none 2>err
expect_eq "1 1" "$? $(wc -l <err)" "a scenario of the host's memory refuses a device in one line"

save() { bench shards $small seed=3 phase=save "$@" >saved 2>&1 && ls -t disk | head -n 1; }
for format in raw safetensors torch; do
	host=$(save device=host suffix=host-$format format=$format out=host)
	device=$(save device=emulated suffix=device-$format format=$format out=device)
	check "the bytes of a device are the host's: $format" \
		cmp "disk/host-$format/$(ls disk/host-$format)" "disk/device-$format/$(ls disk/device-$format)"
done
check "the results say which device it was" \
	jq -e '.job_results[0].device == "emulated in host memory"' device/*/*/run_results.json

load() {
	bench shards $small seed=3 phase=load suffix=host-"$1" format="$1" device=emulated out=load >out 2>&1
}
check "a load goes back to the device" load raw
printf 'x' | dd of="$(echo disk/host-torch/*)" bs=1 seek=5000001 conv=notrunc 2>/dev/null
load torch
check "a wrong byte on a device is found and named" \
	grep -q 'wrong byte [0-9]* of tensor .*weight.* (byte 5000001 of' out
diag "$(cat out)"
rm -rf disk/*

check "a device works with blocks that are no divisors, O_DIRECT, and pageable memory between" bench shards size=5M \
	storage=disk path=disk device=emulated block=12K direct=on device.staging=pageable,pinned out=blocks
check "a device works with parts and ranges of a store" bench shards size=24M storage=s3 s3.part_size=5M s3.read_size=1M \
	s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://$CKPTFS_TEST_BUCKET/p device=emulated epochs=2 out=parts
check "a device works with bytes of payload=null" bench shards size=2M storage=disk path=disk device=emulated payload=null out=null
check "a device works with a file of torch.save" bench pytorch_checkpointing model=gpt-mini epochs=1 storage=disk path=disk \
	device=emulated out=torch
cat >nvml.c <<'END'
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { static int one; *d = &one; return i != 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *p, void **d) { *d = 0; return strcmp(p, "none") != 0; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned v[2]) { v[0] = 37; v[1] = 11; return d == 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long v[3]) { v[0] = 80; v[1] = 60; v[2] = 20; return d == 0; }
END
if cc -shared -fPIC -o libnvidia-ml.so.1 nvml.c 2>cc.err; then
	check "use and memory of a GPU are sampled" env LD_LIBRARY_PATH="$tmp" "$builddir/ckptbench" \
		pytorch_checkpointing model=gpt-mini epochs=2 storage=disk path=disk device=emulated out=nvml
	check "use and memory of a GPU are told in percent" jq -e '.job_results[0].metrics.utilization |
		.gpu_util.mean == 37 and .gpu_util.n > 0 and .gpu_mem.max == 25' nvml/*/*/run_results.json
else
	skip "use and memory of a GPU are sampled" "cc does not make a library"
	skip "use and memory of a GPU are told in percent" "cc does not make a library"
fi
check "a device makes steps while its shard is saved" bench async $small device=emulated steps=3 \
	step_time=5ms async.staging=pageable,pinned,cached out=async
check "the steps on a device do the work that was asked for" \
	jq -e 'all(.job_results[]; .setup.work == "emulated")' async/*/*/run_results.json
if bench_mpi true; then
	check "two ranks save files of DCP" bench_mpi bench dcp_fsdp_save model=gpt-mini storage=disk \
		path=disk device=emulated thread_count=2 out=dcp
	check "one rank loads ranges of two ranks' files in small blocks" bench dcp_fsdp_load model=gpt-mini storage=disk path=disk \
		suffix="$(jq -r '.job_results[0].setup.suffix' dcp/*/*/run_results.json)" device=emulated block=12K out=dcp1
	check "two ranks hand on what each fetched once" bench_mpi bench restore $small device=emulated \
		mode=shared out=shared
	bench_mpi bench restore $small device=emulated mode=shared backend=nccl out=none >out 2>&1
	check "all ranks refuse NCCL in one line" sh -c 'test "$(grep -c "^ckptbench: " out)" -eq 1'
	diag "$(cat out)"
else
	skip "two ranks save files of DCP" "$bench_no_mpi"
	skip "one rank loads ranges of two ranks' files in small blocks" "$bench_no_mpi"
	skip "two ranks hand on what each fetched once" "$bench_no_mpi"
	skip "all ranks refuse NCCL in one line" "$bench_no_mpi"
fi
