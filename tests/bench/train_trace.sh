#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_trace.sh: a trace has each part of each step of each rank, and the report marks the saves.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
plan 14
cd "$tmp" || exit 1
mkdir disk

small="model=gpt-mini model.layers=2 model.vocab=256 model.block=32 batch_size=4 warmup_steps=1 steps=4 storage=disk path=disk"
# shellcheck disable=SC2086
train() { bench train progress=0 $small "$@"; }
trace() { echo "$1"/*/*/0/trace.json; }
# has OUT PATTERN: the events of a trace make that true
has() { jq -e "$2" "$(trace "$1")"; }

check "a run with a profile succeeds" train --profile save=async steps_per_save=2 format=dcp out=one
check "a trace is an array of events with the fields that browsers want" has one 'type == "array" and all(.[];
	.name and (.pid >= 0) and (.tid >= 0) and (.ph == "M" and .args.name or
	.ph == "X" and .cat and .ts >= 0 and .dur >= 0))'
check "each timed step has its parts, and no other step has" has one '[.[] | select(.cat == "step")] |
	group_by(.name) | length == 6 and all(.[]; map(.args.step) == [2, 3, 4, 5])'
check "the parts of a step lie in it" has one '[.[] | select(.cat == "step")] | group_by(.args.step) |
	all(.[]; (.[] | select(.name == "step")) as $s | all(.[]; .ts >= $s.ts - 0.01 and
	.ts + .dur <= $s.ts + $s.dur + 0.01))'
check "saves are there: what blocked, and what was written beside the steps" has one '[.[] | select(.cat == "save")] |
	(map(select(.name == "save write" and .tid == 1) | .args.step) == [3, 5]) and
	(map(select(.name == "save .metadata" and .tid == 1) | .args.step) == [3, 5]) and
	(map(select(.name == "save copy" and .tid == 0) | .args.step) == [3, 5]) and
	any(.[]; .name == "save blocked" and .tid == 0)'
check "a run without a profile succeeds" train out=none
check "a run writes a trace only if it is asked for" test ! -e "$(trace none)"
train profile=on train.mode=pdp train.stages=2 train.chunks=3 batch_size=3 out=pdp || diag failed
check "each stage has a track with each of its micro-batches" has pdp '[.[] | select(.cat == "micro-batch" and .args.micro_batch == 1)] |
	group_by(.tid) | length == 2 and all(.[]; map(.name) | sort == ["backward", "backward", "backward", "backward",
	"forward", "forward", "forward", "forward", "forward again", "forward again", "forward again", "forward again"])'
train profile=on train.devices=2 out=devices || diag failed
check "each device has the parts of each step on a track of its own, and its buckets on another" has devices '. as $all | map(select(.ph == "M" and
	.name == "thread_name") | {key: "\(.tid)", value: .args.name}) | from_entries as $name | [$all[] | select(.ph == "X")] |
	group_by($name["\(.tid)"]) | map({key: $name["\(.[0].tid)"], value: (map(.name) | unique | length)}) | from_entries ==
	{"steps": 6, "device 1 steps": 6, "collectives": 1, "device 1 collectives": 1}'
train profile=on train.devices=2 train.mode=fsdp out=rows || diag failed
check "each device has its gathers and scatters" has rows '[.[] | select(.cat == "collective" and .args.unit == 2)] |
	group_by(.tid, .name) | map(length) == [8, 4, 8, 4]'
if bench_mpi true; then
	# shellcheck disable=SC2086
	bench_mpi bench train progress=0 $small profile=on out=two >two.out 2>&1 || diag "$(cat two.out)"
	check "ranks are processes of one trace, with the buckets of their average" has two '[.[] | select(.name == "all-reduce")] |
		group_by(.pid) | length == 2 and all(.[]; length == 8 and all(.[]; .tid == 2))'
	# shellcheck disable=SC2086
	bench_mpi bench train progress=0 $small profile=on train.mode=fsdp out=fsdp >fsdp.out 2>&1 || diag "$(cat fsdp.out)"
	check "each unit is gathered twice and its gradients are scattered once" has fsdp '[.[] | select(.cat == "collective" and
		.args.unit == 2)] | group_by(.pid, .name) | map(length) == [8, 4, 8, 4]'
else
	skip "ranks are processes of one trace, with the buckets of their average" "$bench_no_mpi"
	skip "each unit is gathered twice and its gradients are scattered once" "$bench_no_mpi"
fi
if command -v gnuplot >/dev/null; then
	check "a report of steps with saves is made" bench report one -o page.html
	check "a time line marks when a save was under way" sh -c 'grep -q "a save is under way" page.html &&
		grep -q "seconds since the first timed step" page.html && ! grep -o "No chart: [a-z ]*" page.html'
else
	skip "a report of steps with saves is made" "gnuplot is not installed"
	skip "a time line marks when a save was under way" "gnuplot is not installed"
fi
