# SPDX-License-Identifier: Apache-2.0
# sdk.sh: what every client of others has to do as a storage of ckptbench; source it after tap.sh,
# store.sh and bench.sh.
#
#   need_storage NAME MACRO     skips the whole test where NAME is not built (CKPTFS_REQUIRE=sdk: fails it)
#   sdk shards [key=value...]   ckptbench with storage=NAME and the store of store.sh
#   sdk_cases                   sdk_planned checks: saves, loads, wrong bytes, wrong names, several at once
#   sdk_copied SAVE LOAD key=value...   1 check: how often ckptbench itself copies the bytes of a save and of a
#                               load: in the host's memory, over pinned and over pageable memory of a device
#   sdk_stopped                 2 checks: SIGINT while a save is under way

sdk_planned=16

need_storage() {
	storage=$1
	! bench_has "$2" || return 0
	why=$(bench shards storage="$1" 2>&1)
	lacks sdk "${why#*: }"
}

sdk() {
	what=$1; shift
	bench "$what" storage="$storage" s3.endpoint="$CKPTFS_TEST_ENDPOINT" \
		s3.uri="s3://$CKPTFS_TEST_BUCKET/some/pre=fix" "$@"
}

# Whether the store keeps nothing but names.
store_empty() { [ -z "$(find "$store_data" -type f -size +4k)" ]; }

sdk_cases() {
	sdk shards size=40M out=held s3.part_size=5M s3.read_size=1M s3.connections=4 >held.out 2>&1
	expect_eq 0 $? "a shard goes up and comes back in ranges"
	diag "$(cat held.out)"
	expect_eq "every timed byte, after the clock" \
		"$(jq -r .job_results[0].setup.verified held/shards/*/run_results.json)" "the results say that a load is verified"
	check "data that is not held is made and checked on the way" \
		sdk shards size=40M out=made hold=off s3.part_size=5M s3.read_size=64K
	check "a shard that fits a part is one request" \
		sdk shards size=16M out=put s3.part_size=64M s3.connections=1 warmup=0
	check "nothing is left in the bucket" store_empty
	check "several clients of one process work at once" \
		sdk dcp_ddp_save model=gpt-mini thread_count=3 out=dcp

	sdk shards size=16M out=save phase=save seed=3 s3.part_size=5M >save.out 2>&1
	expect_eq 0 $? "phase=save keeps the object"
	suffix=$(jq -r .job_results[0].setup.suffix save/shards/*/run_results.json)
	check "phase=load reads the object back" sdk shards size=16M phase=load suffix="$suffix" seed=3
	check "libstore reads the object back" bench shards storage=s3 s3.endpoint="$CKPTFS_TEST_ENDPOINT" \
		s3.uri="s3://$CKPTFS_TEST_BUCKET/some/pre=fix" size=16M phase=load suffix="$suffix" seed=3
	sdk shards size=16M phase=load suffix="$suffix" seed=4 >wrong.out 2>&1
	check "the bytes of another seed are wrong ones" grep -q "load of $suffix/shard-[^ ]* from $storage: wrong byte 0 of tensor" wrong.out
	sdk shards size=16M phase=load suffix="$suffix" seed=4 hold=off >wrong.out 2>&1
	check "wrong bytes are found when they are checked in ranges" grep -q "load of $suffix/shard-[^ ]* from $storage: wrong byte" wrong.out
	sdk shards size=32M phase=load suffix="$suffix" seed=3 verify=off >short.out 2>&1
	check "an object that ends early is an error" grep -q 'No data available' short.out
	check "half of an object can be loaded" \
		sdk shards size=8M phase=load suffix="$suffix" seed=3 verify=off
	sdk shards size=16M phase=load suffix=none >none.out 2>&1
	check "an object that is not there is said" grep -q 'none/shard-.*: No such file' none.out
	bench shards storage="$storage" s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri=s3://other/p 2>bucket.out
	check "a bucket that is not there is said in one line" \
		sh -c 'grep -q "other: No such file.*: make the bucket, or correct s3.uri" bucket.out && [ $(wc -l <bucket.out) = 1 ]'
	bench shards storage="$storage" s3.endpoint=http://127.0.0.1:1 s3.uri=s3://other/p 2>nobody.out
	check "a server that is not there is said in one line" sh -c '[ $(wc -l <nobody.out) = 1 ] &&
		grep -q "Connection refused.*: start the server at 127.0.0.1:1, or correct s3.endpoint" nobody.out'
}

sdk_copied() {
	wanted="$1, $2"; shift 2
	rm -rf copied
	sdk shards size=40M s3.part_size=5M s3.read_size=1M warmup=0 epochs=2 out=copied "$@" >copied.out 2>&1 ||
		diag "$(cat copied.out)"
	expect_eq "$wanted" "$(jq -r '[.job_results[0].metrics | .save, .load | .bytes as $n | .copied
		| [.host_bytes, .pinned_bytes, .pageable_bytes] | map(. / $n | tostring) | join(" ")] | join(", ")' \
		copied/*/*/run_results.json)" "copied on the way, in host memory, pinned and pageable: $*"
}

# denied FAULTS NAME: a store with these faults refuses a save, and nothing of it stays; 2 checks
sdk_denied() {
	store_stop
	echo "$1" >faults.json
	store_start storesim --faults faults.json --data "$tmp/denied"
	sdk shards size=16M out=denied s3.part_size=5M warmup=0 >denied.out 2>&1
	check "a save that the store refuses fails with its word" \
		grep -q "save: .*Permission denied.*AccessDenied" denied.out
	diag "$(cat denied.out)"
	check "a refused save leaves nothing" sh -c '[ -z "$(find "$1" -type f -size +4k)" ]' sh "$tmp/denied"
}

sdk_stopped() {
	store_stop
	store_start storesim --rate 4M --data "$tmp/slow"
	"$builddir/ckptbench" shards storage="$storage" s3.endpoint="$CKPTFS_TEST_ENDPOINT" \
		s3.uri="s3://$CKPTFS_TEST_BUCKET/p" size=64M warmup=0 s3.part_size=5M >stop.out 2>&1 &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	under_way() { find "$tmp/slow" -type f -size +64k | grep -q .; }
	wait_for 30 under_way || diag "nothing goes up: $(cat stop.out)"
	kill -INT "$pid"
	wait "$pid"
	expect_eq 130 $? "SIGINT ends a save"
	no_parts() { [ -z "$(find "$tmp/slow" -type f -size +64k)" ]; }
	check "no upload is left, as soon as the server has noticed" wait_for 20 no_parts
}
