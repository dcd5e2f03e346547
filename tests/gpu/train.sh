#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train.sh: models learn on a GPU as they do on the host, are saved from there and go on from what was
# saved. `make check-gpu` runs it.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_CUDA || skip_all "not built with CUDA: configure --with-cuda=DIR"
[ -e /dev/nvidia0 ] || skip_all "there is no GPU: /dev has no nvidia0"
cd "$tmp" || exit 1
small="model=gpt-mini model.layers=2 model.vocab=256 model.block=32"
train() { bench train progress=0 "$@"; }
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
# close A B SHARE: lists of as many losses, which differ by at most that share
close() { jq -en --argjson a "$1" --argjson b "$2" --argjson s "$3" '($a | length) == ($b | length) and ($a | length) > 0
	and all(range($a | length); ($a[.] - $b[.] | fabs) <= $s * $a[.])'; }
train $small device=cuda steps=1 warmup_steps=0 out=probe >probe.log 2>&1 || {
	plan 1
	diag "$(cat probe.log)"
	not_ok "a step on the GPU works"
	exit 1
}
plan 24
diag "$(jq -r '.job_results[0] | "\(.device), \(.setup.products)"' probe/*/*/run_results.json)"

for way in "" "--mode=fsdp" "--mode=pdp --ndevice_per_proc=2" "--ndevice_per_proc=2" "--mode=fsdp --ndevice_per_proc=2" \
	"activation=checkpoint" "activation=offload model.layers=4" "optimizer.name=adamw"; do
	rm -rf on off
	train $small $way steps=4 device=host out=off >off.log 2>&1
	train $small $way steps=4 device=cuda out=on >on.log 2>&1 || diag "$(cat on.log)"
	diag "$(losses on)"
	check "losses are the host's: ${way:-ddp}" close "$(losses off)" "$(losses on)" 1e-4
done
check "memory of the device is in the results" jq -e '.job_results[0] | .metrics.peak_device_bytes > 1e6 and
	(.setup.products | startswith("cuBLAS")) and (.device != "host")' on/*/*/run_results.json
rm -rf again
train $small optimizer.name=adamw steps=4 device=cuda out=again >again.log 2>&1
expect_eq "$(losses on)" "$(losses again)" "steps on the GPU with the same seed have the same losses, to the bit"

# What goes on has the losses of what never stopped. SAVE FORMAT MODE
goes_on() {
	rm -rf whole first second disk
	mkdir disk
	train $small optimizer.name=adamw train.mode="$3" steps=6 warmup_steps=0 device=cuda out=whole >whole.log 2>&1
	train $small optimizer.name=adamw train.mode="$3" steps=3 steps_per_save=3 warmup_steps=0 device=cuda save="$1" \
		format="$2" storage=disk path=disk keep=on out=first >first.log 2>&1 || { diag "$(cat first.log)"; return 1; }
	saved=$(cd disk && find . -name .metadata | sed 's|^\./||;s|/.metadata$||')
	[ -n "$saved" ] || saved=$(cd disk && find . -type f | sed 's|^\./||')
	train $small optimizer.name=adamw train.mode="$3" steps=3 warmup_steps=0 device="${4:-cuda}" storage=disk path=disk \
		resume="$saved" out=second >second.log 2>&1 || { diag "$(cat second.log)"; return 1; }
	diag "$(losses whole) $(losses second)"
	close "$(losses whole | jq -c '.[3:]')" "$(losses second)" "${5:-0}"
}
for save in sync async; do
	for format in torch safetensors dcp; do
		check "a save goes on with the same losses: $save, $format" goes_on $save $format ddp
	done
done
check "a save of fsdp goes on with the same losses" goes_on async dcp fsdp
check "a save of the GPU goes on on the host" goes_on sync safetensors ddp host 1e-4

head -c 3000 "$srcdir/LICENSE" >text
for dtype in fp32 fp16; do
	check "a text is fitted in $dtype" sh -c '"$@" && jq -e ".job_results[0].metrics.losses | .[-1] < .[0] / 2" fit.'$dtype'/*/*/run_results.json' \
		sh "$builddir/ckptbench" train $small progress=0 data=text batch_size=8 optimizer.name=adamw lr=0.002 steps=200 \
		warmup_steps=0 device=cuda dtype=$dtype out=fit.$dtype
done
check "losses of fp16 are near those of fp32" close "$(losses fit.fp32 | jq -c '.[:5]')" "$(losses fit.fp16 | jq -c '.[:5]')" 0.01
check "the file of fp16 has its name" sh -c 'ls fit.fp16/*/*/0/delay/ddp_gpt-mini_*_fp16.txt'

bench datagen --resolution 300x240 --image-format PPM -n 16 path=images out=made >made.log 2>&1 || diag "$(cat made.log)"
for device in host cuda; do
	bench dataset dataset=16_300x240_images path=images model=vit model.layers=1 num_labels=10 epochs=2 \
		dataloader.batch_size=8 dataloader.num_workers=1 drop=none device=$device out=vit.$device >vit.log 2>&1 ||
		diag "$(cat vit.log)"
done
check "a vision transformer learns on the GPU as on the host" sh -c 'jq -es "
	[.[].job_results[0].metrics.epoch_losses] | .[0][0] > 0 and 
	(.[0][0] - .[1][0] | fabs) < 1e-3 * .[0][0]" vit.host/*/*/run_results.json vit.cuda/*/*/run_results.json'

bench async $small device=cuda storage=disk path=disk steps=3 out=async >async.log 2>&1
rc=$?
[ $rc -eq 0 ] || diag "$(cat async.log)"
expect_eq 0 $rc "async saves what the GPU trains"
