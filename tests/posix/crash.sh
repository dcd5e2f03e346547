#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crash.sh: the daemon is killed at random points of random work. What was synced or closed is there
# afterwards; what was not is the old file or the new one, whole; and `ckptctl` finds nothing broken.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
seeds=${CKPTFS_SEEDS:-1 2 3 4 5 6}
plan $(($(echo $seeds | wc -w) * 3))
start_store

# What the shell says of a daemon that is killed is no output of these.
crash() { timeout -k 5 600 "$builddir/tests/posix/crash" "$@" >>"$tmp/out" 2>&1; }
for seed in $seeds; do
	: >"$tmp/out"
	mount_ckptfs part_size=5M
	crash work "$mnt" "$seed" $((20 + seed % 7 * 5)) "$mount_pid" "$tmp/expect"
	kill -KILL "$mount_pid" 2>/dev/null
	wait "$mount_pid" 2>/dev/null
	mount_pid=
	umount -l "$mnt"
	[ -s "$tmp/expect" ] || echo "crash says nothing of what must be there" >>"$tmp/out"
	mount_ckptfs part_size=5M
	crash check "$mnt" "$tmp/expect"
	# promise: publish.durable
	expect_eq "0 " "$? $(cat "$tmp/out")" "seed $seed: each file is whole, and what was synced is there"
	"$builddir/ckptctl" recover -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" >"$tmp/out" 2>&1
	expect_eq "0 " "$? $(cat "$tmp/out")" "seed $seed: ckptctl finds nothing broken"
	rm -rf "$mnt"/*
	umount_ckptfs
done
