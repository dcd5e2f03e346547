#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# listing_large.sh: a directory of very many entries begins at once and is listed in bounded memory, of
# which a sanitizer tells nothing: its runs have fewer.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 lists a part of a directory here"
plan 8
n=250000
! sanitized || n=30000
start_store --null --fill many/f=$n
mount_ckptfs attr_ttl=60s
names() {
	python3 -c 'import os, sys
n, last = 0, ""
for e in os.scandir(sys.argv[1]):
    n += e.name > last
    last = e.name
    if n == int(sys.argv[2]):
        break
print(n, last)' "$mnt/many" "$1"
}
had() { awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$mount_pid/status"; }

# promise: list.bounded
expect_eq "1 f00000000" "$(names 1)" "the first entry is told"
before=$(had)
requests_mark
# promise: list.once
expect_eq "$n $(printf 'f%08d' $((n - 1)))" "$(names 0)" "$n entries are listed, each once, in order"
check "$n entries ask for a page of 1,000 a request" test "$(requests_of ListObjectsV2)" -le $((n / 1000 + 2))
expect_eq "8999 6000 3000 0" "$(python3 -c 'import ctypes, sys
libc = ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
d = ctypes.c_void_p(libc.opendir(sys.argv[1].encode()))
libc.telldir.restype, libc.seekdir.argtypes = ctypes.c_long, [ctypes.c_void_p, ctypes.c_long]
name = lambda: ctypes.string_at(libc.readdir(d) + 19).decode()
dots, places = {name(), name()}, []
for _ in range(9000):
    places.append(libc.telldir(d))
    last = name()
print(int(last[1:]), end="")
for i in (6000, 3000, 0):
    libc.seekdir(d, places[i])
    print("", int(name()[1:]), end="")' "$mnt/many")" "a place thousands of entries before is found again"
more=$(($(had) - before))
most=32
! on_gs || most=96 # with nodes of the first 131,072
if sanitized; then skip "$n entries take less than $most MiB" "a sanitizer needs memory of its own"; else
	check "$n entries take less than $most MiB" test "$more" -lt $most
fi

# Later pages come when the test is long over.
set_faults pages_late
requests_mark
expect_eq "100 f00000099" "$(timeout 40 env PYTHONUNBUFFERED=1 python3 -c 'import os, sys
n = 0
for e in os.scandir(sys.argv[1]):
    n += 1
    if n == 100:
        print(n, e.name)
        os._exit(0)' "$mnt/many")" "the first entries come before the last page"
check "few pages were asked for before the first entries came" test "$(requests_of ListObjectsV2)" -le 9
umount_ckptfs
