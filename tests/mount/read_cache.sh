#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# read_cache.sh: which reads go through the kernel's page cache.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 24
start_store
head -c 20000000 /dev/urandom >"$tmp/data"
head -c 1000000 "$tmp/data" >"$tmp/few"
mark() { past_before=$(figure uncached_bytes) read_before=$(figure read_bytes); }
past() { echo $(($(figure uncached_bytes) - past_before)); }
asked() { echo $(($(figure read_bytes) - read_before)); }
nobody_reads() { [ "$(figure handles)" = 0 ]; }
tab=$(printf '\t')
# reads PAST ASKED NAME COMMAND...: so many bytes past the cache, and so many the kernel asked for.
reads() {
	want="$1 $2, the right bytes" name=$3
	shift 3
	mark
	"$@" >"$tmp/out"
	wait_for 10 nobody_reads
	got="$(past) $(asked), $(cmp "$tmp/out" "$wanted" && echo the right bytes)"
	echo "$want$tab$got$tab$name" >>"$tmp/seen"
}
wanted=$tmp/data
in_large_blocks() { "$tmp/dd$turn" if="$mnt/$turn-$1" bs=1M status=none; }
in_small_blocks() { "$tmp/dd$turn" if="$mnt/$turn-$1" bs=4k status=none; }
turn=0
# Files, and a program, of which the mount knows nothing yet.
begin_turn() {
	turn=$((turn + 1))
	for n in 1 2 3 4 5 6 7; do store_put $turn-large$n <"$tmp/data"; done
	store_put $turn-small <"$tmp/few"
	cp "$(command -v dd)" "$tmp/dd$turn"
	: >"$tmp/seen"
}
# expect_reads STEPS: one check for each read. The kernel may drop pages at any moment, however much memory is
# free, and then asks for them again: the steps are tried until it let them stay, on other files each time.
expect_reads() {
	for _ in 1 2 3 4 5 6; do
		begin_turn
		"$1"
		awk -F '\t' '$1 != $2 { exit 1 }' "$tmp/seen" && break
	done
	while IFS=$tab read -r want got name; do expect_eq "$want" "$got" "$name"; done <"$tmp/seen"
}

always() {
	reads 0 20000000 "read_cache=always has a file read through the page cache" in_large_blocks large1
	reads 0 0 "read_cache=always has a file that is read again in the page cache" in_large_blocks large1
	reads 0 20000000 "read_cache=always has each file read through the page cache" in_large_blocks large2
}
mount_ckptfs read_cache=always
expect_reads always
umount_ckptfs

mount_ckptfs read_cache=never
need_mapped_bypass
never() {
	reads 20000000 20000000 "read_cache=never bypasses the page cache" in_large_blocks large1
	reads 20000000 20000000 "read_cache=never keeps no pages" in_large_blocks large1
	wanted=$tmp/few
	reads 1000000 1000000 "read_cache=never bypasses it for small files, too" in_large_blocks small
	wanted=$tmp/data
}
expect_reads never
mark
check "a shared mapping has the right bytes though no page is kept of reads" "$tools/tests/mount/readers" shared "$mnt/$turn-large2" "$tmp/data"
expect_eq 0 "$(past)" "a mapping has pages of the cache, with read_cache=never, too"
check "a private mapping has the right bytes though no page is kept of reads" "$tools/tests/mount/readers" private "$mnt/$turn-large3" "$tmp/data"
umount_ckptfs

auto() {
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
}
mount_ckptfs # read_cache=auto
expect_reads auto
umount_ckptfs
