#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh: two runs beside each other: ratio, interval, and what cannot be compared.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 7
cd "$tmp" || exit 1

run() { bench shards size=4M storage=null epochs=5 warmup=0 null.delay_us="$2" out="$1" >"$1.out"; }
run slow 20000 && run slow2 20000 && run fast 200
expect_eq 0 $? "three runs of five epochs"
sed -i 's/"null.delay_us":[^,]*/"null.delay_us": 1/' */shards/*/run_results.json
bench compare slow fast >out
expect_eq "0 2" "$? $(grep -c 'the second is faster' out)" "a faster run is told, for save and load"
diag "$(cat out)"
bench compare fast slow >out
expect_eq 2 "$(grep -c 'the first is faster' out)" "and a slower one"
cp -r slow same
check "a run is no different from itself" sh -c '"$1" compare slow same | grep -c "no difference" | grep -qx 2' sh "$builddir/ckptbench"
bench shards size=8M storage=null epochs=5 warmup=0 out=other >other.out
bench compare slow other >out 2>err
expect_eq "1 1" "$? $(grep -c 'no job in common' err)" "runs of other jobs are refused"
run slow 20000
bench compare slow fast 2>err
expect_eq "1 1" "$? $(grep -c 'more than one run is there' err)" "one run has to be named"
bench compare gone fast 2>err
expect_eq "1 1" "$? $(grep -c 'gone: no run is there' err)" "a run that is not there is said"
