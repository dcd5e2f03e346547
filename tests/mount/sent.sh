#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sent.sh: what was sent before the file is published, and is changed after all.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 17
start_store
mkdir "$tmp/spill"
# In so little memory nothing of what was sent is kept.
mount_ckptfs part_size=5M memory=64M spill_dir="$tmp/spill" attr_ttl=0
head -c 40000000 /dev/urandom >"$tmp/data"
head -c 40000000 /dev/urandom >"$tmp/more"
# The bytes at $1, $2 of them, of the other file.
patch() {
	dd if="$tmp/more" of="$tmp/want" bs=1 skip="$1" seek="$1" count="$2" conv=notrunc status=none
}

printf old | store_put gone
fdo_begin src "$tmp/data" open wt "$mnt/gone" write 12000000 src "$tmp/more" pwrite 1000 100 \
	ftruncate 3000000 pause src "$tmp/data" write 1000000 close
expect_eq "old" "$(store_cat gone)" "a change of what was sent and is not kept publishes nothing"
# promise: bytes.busy
fdo_ends "ok ok ok ok EBUSY EBUSY ok ok ok ok" "a change of what was sent is refused, and the writer goes on"
head -c 13000000 "$tmp/data" >"$tmp/want"
same "a writer goes on to write what it would have written" "$tmp/want" gone

# A write that goes into a part that was sent, and into one that was not, is refused as a whole.
# promise: bytes.busy
expect_eq "ok ok ok ok ok EBUSY ok" "$(fdo src "$tmp/data" open wct "$mnt/crossed" pwrite 5242880 5242880 pwrite 5242380 0 \
	src "$tmp/more" pwrite 1000 5242380 close)" "a write that is refused for a part of it is refused"
head -c 10485760 "$tmp/data" >"$tmp/want"
dd if=/dev/zero of="$tmp/want" bs=1 seek=5242380 count=500 conv=notrunc status=none
same "a write that is refused changes nothing" "$tmp/want" crossed

# Whoever writes over something may do so again.
for how in wt +t; do
	printf old | store_put patched
	set -- src "$tmp/data" open $how "$mnt/patched" write 2000000 src "$tmp/more" pwrite 8 0 \
		src "$tmp/data" write 38000000 src "$tmp/more" pwrite 1000 100 pwrite 1000 20000000 \
		ftruncate 35000001
	fdo_begin "$@" pause close
	expect_eq "old" "$(store_cat patched)" "$how: a change of what was sent and is kept publishes nothing"
	# promise: bytes.streamed
	fdo_ends "ok ok ok ok ok ok ok ok ok ok ok ok ok" "$how: a change of what was sent and is kept is taken"
	head -c 35000001 "$tmp/data" >"$tmp/want"
	patch 0 8
	patch 100 1000
	patch 20000000 1000
	same "$how: a file is at the store byte for byte after a change of what was sent" "$tmp/want" patched
done

# Without memory what is kept goes to the disk, and can be changed there.
printf old | store_put spilled
fdo_begin src "$tmp/data" open +t "$mnt/spilled" write 40000000 slot 1 open wct "$mnt/other" \
	write 40000000 slot 2 open +ct "$mnt/third" write 40000000 slot 0 src "$tmp/more" pwrite 1000 100 \
	pread 1000 39000000 pause close slot 1 close slot 2 close
expect_eq "old" "$(store_cat spilled)" "a change of what was spilled publishes nothing"
# promise: bytes.kept
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok ok 1000 ok ok ok ok ok ok" "a change of what was spilled is taken"
cp "$tmp/data" "$tmp/want"
patch 100 1000
same "a file is at the store byte for byte after a change of what was spilled" "$tmp/want" spilled
same "the other spilled files are at the store byte for byte" "$tmp/data" other
same "all spilled files are there" "$tmp/data" third
umount_ckptfs
