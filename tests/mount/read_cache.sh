#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# read_cache.sh: which reads go through the kernel's page cache.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 23
start_store
head -c 20000000 /dev/urandom >"$tmp/data"
for n in 1 2 3 4 5 6 7; do store_put large$n <"$tmp/data"; done
head -c 1000000 "$tmp/data" >"$tmp/few"
store_put small <"$tmp/few"
stats() { getfattr --absolute-names --only-values -n user.ckptfs.stats "$mnt" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
mark() { past_before=$(stats uncached_bytes) read_before=$(stats read_bytes); }
past() { echo $(($(stats uncached_bytes) - past_before)); }
asked() { echo $(($(stats read_bytes) - read_before)); }
# reads PAST ASKED NAME COMMAND...: so many bytes past the cache, and so many the kernel asked for.
reads() {
	want="$1 $2" name=$3
	shift 3
	mark
	"$@" >"$tmp/out"
	expect_eq "$want, the right bytes" "$(past) $(asked), $(cmp "$tmp/out" "$wanted" && echo the right bytes)" "$name"
}
wanted=$tmp/data
in_large_blocks() { dd if="$mnt/$1" bs=1M status=none; }
in_small_blocks() { dd if="$mnt/$1" bs=4k status=none; }
mount_ckptfs
reads 0 20000000 "by default a file is read through the page cache" in_large_blocks large1
for _ in 1 2 3 4 5; do # until the kernel, which may be short of memory at times, has let them stay
	mark
	in_large_blocks large1 >"$tmp/out"
	[ "$(asked)" -gt 0 ] || break
done
reads 0 0 "by default a file that is read again is in the page cache" in_large_blocks large1
umount_ckptfs

mount_ckptfs read_cache=never
if grep -q 'no shared mappings of files that bypass it' "$mount_log"; then
	umount_ckptfs
	while [ "$tap_n" -lt "$tap_planned" ]; do skip "what bypasses the page cache" "this kernel does not map it"; done
	exit 0
fi
reads 20000000 20000000 "read_cache=never bypasses the page cache" in_large_blocks large1
reads 20000000 20000000 "read_cache=never keeps no pages" in_large_blocks large1
wanted=$tmp/few
reads 1000000 1000000 "read_cache=never bypasses it for small files, too" in_large_blocks small
wanted=$tmp/data
mark
check "a shared mapping has the right bytes though no page is kept of reads" "$tools/tests/mount/readers" shared "$mnt/large2" "$tmp/data"
expect_eq 0 "$(past)" "a mapping has pages of the cache, with read_cache=never, too"
check "a private mapping has the right bytes though no page is kept of reads" "$tools/tests/mount/readers" private "$mnt/large3" "$tmp/data"
umount_ckptfs

mount_ckptfs read_cache=auto
reads 0 20000000 "a program that nothing is known of reads through the page cache" in_large_blocks large1
reads 0 0 "what is in the page cache is read from there" in_large_blocks large1
reads 20000000 20000000 "a program that reads in large blocks bypasses the page cache" in_large_blocks large2
reads 20000000 20000000 "a file that is read again, and is in memory, bypasses it once more" in_large_blocks large2
reads 0 20000000 "a file that is read again and again goes into the page cache" in_large_blocks large2
reads 0 0 "a file that went into the page cache is read from there" in_large_blocks large2
wanted=$tmp/few
reads 0 1000000 "a small file is read through the page cache" in_large_blocks small
wanted=$tmp/data
reads 20000000 20000000 "a program that reads in other blocks has its file read as before" in_small_blocks large3
reads 0 20000000 "a program that read in small blocks reads through the page cache" in_small_blocks large4
reads 0 20000000 "one that was trusted in vain is not trusted again at once" in_large_blocks large5
reads 0 20000000 "it is trusted less easily than before" in_large_blocks large6
reads 20000000 20000000 "in the end it is trusted again" in_large_blocks large7
umount_ckptfs
