#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh: two runs beside each other: ratio, interval, and what cannot be compared.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 13
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

# Figures of other scenarios, much longer or faster in the second run.
# made NAME FILTER: a copy of the run that is named last, with the filter applied to its metrics
made() { mkdir -p "$1" && jq ".job_results[0].metrics |= ($2)" "$run" >"$1/run_results.json"; }
bench async size=1M storage=null steps=9 step_time=2ms null.delay_us=3000 out=async >async.out
run=$(echo async/*/*/run_results.json)
made longer '.blocked_s |= map(. * 100) | .visible_s |= map(. * 100)'
bench compare async longer >out
expect_eq "0 2 2" "$? $(grep -c '^null  *\(blocked\|visible\), s .*lower .* 100\.000 .*the first is faster$' out) $(grep -c 'no difference$' out)" \
	"async: what takes longer is told, and what does not"
diag "$(cat out)"
mkdir disk
bench datagen -n 9 --resolution 40x30 --image-format PPM path=disk out=gen >gen.out
bench dataset dataset=9_40x30_images path=disk dataloader.num_workers=1 epochs=3 drop=none out=set >set.out
run=$(echo set/*/*/run_results.json)
made rates '.epoch_samples_per_s |= map(. * 1000)'
bench compare set rates >out
expect_eq "0 1" "$? $(grep -c '^disk  *samples, 1/s  *higher .* 1000\.000 .*the second is faster$' out)" \
	"dataset: more samples a second are better"
expect_eq 1 "$(grep -c '^disk  *load, s  *lower .* 1\.000 .*no difference$' out)" "beside the seconds of its epochs"
made few '.epoch_samples_per_s |= .[:2]'
bench compare set few >out
check "of two values no interval is made" grep -q 'samples.*no interval: fewer than 3 of each' out
bench restore model=gpt-mini storage=disk path=disk epochs=3 out=restore >restore.out
run=$(echo restore/*/*/run_results.json)
made quick '.load.epochs |= map(map(.total_s /= 1000))'
bench compare restore quick >out
check "restore: in the phase that it has" grep -q '^disk  *load, s  *lower .* 0\.001 .*the second is faster$' out
bench shards size=1M storage=null,disk path=disk epochs=3 warmup=0 out=both >both.out
bench compare both both >out
expect_eq "2 2" "$(grep -c '^null .*no difference$' out) $(grep -c '^disk .*no difference$' out)" "jobs of a sweep are told apart"
