#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# selfcheck.sh: known times are reproduced, a slow rank is the time of all, saves that wait are counted,
# a wrong byte is found, on the host and on a device; and what does not hold is said. That a wait is not
# measured as too short holds on any machine. That it is not too long holds where nothing else runs: some
# run must see that.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 14
cd "$tmp" || exit 1

results() { ls -d "$1"/selfcheck/*/run_results.json; }
# again OUT command...: up to ten runs, until one of them passes
again() {
	out=$1; shift
	for try in 1 2 3 4 5 6 7 8 9 10; do
		"$@" out="$out" >"$out.out" 2>&1 && return
		diag "$(cat "$out.out")"
	done
	return 1
}
again one bench selfcheck epochs=3
expect_eq 0 $? "every check holds for one rank that plays four"
diag "$(cat one.out)"
names() { awk '$1 == "ok" || $1 == "FAILED" { printf "%s%s %s", n++ ? " " : "", $1, $2 }' "$1"; }
all="ok bare_wait ok never_short ok known_time ok slow_rank ok coordinated_omission ok save_behind_wait ok wrong_byte"
expect_eq "$all" "$(names one.out)" "each check is printed"
check "no run measures a wait as too short" jq -es 'all(.[].job_results[0].metrics.checks[1]; .figure == 1)' $(results one)
check "a check holds within 2 %, by medians that lie in their intervals" jq -e '.job_results[0].metrics.checks
	| all(.[:6][]; .figure <= 1.02 and .figure >= 0.98)
	and all(.[0, 2, 3, 5]; .low <= .figure and .figure <= .high and .low < .high)' "$(results one | tail -n 1)"
check "the mean of the ranks would have hidden the slow one" jq -e '.job_results[0].metrics.checks[3].says
	| capture("mean, which is (?<mean>[0-9.]+)").mean | tonumber < 0.5' "$(results one | tail -n 1)"
check "a clock that starts late would have hidden the wait" jq -e '.job_results[0].metrics.checks[4].says
	| capture("would be (?<late>[0-9.]+)").late | tonumber < 0.6' "$(results one | tail -n 1)"
check "the byte that was changed is named" \
	jq -e '.job_results[0].metrics.checks[6].says | test("^wrong byte [0-9]+ of tensor .+ \\(byte [0-9]+ of")' "$(results one | tail -n 1)"

again device bench selfcheck epochs=3 device=emulated
expect_eq "0 $all" "$? $(names device.out)" "every check holds for shards on a device"
check "table and results name the device" sh -c 'grep -q "^shards in emulated in host memory" device.out &&
	jq -e ".job_results[0].device == \"emulated in host memory\"" device/selfcheck/*/run_results.json >out'
again auto bench selfcheck epochs=3 device=auto
expect_eq "0 $all" "$? $(names auto.out)" "checks hold with what device=auto takes"

# No clock and no sleep of a machine is that exact.
bench selfcheck epochs=2 null.delay_us=1 out=short >short.out 2>short.err
expect_eq "1 1" "$? $(grep -c 'bare_wait is .* and must be 1.00 to 1.02: try again' short.err)" "a check that does not hold fails the run, and is said"
check "a check that fails has its figure in table and results" sh -c 'grep -q "^FAILED  bare_wait" short.out &&
	jq -e ".job_results[0].metrics.checks[0] | .passed == false and .figure > 1.02" short/*/*/run_results.json'
bench selfcheck storage=disk path=. 2>err
expect_eq "1 1" "$? $(grep -c 'selfcheck measures what is known' err)" "a storage of unknown times is refused"

if bench_mpi true; then
	again two bench_mpi bench selfcheck epochs=3
	expect_eq "0 2" "$? $(jq .job_results[0].setup.ranks "$(results two | tail -n 1)")" "every check holds for two ranks of MPI"
else
	skip "every check holds for two ranks of MPI" "$bench_no_mpi"
fi
