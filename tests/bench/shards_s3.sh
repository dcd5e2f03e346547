#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards_s3.sh: shards as objects of storesim, through libstore: parts, ranges, one put, bad buckets.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 18
cd "$tmp" || exit 1
store_start storesim
s3() { bench shards storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://$CKPTFS_TEST_BUCKET/some/prefix "$@"; }

s3 size=40M out=held s3.part_size=5M s3.read_size=1M server.pid="$store_pid" >held.out 2>&1
expect_eq 0 $? "a shard goes up in parts and comes back in ranges"
diag "$(cat held.out)"
run=$(echo held/shards/*/run_results.json)
expect_eq "every timed byte, after the clock" "$(jq -r .job_results[0].setup.verified "$run")" \
	"a load from the store is verified"
check "the server's CPU time is counted apart" \
	jq -e '.job_results[0].metrics.save | .cpu_server_s_per_gb > 0' "$run"
check "s3 is its own yardstick" sh -c 'grep "^s3 .* 1.00 *1.00$" held.out'
check "nothing is left in the bucket" sh -c '[ -z "$(find "$1" -type f -size +4k)" ]' sh "$store_data"

s3 size=40M out=made hold=off s3.part_size=5M s3.read_size=64K >made.out 2>&1
expect_eq 0 $? "data that is not held is made into parts and checked in ranges"
s3 size=16M out=put s3.part_size=64M s3.connections=1 warmup=0 >put.out 2>&1
expect_eq 0 $? "a shard that fits a part is one put"

s3 size=16M out=save phase=save seed=3 >save.out 2>&1
expect_eq 0 $? "phase=save keeps the object"
suffix=$(jq -r .job_results[0].setup.suffix save/shards/*/run_results.json)
check "phase=load reads the object back" s3 size=16M phase=load suffix="$suffix" seed=3
s3 size=16M phase=load suffix="$suffix" seed=4 >wrong.out 2>&1
check "the bytes of another seed are wrong ones" grep -q 'load of [^ ]* from s3: wrong byte 0 of tensor' wrong.out
s3 size=16M phase=load suffix="$suffix" seed=4 hold=off >wrong.out 2>&1
check "wrong bytes are found when they are checked in ranges" grep -q 'load of [^ ]* from s3: wrong byte' wrong.out
s3 size=32M phase=load suffix="$suffix" seed=3 verify=off >short.out 2>&1
check "an object that ends early is an error" grep -q 'No data available' short.out
s3 size=16M phase=load suffix=none >none.out 2>&1
check "an object that is not there is an error" grep -q 'none/shard-.*: No such file' none.out

bench shards storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://other/p 2>bucket.out
check "a bucket that is not there is said in one line" \
	sh -c 'grep -q "bucket other does not exist" bucket.out && [ $(wc -l <bucket.out) = 1 ]'

if bench_mpi true; then
	bench_mpi bench shards storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://$CKPTFS_TEST_BUCKET/two size=64M epochs=2 \
		>two.out 2>&1
	expect_eq 0 $? "two ranks save and load two epochs"
	diag "$(cat two.out)"
else
	skip "two ranks save and load two epochs" "$bench_no_mpi"
fi
spawn "$builddir/storesim" --listen 127.0.0.1:0 --null --bucket "$CKPTFS_TEST_BUCKET" >null.addr
wait_for 10 grep -q '^listening on ' null.addr
check "a null store's bytes are verified with payload=null" \
	bench shards storage=s3 s3.endpoint="$(sed -n 's/^listening on //p' null.addr)" s3.uri=s3://$CKPTFS_TEST_BUCKET/null size=64M payload=null
mkdir full
spawn "$builddir/storesim" --listen 127.0.0.1:0 --data "$tmp/full" --quota 12M --bucket "$CKPTFS_TEST_BUCKET" >full.addr
wait_for 10 grep -q '^listening on ' full.addr
bench shards storage=s3 s3.endpoint="$(sed -n 's/^listening on //p' full.addr)" s3.uri=s3://$CKPTFS_TEST_BUCKET/full size=32M \
	s3.part_size=5M warmup=0 out=full.out >out 2>err
expect_eq "1 1" "$? $(grep -c 'save: .*No space left on device' err)" "a store that is full ends the job with its errno"
check "no part stays at the store" sh -c '[ -z "$(find "$1/full" -type f -size +64k)" ]' sh "$tmp"
