#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mixed.sh: handles, mappings and processes agree on a file, whether the kernel keeps its pages or not.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 12
start_store
head -c 18000000 /dev/urandom >"$tmp/data"
mixed() { timeout -k 5 150 "$tools/tests/mount/mixed" "$@" "$mnt/file"; }
all_turns() { for seed in ${CKPTFS_SEEDS:-1 2 3 4}; do mixed turns "$seed" "${CKPTFS_STEPS:-300}" || return 1; done; }

for cache in always never auto; do
	store_put file <"$tmp/data"
	mount_ckptfs read_cache=$cache part_size=64M attr_ttl=0
	# promise: read.local
	check "two processes read what was written last, whichever way (read_cache=$cache)" all_turns
	cp "$mnt/file" "$tmp/seen"
	same "what was written each way is published (read_cache=$cache)" "$tmp/seen" file
	check "who reads beside a writer has no old bytes when it rests (read_cache=$cache)" mixed race 3
	umount_ckptfs
done
