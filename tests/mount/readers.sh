#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readers.sh: reads of every kind give the bytes of the object.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 18
start_store --ttfb 3ms
head -c 40000003 /dev/urandom >"$tmp/data"
store_put file <"$tmp/data"
head -c 100001 "$tmp/data" | store_put small
: | store_put empty

# Each mount reads the store, not the kernel's pages of the one before.
for options in read_size=1M memory=64M,read_size=4M; do
	mount_ckptfs $options
	for way in streams random backward direct private shared end; do
		check "readers get the right bytes: $way ($options)" "$tools/tests/mount/readers" $way "$mnt/file" "$tmp/data"
		forget_pages "$mnt/file"
	done
	[ $options = read_size=1M ] || break
	umount_ckptfs
done
head -c 100001 "$tmp/data" >"$tmp/small"
check "readers get the right bytes of a small file" "$tools/tests/mount/readers" random "$mnt/small" "$tmp/small"
expect_eq "ok 0 0 0" "$(fdo open r "$mnt/empty" pread 10 0 pread 10 5 size "$mnt/empty")" "readers get an empty file"
umount_ckptfs
