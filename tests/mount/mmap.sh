#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mmap.sh: what a program writes through a shared mapping is published as what it writes otherwise.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 15
start_store
head -c 12000000 /dev/urandom >"$tmp/data"
head -c 12000000 /dev/zero | store_put old
mount_ckptfs part_size=5M attr_ttl=0

expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open + "$mnt/old" mapwrite 1000000 5000000 close)" \
	"a piece of a published file is changed by a mapping"
cp "$mnt/old" "$tmp/back"
head -c 12000000 /dev/zero >"$tmp/want"
dd if="$tmp/data" of="$tmp/want" bs=1000000 skip=5 seek=5 count=1 conv=notrunc status=none
same "close publishes what a mapping changed" "$tmp/want" old
check "the mount reads what a mapping changed" cmp "$tmp/want" "$tmp/back"

expect_eq "ok ok ok ok ok" \
	"$(fdo src "$tmp/data" open +ct "$mnt/new" ftruncate 12000000 mapwrite 12000000 0 close)" \
	"a new file is written by a mapping"
same "close publishes a new file of a mapping" "$tmp/data" new

fdo_begin src "$tmp/data" open +ct "$mnt/synced" ftruncate 12000000 mapwrite 12000000 0 fsync pause close
# promise: bytes.msync
same "fsync publishes a new file of a mapping" "$tmp/data" synced
fdo_ends "ok ok ok ok ok ok ok" "a file that a mapping wrote is closed after fsync"

expect_eq "ok ok ok ok 4 ok" \
	"$(fdo src "$tmp/data" open +ct "$mnt/mixed" write 8000000 mapwrite 4000 8000 pread 4 8000 close)" \
	"a mapping and writes are of one file"
expect_eq "$(head -c 8000000 "$tmp/data" | cksum)" "$(store_cat mixed | cksum)" "a file of a mapping and writes is at the store byte for byte"
expect_eq "ok 12000000" "$(fdo open r "$mnt/new" pread 12000000 0)" \
	"a mapping and writes are read as written"
expect_eq "ok ok ok ok" \
	"$(fdo src "$tmp/data" open +ct "$mnt/late" ftruncate 12000000 mapclosed 12000000 0)" \
	"a file is written by a mapping after it was closed"
late_is_right() { store_cat late | cmp -s - "$tmp/data"; }
# promise: bytes.msync
check "the end of the mapping publishes it" wait_for 30 late_is_right
umount_ckptfs

# The daemon has not taken the ends of many mappings yet when it is told to end.
mount_ckptfs attr_ttl=0
cat >"$tmp/ends.py" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
for i in range(100):
    path = f"{sys.argv[1]}/ends{i}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(fd, 4096)
    at = libc.mmap(None, 4096, 3, 1, fd, 0)
    os.close(fd)
    ctypes.memmove(at, b"x" * 4096, 4096)
    fd = os.open(path, os.O_RDONLY)
    if libc.sync_file_range(fd, 0, 4096, 7):  # to the daemon, and not to the store
        sys.exit("sync_file_range")
    os.close(fd)
print("written", flush=True)
sys.stdin.readline()
END
mkfifo "$tmp/go"
python3 "$tmp/ends.py" "$mnt" <"$tmp/go" >"$tmp/written" 2>&1 &
ends=$!
exec 5>"$tmp/go"
wait_for 30 grep -q written "$tmp/written"
freeze "$mount_pid"
echo go >&5
wait $ends
kill -TERM "$mount_pid"
thaw "$mount_pid"
mount_ended "SIGTERM comes when mappings have ended"
for i in $(seq 0 99); do store_cat ends$i | grep -c '^x*$'; done >"$tmp/right"
expect_eq "100 1" "$(words <"$tmp/right")" "what was written through mappings that ended before SIGTERM came is published"
