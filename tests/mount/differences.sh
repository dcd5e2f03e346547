#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# differences.sh: what ckptfs(1) says of the differences from a local disk, and of attributes.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 29
start_store
mount_ckptfs attr_ttl=0
use_mount other
mount_ckptfs attr_ttl=0
other=$mnt
use_mount first

# python_says CODE...: what it prints; m is the mount, and an OSError is its name.
python_says() {
	m=$mnt o=$tools/tests/lib/objects timeout 60 python3 -c 'import errno, os, sys
m, store_cat = os.environ["m"], os.environ["o"] + " cat"
try: exec(sys.argv[1])
except OSError as e: print(errno.errorcode[e.errno].replace("ENOTSUP", "EOPNOTSUPP"))' "$1" 2>&1
}

printf 0123456789 >"$mnt/file"
mkdir -p "$mnt/d/e" "$mnt/d/f"
# promise: links.hard
expect_eq EOPNOTSUPP "$(python_says 'os.open(m, os.O_TMPFILE | os.O_RDWR)')" "a file without a name is refused (O_TMPFILE)"
# promise: links.hard
check_fails "inode flags are refused" chattr +a "$mnt/file"
# promise: links.hard
expect_eq EPERM "$(fdo link "$mnt/file" "$mnt/hard")" "a hard link is refused with EPERM"
# promise: dir.nlink
expect_eq 2 "$(stat -c %h "$mnt/d")" "a directory has a link count of 2, whatever is in it"
# promise: statfs
expect_eq "8.0E 8.0E" "$(df -h --output=size,avail "$mnt" | tail -n 1 | xargs)" "the mount shows 8 EiB that are free"

fdo_begin open wct "$mnt/open" write 5 pause close
check "sync(2) returns while a file is being written" timeout 200 sync
check "syncfs(2) returns while a file is being written" timeout 60 sync -f "$mnt/file"
# promise: sync.all
expect_eq "" "$(store_ls open)" "sync and syncfs publish nothing"
fdo_ends "ok ok ok ok" "a writer goes on after sync"

expect_eq dsync "$(python_says 'f = os.open(m + "/dsync", os.O_CREAT | os.O_WRONLY | os.O_DSYNC)
os.write(f, b"dsync")
sys.stdout.flush()
# promise: sync.flags
os.system(store_cat + " dsync")')" "a write of O_DSYNC is published before the close"
expect_eq "RWF_SYNC" "$(python_says 'f = os.open(m + "/rwf", os.O_CREAT | os.O_RDWR)
os.pwritev(f, [b"RWF_SYNC"], 0, os.RWF_SYNC)
# promise: sync.flags
os.system(store_cat + " rwf")')" "a write with RWF_SYNC is published before the close"
expect_eq "once, twice" "$(python_says 'f = os.open(m + "/rwfw", os.O_CREAT | os.O_WRONLY)
os.pwritev(f, [b"once, "], 0, os.RWF_DSYNC)
os.pwritev(f, [b"twice"], 6, os.RWF_SYNC)
os.pwritev(f, [b"not yet"], 11, 0)
# promise: sync.flags
os.system(store_cat + " rwfw")')" "a write with RWF_SYNC by a descriptor that only writes is published, and no other"
expect_eq "direct" "$(python_says 'f = os.open(m + "/direct", os.O_CREAT | os.O_WRONLY | os.O_DIRECT | os.O_SYNC)
os.write(f, b"direct")
# promise: sync.flags
os.system(store_cat + " direct")')" "a write of O_DIRECT and O_SYNC is published before the close"
# promise: sync.flags
expect_eq EOPNOTSUPP "$(python_says 'os.preadv(os.open(m + "/file", os.O_RDONLY), [bytearray(3)], 0, os.RWF_NOWAIT)')" \
	"RWF_NOWAIT is refused"

# Linux 6.9 has it.
expect_eq "begin, end" "$(python_says 'f = os.open(m + "/ends", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
os.write(f, b"begin")
try: os.pwritev(f, [b", end"], 0, 0x20)
except OSError: os.write(f, b", end")
os.close(f)
# promise: sync.flags
os.system(store_cat + " ends")')" "a write with RWF_NOAPPEND appends"

# promise: fallocate
expect_eq "ok ok ok 100 ok" "$(fdo open w "$mnt/file" fallocate 0 100 keepsize 0 5000 fsize close)" \
	"fallocate() makes a file longer, and with KEEP_SIZE does not"
# promise: holes.zeros
expect_eq "ok ok 2000 0 2000 ok" "$(fdo open +ct "$mnt/hole" ftruncate 2000 fsize seekdata 0 seekhole 0 close)" \
	"a hole is data to SEEK_DATA and SEEK_HOLE"
# promise: holes.zeros
expect_eq "2000 0" "$(store_cat hole | wc -c) $(store_cat hole | tr -d '\0' | wc -c)" "a hole is sent as zeros"

exec 7>"$mnt/lock" 6>"$other/lock"
check "a lock of one mount is taken" flock -n 7
# promise: locks.one-mount
check "another mount does not see the lock" flock -n 6
exec 7>&- 6>&-

old=$(stat -c '%X %Y' "$mnt/file")
cat "$mnt/file" >/dev/null
# promise: attrs.atime
expect_eq "$old" "$(stat -c '%X %Y' "$mnt/file")" "reading moves neither atime nor mtime"
# promise: attrs.atime
expect_eq "${old#* }" "$(stat -c %X "$mnt/file")" "an atime that was never set is the mtime"
touch -a -d @1000000000 "$mnt/file"
# promise: attrs.atime
expect_eq 1000000000 "$(stat -c %X "$other/file")" "an atime that was set travels with the object"

chmod 640 "$mnt/file"
requests_mark
chmod 640 "$mnt/file"
chown "$(stat -c %u "$mnt/file")" "$mnt/file"
# promise: attrs.same
expect_requests "a change to the values that are there sends nothing" SetMeta=0 PutObject=0

umount_ckptfs
use_mount other
umount_ckptfs
use_mount first

mount_ckptfs attr_ttl=0
cat >"$tmp/quota.json" <<-END
	[{"op": "PutObject", "do": "status", "status": 507}]
END
printf old | store_put pages
set_faults "$tmp/quota.json"
# promise: errno.ENOSPC
expect_eq "ok ok ENOSPC" "$(fdo open wct "$mnt/quota" write 5 close)" "a store without room is told by ENOSPC"
expect_eq "new ENOSPC old" "$(python_says 'r = os.open(m + "/pages", os.O_RDONLY)
os.pread(r, 3, 0)
w = os.open(m + "/pages", os.O_RDWR)
os.write(w, b"new")
print(os.pread(r, 3, 0).decode(), end=" ")
try: os.close(w)
except OSError as e: print(errno.errorcode[e.errno], end=" ")
os.open(m + "/pages", os.O_RDONLY)
# promise: publish.old-stands
print(os.pread(r, 3, 0).decode())')" "who had the file open reads the old version from the next open on, after an error"
set_faults
expect_log 'store: put .* 507 |pages: not published'
expect_log 'quota: not published, .*No space left'
umount_ckptfs
