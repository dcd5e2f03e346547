#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# through_mount.sh: what ckptbench measures through a mount of ckptfs, with the store beside it.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
[ -w /dev/fuse ] || skip_all "/dev/fuse cannot be opened"
plan 13
cd "$tmp" || exit 1
mkdir mnt
store_start storesim
spawn "$builddir/ckptfs" -f "s3://$CKPTFS_TEST_BUCKET" mnt -o "endpoint=$CKPTFS_TEST_ENDPOINT"
at_exit 'umount "$tmp/mnt" 2>/dev/null || umount -l "$tmp/mnt" 2>/dev/null'
mount_pid=$spawned
wait_for 20 mountpoint -q mnt || exit 1
uri=s3://$CKPTFS_TEST_BUCKET
both() { bench "$@" mount.path="$tmp/mnt" s3.uri="$uri" s3.endpoint="$CKPTFS_TEST_ENDPOINT"; }

both shards storage=mount,s3 size=48M out=shards server.pid="$store_pid" >shards.out 2>&1
expect_eq 0 $? "shards go through the mount and directly"
diag "$(cat shards.out)"
run=$(echo shards/shards/*/run_results.json)
expect_eq "$mount_pid" "$(jq .job_results[0].setup.mount_pid "$run")" "the process of a mount that was given a relative path is found"
check "the CPU time of the mount's process counts" jq -e '.job_results[0].metrics.save | .cpu_mount_s_per_gb > 0
	and (.cpu_s_per_gb - .cpu_mount_s_per_gb - .cpu_ranks_s_per_gb | fabs < 1e-9)' "$run"
check "every byte is verified" \
	jq -e '.job_results[0].setup.verified == "every timed byte, after the clock"' "$run"
check "the ratio to s3 is there" grep -qE '^mount .* [0-9.]+ +[0-9.]+$' shards.out
expect_eq "" "$(ls mnt)" "no file is left in the mount"

both firstbyte objects=8 out=first >first.out 2>&1
expect_eq 0 $? "the first byte of files is measured"
check "the first byte is compared with the store's own time" grep -q '^over the store: [-0-9.]* ms' first.out
diag "$(cat first.out)"
both list objects=1500 epochs=1 out=list >list.out 2>&1
expect_eq 0 $? "the names of 1,500 objects are listed"
check "the listing is compared with libstore's" grep -q '^ls -l over libstore: [0-9.]*' list.out
diag "$(cat list.out)"
both small objects=200 epochs=2 out=small >small.out 2>&1
expect_eq 0 $? "many small files are measured"
check "small files are compared with libstore's rate" grep -q '^rate over libstore: [0-9.]*' small.out
diag "$(cat small.out)"
check "nothing is left in the bucket" wait_for 20 sh -c '[ -z "$(ls -A "$1/mnt")" ]' sh "$tmp"
