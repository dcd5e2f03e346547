#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_signal.sh: saves on a disk that were whole when a rank is killed, or told to end, are whole afterwards if
# they are to be kept; and if not, no .metadata is left that names files which are gone.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
bench_mpi true || skip_all "$bench_no_mpi"
plan 25
cd "$tmp" || exit 1

small="model=gpt-mini model.layers=1 model.hidden=64 model.vocab=256 model.block=16 batch_size=2 progress=0"
ended() { ! kill -0 "$pid" 2>/dev/null || grep -q ') Z' "/proc/$pid/stat"; }
of_rank() {
	for p in $(cat "/proc/$pid"/task/*/children); do
		! tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || echo "$p"
	done
}
metadata() { find disk -name .metadata | sort; }
saved() { [ "$(metadata | wc -l)" -ge 3 ]; }
# The saves that have .metadata and lack a share of a rank.
torn() { metadata | while read -r m; do [ "$(find "${m%/*}" -name '*.distcp' | wc -l)" -eq 2 ] || echo "$m"; done; }

# ends SIGNAL RANK SCENARIO KEY...: a job of two ranks, after three of its saves
ends() {
	signal=$1 rank=$2 what="$3 ends by $1 of rank $2, $4"
	shift 2
	rm -rf disk && mkdir disk
	bench_exec=exec
	# shellcheck disable=SC2086
	bench_mpi bench "$@" $small storage=disk path=disk format=dcp steps_per_save=2 out=ended >out 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	bench_exec=
	check "$what: saves are made" wait_for 60 saved
	before=$(metadata | sed '$d') # on the newest, ranks may not have agreed yet
	kill "-$signal" "$(of_rank "$rank")"
	wait_for 60 ended
	wait "$pid"
	expect_eq "1 " "$(($? != 0)) $(torn)" "$what: it is no success, and leaves no save that lacks a share"
	diag "$(metadata | wc -l) saves; $(grep ckptbench out | tail -n 2)"
}
# keeps SIGNAL RANK SCENARIO KEY...
keeps() {
	ends "$@" keep=on
	expect_eq "$before" "$(metadata | head -n "$(echo "$before" | wc -l)")" "$what: saves that were whole are there"
	newest=$(metadata | tail -n 1)
	newest=${newest#disk/}
	# shellcheck disable=SC2086
	check "$what: training goes on from the newest" bench train $small storage=disk path=disk steps=1 warmup_steps=0 out=on \
		${fsdp:+optimizer.name=adamw} resume="${newest%/.metadata}"
}
long="steps=2000 warmup_steps=0"
# shellcheck disable=SC2086
{
	keeps KILL 0 train save=async $long
	keeps KILL 1 train save=sync $long
	keeps TERM 1 train save=async $long
	keeps KILL 1 async async.writer=process steps=2000 step_time=1ms
	ends KILL 0 train save=async $long
	check "$what: nothing that can be loaded is left" test -z "$(metadata)"
	ends KILL 0 async async.writer=process steps=2000 step_time=1ms
	check "$what: nothing that can be loaded is left" test -z "$(metadata)"
	ends TERM 0 train save=async $long
	check "$what: nothing is left" test -z "$(ls disk)"
}
