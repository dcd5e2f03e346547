#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh: runs of two sides beside each other: what makes a verdict, and what makes none.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 33
cd "$tmp" || exit 1

# Runs of one job, whose values are then written by hand: what is compared is known.
bench shards size=1M storage=null epochs=3 warmup=0 out=one >one.out
expect_eq 0 $? "a run of three epochs is made"
run=$(echo one/*/*/run_results.json)

# made SIDE TIME SECONDS [FILTER]: a run of that time whose saves and loads all took that long
made() {
	mkdir -p "$1/$2"
	jq --argjson t "$2" --argjson s "$3" '.timestamp_utc = $t
		| .job_results[0].metrics |= with_entries(if .value | type == "object" and has("epochs") then
			.value.epochs |= map(map(.total_s = $s)) else . end)'"${4:-}" "$run" >"$1/$2/run_results.json"
}
# sides FIRST SECOND RUNS FACTOR [FILTER]: runs in turns, of 1.0 s with a drift of 1 % a run
sides() {
	rm -rf "$1" "$2"
	for i in $(seq "$3"); do
		made "$1" $((i * 2)) "$(awk "BEGIN { print 1 + $i * 0.01 }")"
		made "$2" $((i * 2 + 1)) "$(awk "BEGIN { print (1 + $i * 0.01 + 0.005) * $4 }")" "${5:-}"
	done
}
sides slow fast 5 0.5
bench compare slow fast >out
expect_eq "0 2" "$? $(grep -c '0\.502.*the second is faster (p 0\.0' out)" "five runs of each tell a faster side, for save and load"
diag "$(cat out)"
bench compare fast slow >out
expect_eq 2 "$(grep -c 'the first is faster' out)" "the order of the sides does not matter"
sides slow fast 11 0.5
bench compare slow fast >out
expect_eq "2 0" "$(grep -c 'the second is faster (p < 0\.001)' out) $(grep -c 'p 0\.000' out)" "no difference is printed as certain"
sides same twin 5 1
bench compare same twin >out
expect_eq 2 "$(grep -c 'no difference shown' out)" "a drift of both sides is no difference"
sides few fewer 4 0.5
bench compare few fewer >out
expect_eq 2 "$(grep -c 'no verdict: 4 and 4 runs, 5 of each are needed' out)" "four runs of each make no verdict, whatever they differ by"
bench compare one one >out
expect_eq 2 "$(grep -c '1\.000.*no verdict: 1 and 1 runs' out)" "epochs of one run are no runs"

# Results of version 1: the keys by their whole names, without those that came later.
mkdir old new
jq '.version = 1 | .job_results |= map(.version = 1 | .suite = {} | .config |= ([paths(type != "object") as $p
	| {key: ($p | join(".")), value: getpath($p)}] | map(select(.key != "disk.threads")) | from_entries))' "$run" >old/run_results.json
bench compare old one >out
expect_eq "0 2" "$? $(grep -c '1\.000.*no verdict: 1 and 1 runs' out)" "results of the version before are compared with those of this one"
check "the version before is in the report" bench report old one -o both.html
jq '.version = 3' "$run" >new/run_results.json
bench compare new one >out 2>err
expect_eq "1 1" "$? $(grep -c 'new/run_results.json is no result of a run of this version or before' err)" \
	"results of a later version are refused in one line"

rm -rf before after
for i in 1 2 3 4 5; do made before "$i" 1.$i; made after 1"$i" 0.$i; done
bench compare before after >out
expect_eq 2 "$(grep -c 'no verdict: the runs were not made in turns' out)" "runs of one side after those of the other make no verdict"
sides here there 5 0.5 ' | .machine.cpu = "another" | .job_results[].device = "a GPU"'
bench compare here there >out
expect_eq "different machines: cpu" "$(head -n 1 out | cut -c1-23)" "different machines are said first"
expect_eq 1 "$(grep -c '^different devices: host and a GPU$' out | sed 's/^5$/1/')" "different devices are said, too"

# Jobs of two scenarios with the same keys, some runs of both in one directory, and one run that failed.
bench dcp_fsdp_save model=gpt-mini storage=null out=fsdp >dcp.out 2>&1
bench dcp_ddp_save model=gpt-mini storage=null out=ddp >>dcp.out 2>&1
bench compare fsdp ddp >out 2>err
expect_eq "1 1" "$? $(grep -c 'give two of one scenario with the same keys' err)" "jobs of two scenarios are not compared, though their keys are the same"
run=$(echo ddp/*/*/run_results.json)
sides here there 5 0.5
run=$(echo fsdp/*/*/run_results.json)
mkdir of
for i in 1 2 3 4 5; do made of "$i" 7; done
for i in 1 2 3 4 5; do mv "of/$i" "here/of$i"; done
bench compare here there >out
expect_eq "1 0.502" "$(grep -c '^dcp_' out) $(awk '/^dcp_ddp_save: null/ { print $8 }' out)" "runs of another scenario are no values of this one's figures"
diag "$(cat out)"
for i in 1 2 3 4 5; do cp -r "here/of$i" there; done
bench compare here there >out
expect_eq "1 1" "$(grep -c '^dcp_fsdp_save: null .* 1\.000 ' out) $(grep -c '^dcp_ddp_save: null .*the second is faster' out)" \
	"each scenario that both sides have is compared, in its own turns"
diag "$(cat out)"
run=$(echo one/*/*/run_results.json)
sides here there 6 0.5
first=here/2/run_results.json
jq '.job_results[0] |= (.error = "No space left on device" | del(.metrics))' $first >failed && cp failed $first
bench compare here there >out 2>err
expect_eq "0 2" "$? $(grep -c '^null .*the second is faster' out)" "a job that failed in the first run is compared by the others"
expect_eq "1 here/2" "$(wc -l <err) $(sed -n 's/^ckptbench: \(.*\)\/run_results.json: null failed: No space left on device: it is not compared$/\1/p' err)" \
	"a job that failed is told, with its run"

# Figures of other scenarios, much longer or faster in the second side.
# copies FILTER: five runs of each side in turns, made of $run, the second side's metrics by the filter
copies() {
	rm -rf a b
	for i in 1 2 3 4 5; do
		mkdir -p "a/$i" "b/$i"
		jq ".timestamp_utc = $i * 2" "$run" >"a/$i/run_results.json"
		jq ".timestamp_utc = $i * 2 + 1 | .job_results[0].metrics |= ($1)" "$run" >"b/$i/run_results.json"
	done
}
bench async size=1M storage=null steps=9 step_time=2ms null.delay_us=3000 out=async >async.out
run=$(echo async/*/*/run_results.json)
copies '.blocked_s |= map(. * 100) | .visible_s |= map(. * 100)'
bench compare a b >out
expect_eq "0 2 2" "$? $(grep -c '^null  *\(blocked\|visible\), s .*lower .* 100\.000 .*the first is faster' out) $(grep -c 'no difference shown' out)" \
	"async: what takes longer is told, and what does not"
diag "$(cat out)"
mkdir disk
bench datagen -n 9 --resolution 40x30 --image-format PPM path=disk out=gen >gen.out
bench dataset dataset=9_40x30_images path=disk dataloader.num_workers=1 epochs=3 drop=none out=set >set.out
run=$(echo set/*/*/run_results.json)
copies '.epoch_samples_per_s |= map(. * 1000)'
bench compare a b >out
expect_eq "0 1" "$? $(grep -c '^disk  *samples, 1/s  *higher .* 1000\.000 .*the second is faster' out)" \
	"dataset: more samples a second are better"
expect_eq 1 "$(grep -c '^disk  *load, s  *lower .* 1\.000 .*no difference shown' out)" "dataset: the seconds of its epochs stand beside them"
bench restore model=gpt-mini storage=disk path=disk epochs=3 out=restore >restore.out
run=$(echo restore/*/*/run_results.json)
copies '.load.epochs |= map(map(.total_s /= 1000))'
bench compare a b >out
check "restore: the phase that it has is compared" grep -q '^disk  *load, s  *lower .* 0\.001 .*the second is faster' out
bench shards size=1M storage=null,disk path=disk epochs=3 warmup=0 out=both >both.out
bench compare both both >out
expect_eq "2 2" "$(grep -c '^null .*1\.000' out) $(grep -c '^disk .*1\.000' out)" "jobs of a sweep are told apart"

# A figure of zero seconds has no ratio, and the logarithm of its runs is no number.
run=$(echo one/*/*/run_results.json)
# each FIRST SECOND: runs in turns of one figure, whose values of either side are these lists
each() {
	rm -rf a b
	i=0
	for v in $1; do i=$((i + 1)); mkdir -p "a/$i"; jq ".timestamp_utc = $i * 2 | .job_results[0].metrics = {idle_s: {each: [$v]}}" "$run" >"a/$i/run_results.json"; done
	i=0
	for v in $2; do i=$((i + 1)); mkdir -p "b/$i"; jq ".timestamp_utc = $i * 2 + 1 | .job_results[0].metrics = {idle_s: {each: [$v]}}" "$run" >"b/$i/run_results.json"; done
}
each "0 0.2 0.1 0.3 0.1" "0.1 0 0.2 0.1 0.3"
bench compare a b >out
expect_eq 1 "$(grep -c '^null  *idle, s .*no difference shown (p 1.00)' out)" "a zero among equal runs makes neither side faster"
diag "$(cat out)"
each "0 0 0 0 0" "3 3.1 3 3.2 3.1"
bench compare a b >out
expect_eq 1 "$(grep -c '^null  *idle, s .* -  .*the first is faster' out)" "the side that takes no time at all is the faster one, and no ratio is told"
diag "$(cat out)"
each "2 2 2 2 2 2 2 2 2 2 2 2" "2.01 2.01 2.01 2.01 2.01 2.01 2.01 0.1 0.1 0.1 0.1 0.1"
bench compare a b >out
expect_eq 1 "$(grep -c '^null  *idle, s .*1\.005 .*no verdict: the medians do not differ as the means do' out)" \
	"no side is called faster whose median is the slower one"
diag "$(cat out)"

# With more figures a difference has to be clearer than five runs of each can show it.
jq '.job_results[0].metrics |= . + ([range(12) | {key: "f\(.)_s", value: {each: [1, 1, 1]}}] | from_entries)' \
	"$(echo one/*/*/run_results.json)" >many.json
run=many.json
copies 'map_values(if type == "object" and has("each") then .each |= map(. * 2) else . end)'
bench compare a b >out
expect_eq "0 14" "$(grep -c 'is faster' out) $(grep -c 'no verdict: 14 figures need more runs of each' out)" \
	"many figures at once ask for more runs"

bench shards size=8M storage=null epochs=5 warmup=0 out=other >other.out
bench compare slow other >out 2>err
expect_eq "1 1" "$? $(grep -c 'no job in common' err)" "runs of other jobs are refused"
rm -rf deep
mkdir -p 'deep/side[1]/far/below' deep/side1
cp slow/2/run_results.json 'deep/side[1]/far/below'
made deep/side1 2 100
bench compare 'deep/side[1]' slow/2 >out 2>&1
expect_eq "0 2" "$? $(grep -c '^null .* 1\.000 .*no verdict: 1 and 1 runs' out)" "a directory is taken by its name, and with what is far below it"
diag "$(cat out)"
bench compare 'deep/side?' slow/2 2>err
expect_eq "1 1" "$? $(grep -c '^ckptbench: deep/side?: no run is there' err)" "a name with a question mark is no other directory's"
bench compare gone fast 2>err
expect_eq "1 1" "$? $(grep -c 'gone: no run is there' err)" "a side without a run is said"
mkdir -p torn/1
echo '{"format": "other"}' >torn/1/run_results.json
bench compare slow torn 2>err
expect_eq "1 1" "$? $(grep -c 'is no result of a run' err)" "a file that is no result is said"
expect_eq 1 "$(bench compare slow 2>&1 | grep -c '^ckptbench: two sides are compared: give ckptbench compare FIRST SECOND')" "one side alone is refused with what to give"
