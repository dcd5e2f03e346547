#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_kill.sh: a rank is killed while a save is being written: the save before can be loaded, and of
# the one that was cut off nothing can.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
bench_mpi true || skip_all "$bench_no_mpi"
plan 25
cd "$tmp" || exit 1
# The share of rank 1 of the third save stands still.
echo '[{"op": "PutObject", "key": "*dp/*/step-00000003/__1_0.distcp", "do": "stall", "stall": "600s"},
	{"op": "PutObject", "key": "async/*/step-00000004/__1_0.distcp", "do": "stall", "stall": "600s"}]' >faults
store_start storesim --log "$tmp/requests" --faults "$tmp/faults"

small="model=gpt-mini model.layers=2 model.vocab=256 model.block=32 batch_size=2 warmup_steps=0 optimizer.name=adamw"
where="storage=s3 s3.endpoint=$CKPTFS_TEST_ENDPOINT"
# train KEY...: of the mode that is tried
# shellcheck disable=SC2086
train() { bench_mpi bench train progress=0 $small $where s3.uri="s3://$CKPTFS_TEST_BUCKET/$mode" $keys format=dcp "$@"; }
losses() { jq -c '.job_results[0].metrics.losses' "$mode.$1"/*/*/run_results.json; }
# put NAME [STATUS]: the store has begun to take it, or has answered so
put() { grep -q "PutObject .*[/ ]$mode/[^/ ]*/$1${2:+ [^ ]* $2 }" requests; }
ended() { ! kill -0 "$pid" 2>/dev/null || grep -q ') Z' "/proc/$pid/stat"; }
of_rank() {
	for p in $(cat "/proc/$pid"/task/*/children); do
		! tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || echo "$p"
	done
}

# kills_a_rank MODE KEY...: while steps wait for a save, or go on beside it, as $how says
kills_a_rank() {
	mode=$1
	shift
	keys=$*
	train steps=5 out="$mode.whole" >whole.out 2>&1 || diag "$(cat whole.out)"
	bench_exec=exec
	train steps=5 "save=$how" keep=on out="$mode.killed" >killed.out 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	bench_exec=
	check "$mode: of a save that is under way one rank's share is there" wait_for 60 put step-00000003/__0_0.distcp
	kill -KILL "$(of_rank 1)"
	check "$mode: a rank that dies while a save is written ends the job" wait_for 60 ended
	wait "$pid"
	diag "$(cat killed.out)"
	dir=$(sed -n "s|.*PutObject .*[/ ]$mode/\([^/]*\)/step-00000003/__0_0.*|\1|p" requests | head -n 1)
	expect_eq "" "$(grep "PutObject .*[/ ]$mode/.*/step-0000000[345]/.metadata" requests)" \
		"$mode: a save that was cut off has no .metadata"
	check "$mode: the store has all of the other share" put step-00000003/__0_0.distcp 200
	expect_eq "" "$(put step-00000003/__1_0.distcp 200 && echo there)" "$mode: the store has nothing of the share that was cut off"
	train resume="$dir/step-00000002" steps=3 out="$mode.on" >on.out 2>&1 || diag "$(cat on.out)"
	expect_eq "$(losses whole | jq -c '.[2:]')" "$(losses on)" "$mode: training goes on from the newest save that is whole"
	train resume="$dir/step-00000003" steps=1 out="$mode.torn" >torn.out 2>&1
	check "$mode: the save that was cut off is refused" \
		grep -q "resume=$dir/step-00000003: .*name a file, or a directory with .metadata" torn.out
}

# The scenario async, whose saves train loads.
kills_a_rank_of_async() {
	mode=async
	keys="train.mode=fsdp"
	bench_exec=exec
	# shellcheck disable=SC2086
	bench_mpi bench async progress=0 model=gpt-mini model.layers=2 model.vocab=256 model.block=32 batch_size=2 $where \
		s3.uri="s3://$CKPTFS_TEST_BUCKET/$mode" steps=3 step_time=1ms async.writer="$1" keep=on out=async.killed >killed.out 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	bench_exec=
	check "async: of a save that is under way one rank's share is there" wait_for 60 put step-00000004/__0_0.distcp
	kill -KILL "$(of_rank 1)"
	check "async: a rank that dies while a save is written ends the job" wait_for 60 ended
	wait "$pid"
	diag "$(cat killed.out)"
	dir=$(sed -n "s|.*PutObject .*[/ ]$mode/\([^/]*\)/step-00000004/__0_0.*|\1|p" requests | head -n 1)
	expect_eq "" "$(grep "PutObject .*[/ ]$mode/.*/step-0000000[45]/.metadata" requests)" "async: a save that was cut off has no .metadata"
	train resume="$dir/step-00000003" steps=1 out="$mode.on" >on.out 2>&1 || diag "$(cat on.out)"
	check "async: training goes on from the newest save that is whole" jq -e '.job_results[0].metrics.losses | length == 1' \
		"$mode.on"/*/*/run_results.json
}
kills_a_rank_of_async process
how=async
kills_a_rank ddp
kills_a_rank pdp train.mode=pdp train.stages=2
how=sync
kills_a_rank fsdp train.mode=fsdp
