#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# signal_cleanup.sh: a signal ends a run soon, and nothing of it is left: file, object, upload, mount, process.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
plan 29
cd "$tmp" || exit 1
mkdir disk
null_args="storage=null null.delay_us=20000000"

# stopped NAME SIGNAL command...: waits until `ready` succeeds, signals, and expects 130
stopped() {
	name=$1 signal=$2; shift 2
	"$@" >out 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	wait_for 20 ready || diag "never got ready: $(cat out)"
	kill "-$signal" "$pid"
	wait "$pid"
	expect_eq 130 $? "$name"
}
program="$builddir/ckptbench"

ready() { [ -d multirun ]; }
stopped "SIGINT ends a job in a wait" INT "$program" shards $null_args
check "a job that is stopped says so" grep -q 'stopped by a signal; what it had written was removed' out
expect_eq "" "$(find multirun -type f)" "no result is left"

ready() { ls disk/*/shard-* >/dev/null 2>&1; }
stopped "SIGTERM ends a job while a file is written" TERM "$program" shards storage=disk path=disk size=256M \
	hold=off block=4K warmup=0 epochs=1000
expect_eq "" "$(ls disk)" "no file is left"
stopped "SIGTERM ends a run of saves" TERM "$program" shards storage=disk path=disk size=4M \
	phase=save warmup=0 epochs=2000
expect_eq "" "$(ls disk)" "no file is left of the epochs before"

for device in host emulated; do
	hold=off; [ $device = host ] || hold=on
	ready() { ls disk/*/shard-* >/dev/null 2>&1; }
	stopped "SIGTERM while threads write a file, with device=$device" TERM "$program" shards storage=disk path=disk \
		size=256M hold=$hold block=4K warmup=0 epochs=1000 disk.threads=4 device=$device
	expect_eq "" "$(ls disk)" "threads that were stopped leave no file, with device=$device"
done

echo '[]' >faults.json
store_start storesim --rate 4M --faults "$tmp/faults.json"
ready() { find $store_data -type f -size +64k | grep -q .; }
stopped "SIGINT ends a job while parts go up" INT "$program" shards storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" \
	s3.uri=s3://$CKPTFS_TEST_BUCKET/p size=64M warmup=0 s3.part_size=5M
no_parts() { [ -z "$(find "$store_data" -type f -size +64k)" ]; }
check "no upload is left, as soon as the server has noticed" wait_for 10 no_parts

# a store that answers no more: what is under way cannot be removed, and the second signal is heard
store_rules faults.json '[{"op": "DeleteObject", "do": "delay", "stall": 600}]'
"$program" shards storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://$CKPTFS_TEST_BUCKET/p model.layers=1 phase=save \
	epochs=10000 warmup=0 >out 2>&1 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
ready() { [ "$(find $store_data -type f -size +64k | wc -l)" -gt 1 ]; }
wait_for 60 ready || diag "never got ready: $(cat out)"
ended_by_signals() { kill -TERM "$pid" 2>/dev/null; grep -q ') Z' "/proc/$pid/stat" 2>/dev/null || ! kill -0 "$pid" 2>/dev/null; }
check "signals end a job that waits for a store" wait_for 30 ended_by_signals
wait "$pid"
expect_eq "130 1" "$? $(grep -c 'ended at once by a second signal: what it had written may be left' out)" "a job that a second signal ends says what may be left"
diag "$(cat out)"

# one job is done when the signal comes: it is kept and told, the one under way is recorded
ready() { [ -s sweep/shards/*/0/job_results.json ] && [ -e sweep/shards/*/1/benchmark.log ]; }
stopped "SIGINT ends a run in the second of three jobs" INT "$program" shards storage=null warmup=0 out=sweep \
	null.delay_us=1,20000000,2 size=1M
results() { tr -d ' \t' <"$(echo sweep/shards/*/run_results.json)"; }
expect_eq "2 1" "$(results | grep -c '"format":"ckptbench-job"') $(results | grep -c '"error":"Operationcanceled"')" \
	"both jobs are in the results"
check "the table shows the first" grep -q 'null null.delay_us=1 ' out
check "the last line says where the results are" grep -q '^results: sweep/shards/' out

mkdir kept
ready() { [ -e with_kept/shards/*/1/benchmark.log ]; }
stopped "SIGINT ends a run behind a job that keeps its files" INT "$program" shards storage=disk,null path=kept \
	keep=on warmup=0 out=with_kept null.delay_us=20000000 size=1M
check "what a finished job was to keep stays" sh -c 'ls kept/*/shard-* >/dev/null'

if [ -w /dev/fuse ]; then
	ready() { grep -q "$tmp/ckptbench-ceiling" /proc/mounts; }
	export TMPDIR="$tmp"
	stopped "SIGINT ends a job while the null FUSE serves" INT "$program" ceiling size=4M epochs=500
	check "no mount is left" sh -c '! grep -q "$1" /proc/mounts && [ ! -e "$1"* ]' sh "$tmp/ckptbench-ceiling"
else
	skip "SIGINT ends a job while the null FUSE serves" "/dev/fuse cannot be opened"
	skip "no mount is left" "/dev/fuse cannot be opened"
fi

if bench_mpi true; then
	bench_exec=exec
	bench_mpi bench shards storage=disk path=disk size=512M hold=off block=4K warmup=0 epochs=1000 \
		>out 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	ready() { [ "$(ls disk/*/shard-* 2>/dev/null | wc -l)" = 2 ]; }
	wait_for 20 ready
	kill -TERM "$pid"
	wait "$pid"
	check "mpirun's SIGTERM ends the job" test $? -ne 0
	expect_eq "" "$(ls disk)" "no rank leaves a file after the end"
else
	skip "mpirun's SIGTERM ends the job" "$bench_no_mpi"
	skip "no rank leaves a file after the end" "$bench_no_mpi"
	skip "a rank that dies ends the job" "$bench_no_mpi"
	skip "the message has the rank that died and its signal" "$bench_no_mpi"
	skip "the other rank ends, too" "$bench_no_mpi"
	skip "no rank leaves a file after the death of one" "$bench_no_mpi"
	exit 0
fi

# A rank that is killed, while the other waits for it at a barrier: the launcher names it and ends all.
bench_mpi bench shards storage=disk,null path=disk size=1M warmup=0 null.delay_us=20000000 out=died \
	>died.out 2>&1 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
# the ranks are the children of mpirun
ranks() { cat /proc/"$pid"/task/*/children 2>/dev/null | tr ' ' '\n' | grep .; }
ready() { [ -e died/shards/*/1/benchmark.log ] && [ "$(ranks | wc -l)" -ge 2 ]; }
wait_for 20 ready || diag "never got ready: $(cat died.out)"
of_rank() { for p in $(ranks); do tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$p"; done; }
other=$(of_rank 0)
kill -KILL "$(of_rank 1)"
ended() { ! kill -0 "$pid" 2>/dev/null || grep -q ') Z' "/proc/$pid/stat"; }
wait_for 60 ended
check "a rank that dies ends the job" test $? -eq 0
wait "$pid"
rc=$?
check "the message has the rank that died and its signal" sh -c '[ "$1" -ne 0 ] && grep -q "rank 1 .* signal 9" died.out' sh "$rc"
diag "$(cat died.out)"
gone() { ! kill -0 "$other" 2>/dev/null; }
check "the other rank ends, too" wait_for 20 gone
expect_eq "" "$(ls disk)" "no rank leaves a file after the death of one"
