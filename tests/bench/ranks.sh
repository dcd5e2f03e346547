#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ranks.sh: what a launcher gives the ranks: their number, their cores, their devices.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 9
cd "$tmp" || exit 1

# alone VARIABLES...: what a process sees that was started as one of two ranks and finds itself alone
alone() {
	# LeakSanitizer sees what MPI keeps until the process ends
	env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" "$@" "$builddir/ckptbench" shards storage=null size=1M out=alone >out 2>err
	expect_eq "1 1" "$? $(wc -l <err)" "one of two ranks that finds itself alone is refused in one line: $1"
	check "the line says what to change: $1" grep -q "the launcher started 2 ranks.*mpirun" err
}
alone OMPI_COMM_WORLD_SIZE=2
alone PMI_SIZE=2
check "no rank 0 has written results twice" test ! -e alone

if bench_mpi true; then
	bench_mpi bench shards storage=null size=1M device=emulated out=two >out 2>err
	expect_eq "emulated in host memory, emulated in host memory" \
		"$(jq -r '.job_results[0].devices | join(", ")' two/*/*/run_results.json)" \
		"the results name the device of every rank"
	bench_mpi bench shards storage=null size=1M device=auto out=auto >out 2>err
	check "all ranks agree on one device with device=auto" \
		jq -e '.job_results[0].devices | length == 2 and .[0] == .[1]' auto/*/*/run_results.json
else
	skip "the results name the device of every rank" "$bench_no_mpi"
	skip "all ranks agree on one device with device=auto" "$bench_no_mpi"
fi
if bench_mpi true && command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
	bench_exec="taskset -c $(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')"
	bench_mpi bench shards storage=null size=1M out=bound >out 2>err
	expect_eq 1 "$(grep -c "bound to 1 of this machine's .*mpirun --bind-to none" err)" \
		"ranks that are bound to one core are warned of, once"
	expect_eq 1 "$(jq '.machine.cores' bound/*/*/run_results.json)" "the results say how many cores there were"
else
	skip "ranks that are bound to one core are warned of, once" "needs MPI, taskset and two cores"
	skip "the results say how many cores there were" "needs MPI, taskset and two cores"
fi
