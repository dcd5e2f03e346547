#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# carried.sh DIR: on a machine with a GPU, where the archive of carry.sh lies unpacked around this script: runs the
# tests, times GPTs beside torch and saves of the largest, in seven minutes at most, and writes what it saw to DIR.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) out=${1:?a directory for results}
export srcdir="$root" builddir="$root/build" PATH="$root/build:$PATH" SANITIZERS=no
began=$(date +%s)
mkdir -p "$out"
exec >>"$out/log" 2>&1
say() { echo "== $(($(date +%s) - began)) s: $*"; }

say machine
nvidia-smi -L
free -g | sed -n 2p
for lib in libcublas libcublasLt; do
	find / -name "$lib.so.1[23]" ! -path '/proc/*' ! -path "$root/*" 2>/dev/null | sort -r | head -n 1 |
		while read -r found; do ln -sf "$found" "$root/lib/${found##*/}"; done
done
ls -l "$root"/lib/libcublas*
ckptbench --version >/dev/null 2>&1 || ldconfig -p | sed -n 's/.*=> \(.*\)\/libcuda\.so\.1$/\1/p' | head -n 1 >"$root/own"
ckptbench --version | head -n 1

# tested SECONDS NAME COMMAND...
tested() {
	say "$2"
	limit=$1 name=$2
	shift 2
	timeout "$limit" "$@" >"$out/$name.tap" 2>&1
	echo "exit status $?"
	grep -v '^ok' "$out/$name.tap" | head -n 60
}
tested 60 math "$builddir/tests/gpu/math"
tested 90 train sh "$root/tests/gpu/train.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
say "steps"
for model in small medium large xl; do
	for dtype in fp32 fp16; do
		timeout 40 ckptbench train progress=0 model=gpt-$model dtype=$dtype steps=10 device=cuda out=steps >steps.log 2>&1 ||
			tail -n 5 steps.log
		jq -r --arg m "$model $dtype" '.job_results[0].metrics | "\($m) \(.delay_s.mean) s \(.tflops) TFLOP/s " +
			"\(.peak_device_bytes / 1e9) GB; forward \(.forward_s.median), backward \(.backward_s.median), " +
			"optimizer \(.update_s.median), zero_grad \(.zero_s.median)"' steps/*/*/run_results.json
		rm -rf steps
	done
done
say "the same in torch"
timeout 100 python3 "$root/tests/gpu/torch_speed.py" small,medium,large,xl fp32,fp16,half

saves="ckptbench train progress=0 model=gpt-xl device=cuda steps=3 warmup_steps=1 save=sync format=dcp out=saves"
say "saves to nothing"
timeout 60 $saves storage=null | tail -n 4
say "saves to memory"
mkdir /dev/shm/carried && timeout 60 $saves storage=disk path=/dev/shm/carried | tail -n 4
rm -rf /dev/shm/carried
if [ -c /dev/fuse ]; then
	say "saves to a mount"
	cat >mounted.sh <<'END'
. "$srcdir/tests/lib/mount.sh"
start_store
mount_ckptfs
timeout 100 $saves storage=mount mount.path="$mnt" | tail -n 4
umount_ckptfs
END
	saves=$saves TMPDIR=/dev/shm timeout 120 sh mounted.sh
fi
CKPTFS_GPU_SIZE=2G tested 100 gpu sh "$root/tests/gpu/gpu.sh"
say end
