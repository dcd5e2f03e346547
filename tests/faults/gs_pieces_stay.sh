#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_pieces_stay.sh: what an object was put together from stays when Google refuses to delete it. The log says where to
# look, and "ckptctl uploads" finds and removes all of it.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 10
start_store
ctl() { "$builddir/ckptctl" uploads "$@" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "gs://$CKPTFS_TEST_BUCKET"; }
head -c 12000000 /dev/urandom >"$tmp/data"
left() { store_ls .ckptfs/tmp/ | wc -l; }

mount_ckptfs part_size=5M upload=compose
set_faults gs_pieces_stay
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/f" write 12000000 close)" \
	"a file of three pieces is closed although none of them can be deleted"
same "a file whose pieces stay is whole" "$tmp/data" f
check "all pieces stay" [ "$(left)" -eq 4 ]
expect_log 'upload-complete .*it is done, but what it used stays: see .ckptctl uploads'
expect_eq "1 f" "$(ctl list | wc -l) $(ctl list | cut -f 3)" "ckptctl lists them by the name of their file"
ctl abort --older 0s >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(wc -l <"$tmp/err")" "pieces that still cannot be deleted are an error of ckptctl"
set_faults
expect_eq "0 f 0" "$(ctl abort --older 0s | cut -f 3 >"$tmp/out"; echo $?) $(cat "$tmp/out") $(left)" "ckptctl removes all pieces later"
same "a file whose pieces were removed late is whole" "$tmp/data" f

# The object that says that there are pieces goes, and they stay.
set_faults gs_pieces_stay
fdo src "$tmp/data" open wct "$mnt/g" write 12000000 close >/dev/null
set_faults
marker=$(store_ls .ckptfs/tmp/ | grep -v '/.*/.*/')
objects rm "$marker"
expect_eq "g" "$(ctl list | cut -f 3)" "ckptctl lists pieces without what says that there are some"
expect_eq "0 0" "$(ctl abort --older 0s >/dev/null; echo $?) $(left)" "ckptctl removes these pieces, too"
umount_ckptfs
