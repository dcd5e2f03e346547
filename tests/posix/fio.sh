#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fio.sh: fio's verified workloads, and what stress-ng does to names, attributes and locks.
. "${srcdir:?}/tests/posix/posix.sh"
need_fuse
need_tool fio
fio=$tool
need_tool stress-ng
plan 21
start_store
mount_ckptfs part_size=5M

fio() {
	timeout -k 5 600 "$fio" --name=t --directory="$mnt" --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--randseed=7 --minimal "$@"
}
check "sequential writes are read back byte for byte" fio --rw=write --bs=1M --size=24M
check "sequential writes of odd blocks are read back byte for byte" fio --rw=write --bs=37k --size=9M --fsync=40
check "random writes are read back byte for byte" fio --rw=randwrite --bs=4k-64k --size=12M
check "random writes of a mapping are read back byte for byte" fio --rw=randwrite --bs=16k --size=8M --ioengine=mmap
check "random writes with O_DIRECT are read back byte for byte" fio --rw=randwrite --bs=8k --size=8M --direct=1
check "four jobs read back byte for byte what they write at random places" fio --rw=randrw --bs=16k --size=4M --numjobs=4
check "asynchronous writes, eight at once, are read back byte for byte" \
	fio --rw=randwrite --bs=32k --size=16M --ioengine=io_uring --iodepth=8
check "a verification at a later time succeeds" sh -c '
	cd "$2" && "$1" --name=v --filename=later --rw=write --bs=64k --size=12M --verify=crc32c \
		--do_verify=0 --randseed=9 --minimal && "$1" --name=v --filename=later --rw=write --bs=64k \
		--size=12M --verify=crc32c --verify_only --randseed=9 --minimal' sh "$fio" "$mnt"
rm -f "$mnt"/*

stress() {
	timeout -k 5 600 "$tool" --temp-path "$mnt" --"$1" 1 --"$1"-ops "$2" --verify --timeout 30 \
		--oom-avoid
}
# Each so many operations as a few seconds are enough for.
while read -r stressor ops; do
	check "stress-ng --$stressor finds no fault" stress "$stressor" "$ops"
done <<-EOF
access 20
chmod 20
copy-file 3
dentry 200
dir 50
fallocate 5
fstat 50
hdd 200
mknod 20
rename 200
touch 50
utime 200
EOF
umount_ckptfs
