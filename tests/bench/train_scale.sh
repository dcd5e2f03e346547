#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_scale.sh: with dtype=fp16, steps whose gradients no half holds are skipped and told, and training goes on from a
# save with the loss scale that it had.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
plan 35
cd "$tmp" || exit 1
mkdir disk

# The gradient of the sum of the logits is 1, which times 65536 is no half.
small="model=gpt-mini model.layers=1 model.vocab=64 model.block=16 batch_size=2 warmup_steps=0 dtype=fp16 loss=sum lr=0.00001"
train() { bench train progress=0 $small storage=disk path=disk "$@" >run.out 2>&1 || diag "$(cat run.out)"; }
result() { jq -c ".job_results[0]$2" "$1"/*/*/run_results.json; }
# saved OUT FORMAT: what resume= wants of step 7
saved() {
	case $2 in
	torch) echo "$(result "$1" .setup.suffix | tr -d '"')/step-00000007.ckpt" ;;
	safetensors) echo "$(result "$1" .setup.suffix | tr -d '"')/step-00000007.safetensors" ;;
	dcp) echo "$(result "$1" .setup.suffix | tr -d '"')/step-00000007/" ;;
	esac
}
skips() { result "$1" ".metrics | .loss_scale == pow(2; 16 - .skipped_steps) and .skipped_steps >= $2 and .skipped_steps < 10" | grep -qx true; }

# FORMAT NAME KEY...: with the keys, a run of 10 steps, one that saves the seventh, and one that goes on from there.
goes_on() {
	kind=$1 run=$2
	shift 2
	train steps=10 out="$run" "$@"
	check "steps are skipped until the scale is small enough: $run" skips "$run" 1
	train steps=7 steps_per_save=7 save=sync keep=on format="$kind" out="$run.saved" "$@"
	train steps=3 resume="$(saved "$run.saved" "$kind")" out="$run.on" "$@"
	expect_eq "$(result "$run" .metrics.losses[7:])" "$(result "$run.on" .metrics.losses)" \
		"losses behind a save are to the bit those without the stop: $run"
	expect_eq "$(result "$run" .metrics.loss_scale)" "$(result "$run.on" .metrics.loss_scale)" "the loss scale behind a save is that without the stop: $run"
}
goes_on torch torch
goes_on safetensors adamw optimizer.name=adamw
goes_on dcp dcp optimizer.name=adamw
goes_on dcp fsdp train.mode=fsdp
goes_on torch pdp train.mode=pdp train.stages=2
goes_on torch devices train.devices=2
goes_on dcp fsdp.devices train.mode=fsdp train.devices=2 optimizer.name=adamw
expect_eq "$(result torch .metrics.loss_scale)" "$(result pdp .metrics.loss_scale)" "stages come to the same scale"

if bench_mpi true; then
	for mode in ddp fsdp; do
		bench_mpi bench train progress=0 $small batch_size=2 steps=10 train.mode=$mode out=two.$mode >run.out 2>&1 || diag "$(cat run.out)"
		check "two ranks skip the same steps: $mode" skips two.$mode 1
	done
else
	for mode in ddp fsdp; do skip "two ranks skip the same steps: $mode" "there is no MPI"; done
fi

n=$(result torch .metrics.skipped_steps)
train steps=10 out=table
check "the table has the steps that were skipped" grep -q \
	"^[^:]*: $n of 10 steps, with the warm-up, were skipped, in which a gradient was too large for a half; the loss scale is [0-9]*\$" run.out
check "the log of the job has each of them" sh -c '[ "$(grep -c "a gradient was too large for a half: no weight has changed" table/*/*/0/*.log)" -eq "$1" ]' sh "$n"
train steps=3 loss=cross_entropy lr=0.01 out=entropy
expect_eq "[0,65536]" "$(result entropy ".metrics | [.skipped_steps, .loss_scale]")" "the cross entropy skips none"
train steps=3 loss=cross_entropy lr=0.01 loss_scale=1024 out=fixed
expect_eq "[0,1024]" "$(result fixed ".metrics | [.skipped_steps, .loss_scale]")" "a scale that is given stays"
train steps=3 loss_scale=65536 out=high
expect_eq "[3,65536]" "$(result high ".metrics | [.skipped_steps, .loss_scale]")" "a scale that is given and too high skips each step"
train steps=3 dtype=fp32 resume="$(saved dcp.saved dcp)" optimizer.name=adamw out=fp32
expect_eq "null" "$(result fp32 .metrics.skipped_steps)" "fp32 goes on from a save of fp16, and scales nothing"
train steps=7 steps_per_save=7 save=sync keep=on dtype=fp32 out=fp32.saved
train steps=9 resume="$(saved fp32.saved torch)" out=fp16
check "fp16 goes on from a save of fp32, with the first scale" skips fp16 1
# refused LINE KEY...
refused() {
	line=$1
	shift
	expect_eq "ckptbench: $line" "$(bench train progress=0 $small "$@" 2>&1)" "what is no scale is refused in one line: $*"
}
refused "loss_scale=1000: give dynamic, or a power of two as 1024" loss_scale=1000
refused "loss_scale=-2: give dynamic, or a power of two as 1024" loss_scale=-2
refused "loss_scale=fast: give dynamic, or a power of two as 1024" loss_scale=fast
refused "loss_scale=1024: give dtype=fp16, which alone has one, or leave it out" loss_scale=1024 dtype=fp32
