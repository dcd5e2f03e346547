#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# signal_cleanup_ranks.sh: a rank that has removed its objects after a signal waits for one that is still removing,
# and a signal to one rank alone comes to the others of its machine.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
bench_mpi true || skip_all "$bench_no_mpi"
plan 7
cd "$tmp" || exit 1
# Each removal of rank 1 takes a while.
echo '[{"op": "DeleteObject", "key": "*/__1_0.distcp", "do": "delay", "stall": "500ms"}]' >faults
store_start storesim --log "$tmp/requests" --faults "$tmp/faults"

bench_exec=exec
bench_mpi bench train progress=0 model=gpt-mini model.layers=2 model.hidden=64 model.vocab=256 model.block=16 batch_size=2 \
	warmup_steps=0 steps=100000 steps_per_save=200 save=sync format=dcp storage=s3 s3.uri="s3://$CKPTFS_TEST_BUCKET/stopped" \
	s3.endpoint="$CKPTFS_TEST_ENDPOINT" >out 2>&1 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
# of OP: the files whose requests succeeded
of() { sed -n "s|.* $1 .*/\(step-[0-9]*/[^ ]*\) [^ ]* 20[04] .*|\1|p" requests | sort -u; }
saved() { [ "$(of PutObject | grep -c metadata)" -ge 4 ]; }
check "ranks have made several saves" wait_for 60 saved
for p in $(cat "/proc/$pid"/task/*/children); do
	kill -TERM "$p"
done
ended() { ! kill -0 "$pid" 2>/dev/null || grep -q ') Z' "/proc/$pid/stat"; }
check "a signal to all ranks ends the job" wait_for 60 ended
wait "$pid"
of PutObject >put
of DeleteObject >deleted
diag "$(wc -l <put) objects, $(wc -l <deleted) removed; $(tail -n 2 out)"
check "rank 1 had objects to remove" test "$(grep -c __1_0 put)" -ge 4
expect_eq "" "$(comm -23 put deleted)" "no object of any rank is left"

# One rank alone is told to end, while it waits for the other, which stands in a write.
store_rules faults '[{"op": "PutObject", "key": "alone/*/__0_0.distcp", "do": "stall", "stall": "600s"}]'
bench_mpi bench train progress=0 model=gpt-mini model.layers=2 model.hidden=64 model.vocab=256 model.block=16 batch_size=2 \
	warmup_steps=0 steps=10 save=sync format=dcp storage=s3 s3.uri="s3://$CKPTFS_TEST_BUCKET/alone" \
	s3.endpoint="$CKPTFS_TEST_ENDPOINT" >out 2>&1 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
of_rank() { for p in $(cat "/proc/$pid"/task/*/children); do tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$p"; done; }
waits() { grep -q 'PutObject .*[/ ]alone/.*/__1_0.distcp [^ ]* 200 ' requests; }
check "one rank has its share written and waits for the other" wait_for 60 waits
kill -TERM "$(of_rank 1)"
check "a signal to one rank ends all of them soon" wait_for 20 ended
wait "$pid"
diag "$(tail -n 3 out)"
expect_eq 1 "$(sed -n 's|.* DeleteObject .*[/ ]\(alone/[^ ]*\) .*|\1|p' requests | grep -c __1_0)" "the share that was there is removed"
