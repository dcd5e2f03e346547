#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# restore.sh: a replicated model in every rank: fetched by each, or once; the store's log agrees.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_mpi true || skip_all "$bench_no_mpi"
plan 13
cd "$tmp" || exit 1
store_start storesim --log "$tmp/requests"

restore() {
	bench_mpi bench restore model=gpt-mini optimizer=on epochs=2 storage=s3 \
		s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://$CKPTFS_TEST_BUCKET/p "$@"
}
ratio() { jq -r '.job_results[0].restore.fetched_over_unique' "$1"/*/*/run_results.json; }
gets() { awk '$2 == "GetObject" { n++ } END { print n + 0 }' requests; }

check "each of two ranks fetches all" restore mode=independent out=each
expect_eq 2 "$(ratio each)" "twice the bytes of the model come from the store"
independent=$(gets)
: >requests
check "two ranks fetch each byte once" restore mode=shared out=once
expect_eq 1 "$(ratio once)" "no byte is fetched twice"
check "the store saw half the requests" test "$(($(gets) * 2))" -eq "$independent"
check "two ranks fetch pieces that nobody holds" restore mode=shared hold=off out=pieces
expect_eq "1 every timed byte, inside the clock" "$(ratio pieces) $(jq -r '.job_results[0].setup.verified' pieces/*/*/run_results.json)" \
	"pieces are checked on the way"
expect_eq "" "$(find "$store_data" -type f -size +4k)" "nothing is left in the bucket"
bench restore storage=null out=null 2>err
expect_eq "1 1" "$? $(wc -l <err)" "a storage that keeps nothing is refused in one line"

# One rank alone fails: the other, which waits for its bytes, hears of it.
store_stop
echo '[{"op": "GetObject", "key": "*/__1_0.distcp", "do": "status", "status": 404, "code": "NoSuchKey"}]' >faults.json
store_start storesim --faults faults.json
bench_exec='timeout 600'
restore mode=shared out=failed >failed.out 2>&1
status=$?
check "an error of one rank ends the restore in all" sh -c '[ "$1" -gt 0 ] && [ "$1" -lt 124 ]' sh $status
diag "exit status $status: $(cat failed.out)"
check "the error is said with its rank" grep -q '^ckptbench: rank 1: .*__1_0.distcp' failed.out
expect_eq "" "$(find "$store_data" -type f -size +4k)" "nothing is left of a restore that failed"

# What may not be removed stays, and is told.
store_stop
echo '[{"op": "DeleteObject", "key": "*/__1_0.distcp", "do": "status", "status": 403, "code": "AccessDenied"}]' >faults.json
store_start storesim --faults faults.json
restore mode=shared out=left >left.out 2>&1
expect_eq "1 1" "$(($? != 0)) $(grep -c '^ckptbench: rank 1: remove: .*__1_0.distcp: Permission denied$' left.out)" \
	"a save that stays because it may not be removed is no success"
diag "$(cat left.out)"
