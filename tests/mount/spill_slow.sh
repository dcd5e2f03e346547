#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spill_slow.sh: the disk under the spill file stands still: who writes waits, and nobody else does.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v bindfs >/dev/null || skip_all "bindfs is not installed"
plan 8
start_store
head -c 100000000 /dev/urandom >"$tmp/data"
echo other | store_put other

# A disk that can be stopped: a file system of a process.
disk=$tmp/disk
mkdir "$disk" "$tmp/below"
spawn bindfs -f "$tmp/below" "$disk"
disk_pid=$spawned
at_exit 'thaw "$disk_pid" 2>/dev/null; umount -l "$disk" 2>/dev/null'
wait_for 30 mountpoint -q "$disk"
mount_ckptfs part_size=5M memory=64M spill_dir="$disk" attr_ttl=0

# Parts that each lack their first bytes.
holes() {
	for i in $(seq "$1" "$2"); do echo pwrite 5000000 $((i * 5242880 + 1000)); done
}
# shellcheck disable=SC2046 # words
fdo_begin src "$tmp/data" open +ct "$mnt/file" $(holes 0 11) pause $(holes 12 17) close
has_spilled() { [ "$(figure spilled_bytes)" -gt 0 ]; }
check "some of the file is on the disk" wait_for 30 has_spilled
freeze "$disk_pid"
: >"$tmp/fdo/go"
sleep 2 # memory is full, and the thread that gives it back waits for the disk
check "a writer waits for a slow disk" kill -0 "$fdo_pid"
expect_eq other "$(timeout 30 cat "$mnt/other")" "another file is read while a writer waits"
check "the file that waits has a size" test "$(timeout 30 stat -c %s "$mnt/file")" -gt 62000000
check "names are listed while a writer waits" timeout 30 ls "$mnt"
thaw "$disk_pid"
wait "$fdo_pid"
expect_eq "22 ok" "$(words <"$tmp/fdo/out")" "the writer goes on with the disk"
for i in $(seq 0 17); do
	dd if="$tmp/data" of="$tmp/want" bs=1M iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc \
		skip=$((i * 5242880 + 1000)) seek=$((i * 5242880 + 1000)) count=5000000 status=none
done
same "a file that waited for the disk is at the store byte for byte" "$tmp/want" file
umount_ckptfs
