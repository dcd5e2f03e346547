#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_devices.sh: a rank with several devices learns what as many ranks learn, and goes on from their saves.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
plan 19
cd "$tmp" || exit 1
mkdir disk

small="model=gpt-mini model.layers=3 model.hidden=64 model.vocab=250 model.block=16 warmup_steps=0 steps=4 optimizer.name=adamw
	storage=disk path=disk format=dcp"
# train RANKS KEY...
train() {
	bench_ranks=$1
	shift
	run=bench_mpi
	[ "$bench_ranks" -gt 1 ] || run=
	# shellcheck disable=SC2086
	$run bench train progress=0 $small "$@" >run.out 2>&1 || { diag "$(cat run.out)"; return 1; }
}
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
saved() { echo "$(jq -r '.job_results[0].setup.suffix' "$1"/*/*/run_results.json)/step-0000000$2"; }
near() { jq -en --argjson a "$1" --argjson b "$2" '($a | length) == ($b | length) and ($a | length) > 0 and
	all(range($a | length); ($a[.] - $b[.] | fabs) < 1e-5 * $a[.])'; }

train 1 batch_size=12 out=one
check "a rank trains on two devices, in the suite's words" train 1 --mode=ddp --ndevice_per_proc=2 --batch_size=12 steps_per_save=2 \
	save=async keep=on out=two
check "two devices learn what one learns of all samples, with dropout" near "$(losses one)" "$(losses two)"
check "the results say how many devices it had, and what each computed" jq -e '.job_results[0] | .setup.devices_a_rank == 2 and
	.setup.mode == "ddp" and (.metrics.tflops_device * 2 / .metrics.tflops - 1 | fabs) < 1e-9' two/*/*/run_results.json
train 1 train.devices=2 batch_size=12 steps=2 resume="$(saved two 2)" out=on
expect_eq "$(losses two | jq -c '.[2:]')" "$(losses on)" "two devices go on from a save with the same losses, to the bit"
train 1 train.mode=pdp train.stages=3 train.chunks=2 batch_size=12 out=pipe
train 1 train.mode=pdp train.stages=3 train.chunks=2 train.devices=2 batch_size=12 out=dealt
expect_eq "$(losses pipe) 2" "$(losses dealt) $(jq '.job_results[0].setup.devices_a_rank' dealt/*/*/run_results.json)" \
	"three stages on two devices have the losses of three stages on one, to the bit"
check "two devices have rows of each tensor, and save them" train 1 --mode=fsdp --ndevice_per_proc=2 --prefetch prehook batch_size=12 \
	steps_per_save=2 save=async keep=on out=rows
check "two devices with their rows learn what one learns of all samples" near "$(losses one)" "$(losses rows)"
train 1 train.devices=2 train.mode=fsdp batch_size=12 steps=2 resume="$(saved rows 2)" out=rows.on
expect_eq "$(losses rows | jq -c '.[2:]')" "$(losses rows.on)" "two devices go on from their rows with the same losses, to the bit"
train 1 train.devices=3 train.mode=fsdp batch_size=12 steps=2 resume="$(saved rows 2)" verify=on out=rows.three
check "three devices go on from the rows of two" near "$(losses rows | jq -c '.[2:]')" "$(losses rows.three)"
train 1 batch_size=12 steps=2 resume="$(saved rows 2)" out=rows.one
check "one device goes on from the rows of two" near "$(losses rows | jq -c '.[2:]')" "$(losses rows.one)"
if bench_mpi true; then
	train 2 train.mode=fsdp batch_size=6 out=rows.ranks
	expect_eq "$(losses rows.ranks)" "$(losses rows)" "two devices of a rank have the losses of two ranks with their rows, to the bit"
	train 2 train.devices=2 train.mode=fsdp batch_size=6 steps_per_save=2 save=sync keep=on out=rows.four
	check "two ranks of two devices with their rows learn what one device learns" near "$(losses one)" "$(losses rows.four)"
	train 1 train.devices=3 train.mode=fsdp batch_size=12 steps=2 resume="$(saved rows.four 2)" out=rows.fewer
	check "three devices go on from the rows of two ranks of two devices" near "$(losses one | jq -c '.[2:]')" "$(losses rows.fewer)"
	train 2 batch_size=6 out=ranks
	expect_eq "$(losses ranks)" "$(losses two)" "two devices of a rank have the losses of two ranks, to the bit"
	check "two ranks of two devices save" train 2 train.devices=2 batch_size=6 steps_per_save=2 save=sync keep=on out=four
	check "two ranks of two devices learn what one device learns of all samples" near "$(losses one)" "$(losses four)"
	train 1 batch_size=12 steps=2 resume="$(saved four 2)" out=shares
	check "one device goes on from their save" near "$(losses one | jq -c '.[2:]')" "$(losses shares)"
else
	for text in "two devices of a rank have the losses of two ranks with their rows" \
		"two ranks of two devices with their rows learn what one device learns" \
		"three devices go on from the rows of two ranks of two devices" "two devices of a rank have the losses of two ranks" "two ranks of two devices save" \
		"two ranks of two devices learn what one device learns of all samples" "one device goes on from their save"; do
		skip "$text" "$bench_no_mpi"
	done
fi

# refused LINE KEY...
refused() {
	line=$1
	shift
	# shellcheck disable=SC2086
	expect_eq "ckptbench: $line" "$(bench train progress=0 $small "$@" 2>&1)" "what devices cannot share is refused in one line: $*"
}
refused "train.devices=3: a rank has batch_size=10 samples, of which each has as many: give a multiple" train.devices=3
refused "train.devices=3: 2 stages have no more than 2: give fewer" train.devices=3 train.mode=pdp train.stages=2
