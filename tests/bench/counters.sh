#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# counters.sh: the bytes that ranks say they moved are those that the store's log has, that the store's
# client counted, and that a mount counted.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 17
cd "$tmp" || exit 1
mkdir mnt
echo '[]' >faults
store_start storesim --log "$tmp/requests" --faults "$tmp/faults"
uri=s3://$CKPTFS_TEST_BUCKET

# Bytes of bodies that the store took as data, and gave.
took() { awk '$2 == "UploadPart" || $2 == "PutObject" { n += $7 } END { print n + 0 }' requests; }
gave() { awk '$2 == "GetObject" { n += $8 } END { print n + 0 }' requests; }
# of OUT FIELD: of the last job
of() { jq -r ".job_results[-1].metrics$2" "$(ls -d "$1"/*/*/run_results.json | tail -n 1)"; }
ranks() { :>requests; bench "$@" >run.out 2>&1 || diag "$(cat run.out)"; }
shards="shards size=24M s3.part_size=5M s3.read_size=1M warmup=0 epochs=2"

ranks $shards storage=s3 s3.uri=$uri/p s3.endpoint="$CKPTFS_TEST_ENDPOINT" out=s3
expect_eq "$(of s3 .save.bytes) $(of s3 .load.bytes)" "$(took) $(gave)" "the store's log agrees with the rank"
check "libstore's client counts data, and the requests that end uploads" jq -e '.job_results[0].metrics
	| .save.counted.sent_bytes >= .save.bytes and .save.counted.over_ranks < 1.01
	and .load.counted.received_bytes == .load.bytes and .load.counted.over_ranks == 1' s3/*/*/run_results.json
check "the table says what the store counted" grep -q 'the store counted 1.00[0-9] times what was saved and 1.000 times what was loaded' run.out

check "what libstore hands out is copied once to where the shard is, and what it sends never" jq -e '.job_results[0].metrics
	| .save.copied.host_bytes == 0 and .load.copied.host_bytes == .load.bytes' s3/*/*/run_results.json

# A part that is sent again is the client's and the store's, not the rank's.
store_rules faults '[{"op": "UploadPart", "part": 2, "times": 1, "do": "status"}]'
ranks $shards epochs=1 phase=save storage=s3 s3.uri=$uri/p s3.endpoint="$CKPTFS_TEST_ENDPOINT" out=again
expect_eq "$(took)" "$(($(of again .save.bytes) + 5242880))" "what is sent again the store counts, and the rank does not"
check "the result shows what was sent again" jq -e '.job_results[0].metrics.save
	| .counted.sent_bytes >= .bytes + 5242880 and .counted.over_ranks > 1.1' again/*/*/run_results.json
store_rules faults '[]'

ranks dcp_ddp_save model=gpt-mini optimizer=on thread_count=3 storage=s3 s3.uri=$uri/dcp s3.endpoint="$CKPTFS_TEST_ENDPOINT" out=dcp
metadata=$(awk '$2 == "PutObject" && $4 ~ /metadata/ { n += $7 } END { print n + 0 }' requests)
expect_eq "$(of dcp .save.bytes)" "$(($(took) - metadata))" "the log agrees with a rank that saves several files"
suffix=$(jq -r .job_results[0].setup.suffix dcp/*/*/run_results.json)
ranks dcp_ddp_load model=gpt-mini optimizer=on storage=s3 s3.uri=$uri/dcp s3.endpoint="$CKPTFS_TEST_ENDPOINT" suffix="$suffix" out=back
metadata=$(awk '$2 == "GetObject" && $4 ~ /metadata/ { n += $8 } END { print n + 0 }' requests)
expect_eq "$(of back .load.bytes) $(of back .load.counted.received_bytes)" "$(($(gave) - metadata)) $(gave)" \
	"the log agrees with a load of several files, which reads .metadata too"
if bench_mpi true; then
	:>requests
	bench_mpi bench $shards storage=s3 s3.uri=$uri/two s3.endpoint="$CKPTFS_TEST_ENDPOINT" out=two >run.out 2>&1
	expect_eq "$(of two .save.bytes) $(of two .load.bytes) $(of two .load.bytes)" \
		"$(took) $(gave) $(of two .load.counted.received_bytes)" "the log agrees with the sum of two ranks"
else
	skip "the log agrees with the sum of two ranks" "$bench_no_mpi"
fi

ranks datagen -n 40 --resolution 60x40 --image-format PPM s3.uri=$uri dataset=set s3.endpoint="$CKPTFS_TEST_ENDPOINT" out=gen
ranks dataset dataset=set s3.bucket="$CKPTFS_TEST_BUCKET" s3.endpoint="$CKPTFS_TEST_ENDPOINT" epochs=2 dataloader=map out=set
expect_eq "$(of set .bytes) $(of set .load.counted.received_bytes)" "$(gave) $(gave)" "the log agrees with the samples of a dataset"

if [ -w /dev/fuse ]; then
	spawn "$builddir/ckptfs" -f "$uri" "$tmp/mnt" -o "endpoint=$CKPTFS_TEST_ENDPOINT"
	at_exit 'timeout 20 umount "$tmp/mnt" 2>/dev/null || timeout 20 umount -l "$tmp/mnt" 2>/dev/null'
	wait_for 20 mountpoint -q mnt
	# When somebody drops the caches of the machine in the middle of a load, the kernel asks the mount for
	# pages once more, and both count them: that run is made again.
	drops() { sed -n 's/^drop_pagecache //p' /proc/vmstat; }
	for try in 1 2 3 4 5 6 7 8; do
		before=$(drops)
		:>requests
		timeout 600 "$builddir/ckptbench" $shards storage=mount mount.path="$tmp/mnt" out=mount >run.out 2>&1
		status=$?
		[ "$(drops)" != "$before" ] || break
		diag "caches were dropped meanwhile: $(grep counted run.out)"
	done
	expect_eq 0 $status "a run through a mount succeeds"
	diag "$(grep counted run.out)"
	expect_eq "$(gave)" "$(of mount .load.counted.received_bytes)" "the mount counts all that the store sent"
	expect_eq "$(of mount .save.bytes) $(of mount .load.bytes)" \
		"$(of mount .save.counted.written_bytes) $(of mount .load.counted.read_bytes)" \
		"the mount counts the bytes of the ranks"
	expect_eq "$(of mount .save.bytes) $(of mount .load.bytes)" "$(took) $(gave)" "the store's log has as many bytes as ranks moved through a mount"
	check "the mount counts what its client sent and received" jq -e '.job_results[0].metrics
		| .save.counted.over_ranks >= 1 and .save.counted.over_ranks < 1.01
		and .load.counted.received_bytes == .load.bytes' mount/*/*/run_results.json
else
	for t in 1 2 3 4 5; do skip "a run through a mount succeeds" "/dev/fuse cannot be opened"; done
fi

ranks shards size=1M storage=null warmup=0 out=null
expect_eq "null null" "$(of null .save.counted) $(of null .load.counted)" "a storage that counts nothing has no such figures"
mkdir disk
ranks shards size=1M storage=disk path=disk warmup=0 out=disk
expect_eq "null $(of disk .save.bytes)" "$(of disk .save.counted) $(of disk .load.bytes)" "a disk counts nothing, and its ranks tell what they moved"
