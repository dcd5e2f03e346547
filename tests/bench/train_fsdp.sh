#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_fsdp.sh: ranks that have a part of each tensor learn what ranks learn that have the whole model,
# and go on from each other's saves.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
bench_mpi true || skip_all "$bench_no_mpi"
plan 19
cd "$tmp" || exit 1
mkdir disk

# No number of rows is divided by three.
small="model=gpt-mini model.layers=2 model.vocab=250 model.block=32 warmup_steps=0 storage=disk path=disk"
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

for optimizer in sgd adamw; do
	train 1 optimizer.name=$optimizer steps=6 out=$optimizer.whole
	train 1 optimizer.name=$optimizer steps=6 train.mode=fsdp out=$optimizer.alone
	expect_eq "$(losses $optimizer.whole)" "$(losses $optimizer.alone)" "one rank with $optimizer has to the bit the losses without parts"
	train 3 optimizer.name=$optimizer steps=6 train.mode=fsdp activation=checkpoint out=$optimizer.three
	check "three ranks with $optimizer, each with its rows, learn what one does with the whole model" near \
		"$(losses $optimizer.whole)" "$(losses $optimizer.three)"
done
for prefetch in noop prehook posthook; do
	train 3 steps=4 train.mode=fsdp --prefetch $prefetch out=$prefetch
	[ $prefetch = noop ] || expect_eq "$(losses noop)" "$(losses $prefetch)" \
		"units that are gathered early ($prefetch) have to the bit the losses of those that are not"
done
train 3 steps=4 train.mode=fsdp --cpu_offload out=kept
expect_eq "$(losses noop) true" "$(losses kept) $(jq '.job_results[0].setup.cpu_offload' kept/*/*/run_results.json)" \
	"weights that the host keeps have to the bit the losses of those that the device keeps"
adam="optimizer.name=adamw"
# shellcheck disable=SC2086
save() { train "$@" $adam format=dcp keep=on; }
# Ranks, mode, saved by, and how: each goes on from step 2 of the one before.
check "four ranks save their rows while steps go on" save 4 steps=4 train.mode=fsdp save=async out=four
expect_eq "fsdp 4" "$(jq -r '.job_results[0].setup | "\(.mode) \(.ranks)"' four/*/*/run_results.json)" "the results name the mode and the number of ranks"
save 4 steps=2 train.mode=fsdp resume="$(saved four 2)" out=four.on
expect_eq "$(losses four | jq -c '.[2:]')" "$(losses four.on)" "losses after a save of rows are to the bit those without the stop"
check "two ranks go on from rows that four have saved" save 2 steps=2 train.mode=fsdp resume="$(saved four 2)" save=sync out=two
check "their losses are those of the whole model" near "$(losses two)" "$(losses adamw.whole | jq -c '.[2:4]')"
save 3 steps=1 resume="$(saved two 4)" save=sync out=ddp
check "whole models go on from rows" near "$(losses ddp)" "$(losses adamw.whole | jq -c '.[4:5]')"
save 2 steps=1 train.mode=fsdp resume="$(saved ddp 5)" verify=off out=rows
check "rows go on from whole models, of which nothing else is read" near "$(losses rows)" "$(losses adamw.whole | jq -c '.[5:]')"
train 1 $adam steps=1 resume="$(saved two 4)" save=sync format=torch keep=on out=file
train 2 $adam steps=1 train.mode=fsdp resume="$(saved file 5).ckpt" out=file.rows
check "rows go on from a file of the whole model" near "$(losses file.rows)" "$(losses adamw.whole | jq -c '.[5:]')"
train 2 train.mode=fsdp save=sync steps=1 out=no >/dev/null
expect_eq 1 "$(grep -c 'train.mode=fsdp: no rank has the whole state for a file: give format=dcp' run.out)" \
	"a file of a state that no rank has is refused in one line"
for n in 5 100000; do
	bench_ranks=3
	check "what is more than one request carries is exchanged rank by rank, $n values of each" bench_mpi \
		"$builddir/tests/bench/coll_large" $n
done
if [ -f "${CKPTFS_PEERS:-$HOME/.cache/ckptfs/peers}/trainers/stamp" ]; then
	need_torch
	check "torch.distributed.checkpoint loads rows as the tensors of the model" timeout 600 "$torch_python" - \
		"disk/$(saved two 4)" <<-'END'
		import sys, torch, torch.distributed.checkpoint as dcp
		path = sys.argv[1]
		tensors = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
		state = {name: torch.zeros(t.size) for name, t in tensors.items()}
		dcp.load(state, checkpoint_id=path)
		assert state["step"] == 4 and state["emb_stem.pos_emb"].shape == (1, 32, 128)
		assert len(tensors["head.weight"].chunks) == 2 and len(tensors["emb_stem.pos_emb"].chunks) == 1
		assert all(t.abs().sum() > 0 for t in state.values())
	END
else
	skip "torch.distributed.checkpoint loads rows as the tensors of the model" "torch is not installed: tests/trainers/setup.sh does it"
fi
