#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_lost_keys.sh: with HMAC keys a file of several parts gets its name by a copy, whose reply may be lost.
CKPTFS_TEST_SCHEME=gs CKPTFS_TEST_KEYS=yes
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 10
start_store
mount_ckptfs part_size=5M deadline=20s attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
set_faults gs_copy_lost
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wcx "$mnt/f" write 12000000 close)" "the copy to a new name is made unseen: close returns 0"
same "a file whose copy was made unseen is whole" "$tmp/data" f
expect_eq f "$(store_ls)" "a file whose copy was made unseen is there alone"
set_faults gs_copy_lost
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wt "$mnt/f" write 12000000 close)" "a copy onto an old name is made unseen: close returns 0"
expect_eq f "$(store_ls)" "a file that replaced an old one unseen is there alone"
set_faults gs_copy_lost
expect_eq "ok" "$(cp "$mnt/f" "$mnt/g" && echo ok)" "a rename succeeds though the reply to its copy is lost"
same "a file is whole after a rename whose reply was lost" "$tmp/data" g
set_faults gs_tmp_stays
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/h" write 12000000 close)" \
	"a close returns 0 when the file has its name, though the store does not delete what was copied"
same "a file is whole whose copied object stays" "$tmp/data" h
expect_log 'upload-complete .*it is done, but what it used stays'
umount_ckptfs
