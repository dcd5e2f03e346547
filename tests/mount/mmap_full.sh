#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mmap_full.sh: a page of a mapping for which there is no room is gone: its file fails, and nothing
# that lacks it is published.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 8
start_store
mkdir "$tmp/spill"
mount_ckptfs part_size=5M memory=64M spill=64M spill_dir="$tmp/spill" attr_ttl=0
printf old | store_put synced
size=$((70 * 5242880))

expect_eq "ok ok ok ENOSPC" "$(fdo open +ct "$mnt/closed" ftruncate $size mapholes 70 close)" \
	"close tells that pages of a mapping found no room"
expect_eq "ok ok ok ENOSPC ENOSPC" \
	"$(fdo open +t "$mnt/synced" ftruncate $size mapholes 70 fsync close)" "fsync and the close after it tell that pages found no room"
no_upload() { [ -z "$(store_uploads)" ]; }
check "no upload is left" wait_for 20 no_upload
# promise: room.mapping
expect_eq "synced old" "$(store_ls | xargs) $(store_cat synced)" "nothing that lacks pages is published"
expect_eq old "$(cat "$mnt/synced")" "the mount has the old version, too"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/synced" write 5 close)" "a file is written anew after a mapping found no room"
expect_eq xxxxx "$(store_cat synced)" "a file that is written anew is published"
expect_log 'a write is refused, since memory is full and the spill file takes nothing'
expect_log '(closed|synced): not published, the version before it stands: No space left on device'
umount_ckptfs
