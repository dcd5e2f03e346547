#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spill.sh: what neither can be sent nor has room in memory goes to a bounded local file.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 14
start_store
mkdir "$tmp/spill"
head -c 200000000 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=16M memory=64M spill=256M spill_dir="$tmp/spill" attr_ttl=0

# Every part but the first few has a hole: none is whole before the last write.
set -- src "$tmp/data" open +ct "$mnt/holes"
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)); done
set -- "$@" pread 100000 1000 pread 100000 100000000
said=$(fdo "$@" close)
case $said in *E[A-Z]*) not_ok "a file of parts with holes"; diag "$said" ;; *) ok "a file of parts with holes" ;; esac
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
	dd if="$tmp/data" of="$tmp/want" bs=1M iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc \
		skip=$((i * 16777216 + 1000)) seek=$((i * 16777216 + 1000)) count=15000000 status=none
done
same "a file of parts with holes is published whole" "$tmp/want" holes
check "a file of parts with holes is read back" cmp "$tmp/want" "$mnt/holes"

# What was sent can be read by who also writes.
fdo_begin src "$tmp/data" open +ct "$mnt/both" write 150000000 pause close
check "a read-write descriptor's file is read while it is larger than memory" \
	cmp -n 150000000 "$tmp/data" "$mnt/both"
fdo_ends "ok ok ok ok ok" "a read-write file that is larger than memory is closed"
check "a read-write file that is larger than memory is read byte for byte" sh -c 'head -c 150000000 "$1" | cmp - "$2"' sh "$tmp/data" "$mnt/both"
umount_ckptfs

mount_ckptfs part_size=16M memory=64M spill=64M spill_dir="$tmp/spill" attr_ttl=0
set -- src "$tmp/data" open +ct "$mnt/full"
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)); done
said=$(fdo "$@" close 2>&1)
# promise: room.full
case $said in *ENOSPC*) ok "a write without room says ENOSPC" ;; *) not_ok "a write without room says ENOSPC"; diag "$said" ;; esac
case $said in *ENOSPC*ok) ok "a close without room publishes what was taken" ;; *) not_ok "a close without room publishes what was taken"; diag "$said" ;; esac
n=$(objects size full)
head -c 15001000 "$tmp/want" >"$tmp/first"
# promise: room.full
check "nothing is lost of what a write without room took" sh -c 'head -c 15001000 "$1" | cmp - "$2"' sh "$mnt/full" "$tmp/first"
check "more than the first of the writes is published" test "$n" -gt 15001000
expect_eq "ok ok ok" "$(fdo open wct "$mnt/after" write 1000000 close)" "a file is written when there is room again"
expect_eq 1000000 "$(objects size after)" "a file that is written when there is room has its size at the store"
expect_log 'full: a write is refused, since memory is full and the spill file takes nothing'
umount_ckptfs
