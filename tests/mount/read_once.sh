#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# read_once.sh: what is read past the page cache is fetched once, however many read it, and is never another version.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 19
start_store --ttfb 2ms
size=40000000
head -c $size /dev/urandom >"$tmp/data"
head -c $size /dev/urandom >"$tmp/other"
for n in 0 1 2 3 4; do store_put large$n <"$tmp/data"; done
received() { figure received_bytes; }
mark() { received_before=$(received); }
# At most 1.1 times the file was fetched since the mark.
once() { fetched=$(($(received) - received_before)); [ $fetched -le $((size / 10 * 11)) ] || { echo "$fetched bytes were fetched"; return 1; }; }
none() { fetched=$(($(received) - received_before)); [ $fetched -le $((size / 10)) ] || { echo "$fetched bytes were fetched"; return 1; }; }
reads() { dd if="$mnt/$1" bs="$2" status=none | cmp - "$3"; }
together() {
	pids=''
	for n in 1 2 3 4 5 6 7 8; do
		reads "$1" "$2" "$tmp/data" >"$tmp/reader$n" 2>&1 &
		pids="$pids $!"
	done
	bad=0
	for pid in $pids; do wait "$pid" || bad=$((bad + 1)); done
	[ $bad = 0 ] || { cat "$tmp"/reader[1-8]; return 1; }
}
all_in_turn() { for n in 1 4 1 4 0; do reads large$n 1M "$tmp/data" || return 1; done; }
in_turn() { for n in 1 2 3 4 5 6 7 8; do reads "$1" "$2" "$tmp/data" || return 1; done; }

mount_ckptfs read_cache=auto attr_ttl=0
need_mapped_bypass
reads large0 1M "$tmp/data" # from here on it is known how dd reads
mark
check "eight readers that begin together get the right bytes" together large1 1M
check "eight readers that begin together fetch a file once" once
mark
check "eight readers, one after the other, get the right bytes" in_turn large2 1M
check "eight readers, one after the other, fetch a file once" once
mark
check "readers in blocks of 128 KiB that begin together get the right bytes" together large3 128k
check "readers in blocks of 128 KiB that begin together fetch a file once" once
reads large4 1M "$tmp/data" # who reads it for the third time fills the page cache
mark
check "a file that was read, and closed, is read from memory" reads large4 1M "$tmp/data"
check "what is read from memory is not fetched" none
hits=$(figure read_cache_hits) misses=$(figure read_misses) ahead=$(figure readahead_hits) asked=$(figure read_bytes)
reads large4 1M "$tmp/data"
hits=$(($(figure read_cache_hits) - hits)) misses=$(($(figure read_misses) - misses)) ahead=$(($(figure readahead_hits) - ahead))
asked=$(($(figure read_bytes) - asked)) # by the kernel, which may have dropped a page meanwhile
diag "from memory $hits, missed $misses, ahead $ahead"
expect_eq "$asked yes" "$((hits + misses + ahead)) $([ $hits -ge $((size / 10 * 9)) ] && echo yes)" \
	"the metrics count each byte once, and most as read from memory"
check "the metrics count the memory that it takes" test "$(figure read_cache_used)" -ge $((size / 10 * 9))
store_put large3 <"$tmp/other"
check "a version of another host is read though the one before is in memory" reads large3 1M "$tmp/other"
dd if="$tmp/data" of="$mnt/large3" bs=1M status=none
check "a version that was written here is read though the one before is in memory" reads large3 1M "$tmp/data"
mv "$mnt/large3" "$mnt/large2"
check "a file that was renamed over one in memory is read" reads large2 1M "$tmp/data"
rm "$mnt/large2"
check_fails "a file that was removed is gone, though it is in memory" cat "$mnt/large2"
umount_ckptfs

# Half of it is for what was read: one such file fits, two do not.
mount_ckptfs read_cache=auto memory=96M
reads large0 1M "$tmp/data"
check "files that do not fit into memory together are read byte for byte" all_in_turn
cp "$tmp/other" "$mnt/new"
check "memory that is full of what was read is there for what is written" cmp "$mnt/new" "$tmp/other"
check "what stays in memory is part of what memory= allows" [ "$(figure pool_peak)" -le $((104 << 20)) ]
umount_ckptfs
