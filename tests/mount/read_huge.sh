#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# read_huge.sh: which reads of a file that memory does not hold go through the kernel's page cache.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 20
start_store --ttfb 2ms
size=40000000
head -c $size /dev/urandom >"$tmp/data"
for n in 0 1 2 3 4 5 6; do store_put huge$n <"$tmp/data"; done
mark() { past_before=$(figure uncached_bytes) received_before=$(figure received_bytes); }
past() { echo $(($(figure uncached_bytes) - past_before)); }
# fetched TIMES: at most so many tenths of the file were fetched since the mark
fetched() {
	got=$(($(figure received_bytes) - received_before))
	[ $got -le $((size / 10 * $1)) ] || { echo "$got bytes were fetched"; return 1; }
}
nobody_reads() { [ "$(figure handles)" = 0 ]; }
reads() {
	dd if="$mnt/$1" bs="${2:-1M}" status=none | cmp - "$tmp/data" && wait_for 10 nobody_reads
}
# reads_way PAST NAME FILE: the right bytes, so many past the cache
reads_way() {
	mark
	check "$2: the right bytes" reads "$3"
	expect_eq "$1" "$(past)" "$2"
}

mount_ckptfs memory=64M # of which half may hold what was read
need_mapped_bypass
# A program of which it is not known that others read what it does.
cp "$(command -v dd)" "$tmp/dd2"
from_dd2() { "$tmp/dd2" if="$mnt/$1" bs=1M status=none; }
from_dd2 huge4 >"$tmp/out"
wait_for 10 nobody_reads
mark
"$tmp/dd2" if="$mnt/huge5" of="$tmp/out" bs=1M count=2 status=none
wait_for 10 nobody_reads
from_dd2 huge5 | cmp - "$tmp/data"
expect_eq $((size + (2 << 20))) "$(past)" "who reads the beginning of a file, and then all of it, reads past the page cache"
mark
# Threads of one program, so that none is a block ahead of another, whatever this machine does.
cat >"$tmp/together.py" <<'END'
import os, sys, threading
with open("/proc/self/comm", "w") as f:
    f.write("dd2") # which is trusted with such files by now
size, block = os.stat(sys.argv[2]).st_size, 1 << 20
readers = [os.open(sys.argv[1], os.O_RDONLY) for n in range(8)]
want = os.open(sys.argv[2], os.O_RDONLY)
abreast = threading.Barrier(8, timeout=200)
def read(fd):
    for at in range(0, size, block):
        if os.read(fd, block) != os.pread(want, block, at):
            print("wrong bytes at", at)
        abreast.wait()
threads = [threading.Thread(target=read, args=[fd]) for fd in readers]
for t in threads: t.start()
for t in threads: t.join()
END
expect_eq "" "$(python3 "$tmp/together.py" "$mnt/huge6" "$tmp/data" 2>&1)" "eight who read side by side get the right bytes"
expect_eq $((8 * size)) "$(past)" "eight who read side by side read past the page cache"
check "eight who read side by side fetch a file at most twice" fetched 21

# A program that reads large files in small blocks, too, is trusted late with one that memory does not hold.
cp "$(command -v dd)" "$tmp/dd3"
for n in 1 2 3 4 5 6; do store_put more$n <"$tmp/data"; done
dd3_reads() {
	mark
	"$tmp/dd3" if="$mnt/$1" bs="$2" status=none | cmp - "$tmp/data" && wait_for 10 nobody_reads
}
dd3_reads more1 4k
dd3_reads more2 1M
dd3_reads more3 4k
dd3_reads more4 1M
check "a program that reads both in small and in large blocks gets the right bytes" dd3_reads more5 1M
expect_eq 0 "$(past)" "a program that reads in small blocks, too, is not trusted at once"
dd3_reads more6 1M
expect_eq $size "$(past)" "a program is trusted with such files when it has read enough of them once, in large blocks"
umount_ckptfs

again_and_again() {
	mount_ckptfs memory=64M
	reads huge0 # from here on it is known how dd reads

	reads_way $size "a file that memory does not hold is read past the page cache" huge1
	expect_eq yes "$([ "$(figure read_cache_used)" -le $((40 << 20)) ] && echo yes)" \
		"what is read past the page cache, and does not fit, stays in bounds"
	reads_way 0 "who reads again what memory does not hold goes through the page cache" huge1
	mark
	check "a file that was read twice is in the page cache" reads huge1
	check "a file that is in the page cache is not fetched" fetched 1
	reads_way 0 "the next such file is read through the page cache, since the last was read twice" huge2
	reads_way $size "a program whose last file was read once has the next one read past it" huge3
	asked_again=$(($(figure read_bytes) % size)) # a page at a time, where it had no memory for more
	umount_ckptfs
}
undisturbed again_and_again
