#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_pdp.sh: ranks whose models are pipelines learn what ranks learn that compute them at once, and
# each mode goes on from the others' saves.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
bench_mpi true || skip_all "$bench_no_mpi"
plan 18
cd "$tmp" || exit 1
mkdir disk

# No number of samples is divided by four micro-batches, nor one of rows by three ranks.
small="model=gpt-mini model.layers=4 model.hidden=64 model.vocab=250 model.block=16 warmup_steps=0 storage=disk path=disk
	optimizer.name=adamw"
# train RANKS KEY...: with 12 samples a step
train() {
	bench_ranks=$1
	shift
	# shellcheck disable=SC2086
	bench_mpi bench train progress=0 $small batch_size=$((12 / bench_ranks)) "$@" >run.out 2>&1 || { diag "$(cat run.out)"; return 1; }
}
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
saved() { echo "$(jq -r '.job_results[0].setup.suffix' "$1"/*/*/run_results.json)/step-0000000$2"; }
near() { jq -en --argjson a "$1" --argjson b "$2" '($a | length) == ($b | length) and
	all(range($a | length); ($a[.] - $b[.] | fabs) < 1e-5 * $a[.])'; }
pdp() { echo "train.mode=pdp train.stages=$1 train.chunks=$2"; }

train 1 steps=6 out=whole
# shellcheck disable=SC2046
train 1 steps=6 $(pdp 3 5) out=three
check "a pipeline of three stages learns what one pass learns, with dropout" near "$(losses whole)" "$(losses three)"
expect_eq "pdp 3 4 0.333" "$(jq -r '.job_results[0].setup | "\(.mode) \(.stages) \(.micro_batches) \(.bubble * 1000 | round / 1000)"' \
	three/*/*/run_results.json)" "the results say what pipeline it was and how much of it stands idle"
check "operations are counted of a rank and of a stage" jq -e '.job_results[0].metrics |
	(.tflops_stage * 3 / .tflops - 1 | fabs) < 1e-9' three/*/*/run_results.json
# shellcheck disable=SC2046
train 3 steps=6 $(pdp 2 3) out=ranks
check "three pipelines of two stages learn what one pass learns" near "$(losses whole)" "$(losses ranks)"
# shellcheck disable=SC2046
train 3 steps=6 $(pdp 2 3) train.overlap=off out=apart
expect_eq "$(losses ranks)" "$(losses apart)" "pipelines that average behind the backward pass have the same losses, to the bit"
# shellcheck disable=SC2046
train 3 steps=6 $(pdp 2 3) activation=offload out=offload
expect_eq "$(losses ranks)" "$(losses offload)" "stages whose blocks come back from copies have the same losses, to the bit"
train 2 steps=6 train.mode=fsdp out=rows
check "ddp, pdp and fsdp learn the same" near "$(losses ranks)" "$(losses rows)"
check "the suite's words are understood" train 1 steps=6 --mode=pdp --ndevice_per_proc=2 --chunks 2 out=suite
expect_eq "pdp 2 2" "$(jq -r '.job_results[0].setup | "\(.mode) \(.stages) \(.micro_batches)"' suite/*/*/run_results.json)" \
	"the suite's words ask for a pipeline of two stages"

# Each goes on from the one before.
save() { train "$@" format=dcp keep=on; }
# shellcheck disable=SC2046
check "pipelines save beside their steps" save 2 steps=4 $(pdp 2 2) save=async out=four
# shellcheck disable=SC2046
save 2 steps=2 $(pdp 2 2) resume="$(saved four 2)" out=four.on
expect_eq "$(losses four | jq -c '.[2:]')" "$(losses four.on)" "losses after a save are to the bit those without the stop"
save 3 steps=1 train.mode=fsdp resume="$(saved four 4)" save=sync out=fsdp
check "rows go on from a pipeline" near "$(losses fsdp)" "$(losses whole | jq -c '.[4:5]')"
# shellcheck disable=SC2046
save 1 steps=1 $(pdp 4 3) resume="$(saved fsdp 5)" save=sync out=pdp
check "a pipeline goes on from rows" near "$(losses pdp)" "$(losses whole | jq -c '.[5:6]')"
save 2 steps=1 resume="$(saved four 4)" save=sync out=ddp
check "whole models go on from a pipeline" near "$(losses ddp)" "$(losses whole | jq -c '.[4:5]')"
# shellcheck disable=SC2046
save 2 steps=1 $(pdp 3 2) resume="$(saved ddp 5)" out=again
check "a pipeline goes on from whole models" near "$(losses again)" "$(losses whole | jq -c '.[5:6]')"

# refused LINE KEY...
refused() {
	line=$1
	shift
	# shellcheck disable=SC2086
	expect_eq "ckptbench: $line" "$(bench train progress=0 $small "$@" 2>&1)" "what makes no pipeline is refused in one line: $*"
}
refused "train.stages=2: give train.mode=pdp, which alone has stages" train.stages=2
refused "train.stages=9: the layers of gpt-mini fill 6: give fewer" train.mode=pdp train.stages=9
refused "train.devices=9: the layers of gpt-mini fill 6: give fewer" --mode=pdp --ndevice_per_proc=9
