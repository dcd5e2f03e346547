#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_pieces.sh: what a composed upload puts beside its object does not stay: parts that were dropped, pieces that come
# when it is over, and the folder that they make where folders are real.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v jq >/dev/null || skip_all "jq is not installed"
plan 16
start_store
head -c 17000000 /dev/urandom >"$tmp/data"
ctl() { STORAGE_EMULATOR_HOST=$CKPTFS_TEST_ENDPOINT "$builddir/ckptctl" uploads "$@" "gs://$CKPTFS_TEST_BUCKET"; }
sent() { [ "$(store_ls .ckptfs/tmp/c- | wc -l)" -ge "$1" ]; }
# A piece that was on its way for long.
come_late() {
	printf '%s\r\n' --b 'Content-Type: application/json' '' "{\"name\":\".ckptfs/tmp/$1\",\"metadata\":$2}" --b '' late \
		--b-- >"$tmp/related"
	curl -s -o "$tmp/out" -H 'Content-Type: multipart/related; boundary=b' --data-binary "@$tmp/related" \
		"$CKPTFS_TEST_ENDPOINT/upload/storage/v1/b/$CKPTFS_TEST_BUCKET/o?uploadType=multipart"
}

mount_ckptfs part_size=5M upload=compose
fdo_begin src "$tmp/data" open wct "$mnt/f" write 17000000 pause ftruncate 6000000 close
wait_for 30 sent 4
come_late c-0123456789abcdef/00001 '{"ckptfs-for":"given up"}'
come_late c-0123456789abcdef/00002 '{"ckptfs-for":"given up"}'
come_late c-00000000000000aa/00003 '{}'
expect_eq ".ckptfs/tmp/c-00000000000000aa/00003 f given up" "$(ctl list | cut -f 3 | sort | xargs)" \
	"ckptctl lists an upload once, and pieces that are all that is left of one"
fdo_ends "ok ok ok ok ok ok" "a file is cut after its parts were sent"
head -c 6000000 "$tmp/data" >"$tmp/cut"
same "a file that was cut is at the store byte for byte" "$tmp/cut" f
expect_eq 4 "$(store_ls | wc -l)" "a part that was cut off is deleted"
ctl abort --key 'given up' >"$tmp/out"
expect_eq ".ckptfs/tmp/c-00000000000000aa/00003 f" "$(store_ls | xargs)" "pieces without their marker know their key"
ctl abort --older 1h --yes >"$tmp/out"
expect_eq 2 "$(store_ls | wc -l)" "a piece that came just now is young"
ctl abort --yes >"$tmp/out"
# promise: gs.leftovers
expect_eq f "$(store_ls | xargs)" "ckptctl removes pieces that nothing tells of"
set_faults gs_hiccups
cp "$tmp/data" "$mnt/f"
same "a file is composed by a store that meets other changes, and is unavailable for moments" "$tmp/data" f
expect_eq f "$(store_ls | xargs)" "pieces are deleted by a store that is unavailable for moments"
set_faults
umount_ckptfs
mount_ckptfs part_size=5M upload=compose stall_timeout=1s deadline=20s
set_faults gs_batch_silent
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/f" write 17000000 close)" \
	"a close succeeds when the object is there, though the store says nothing about its pieces"
expect_log "upload-complete .*it is done, but what it used stays"
set_faults
ctl abort --yes >"$tmp/out"
expect_eq f "$(store_ls | xargs)" "ckptctl removes pieces that could not be deleted"
umount_ckptfs
store_stop

start_store --hns
mount_ckptfs part_size=5M upload=compose
cp "$tmp/data" "$mnt/f"
echo tail | tee -a "$tmp/data" >>"$mnt/f"
same "a file is composed in a bucket with folders" "$tmp/data" f
folders() { curl -s "$CKPTFS_TEST_ENDPOINT/storage/v1/b/$CKPTFS_TEST_BUCKET/folders" | jq -r '.items[].name' | xargs; }
# promise: gs.parts
expect_eq ".ckptfs/ .ckptfs/tmp/" "$(folders)" "a composed upload leaves no folder of its own"
fdo_begin open wct "$mnt/g" write 12000000 pause close
wait_for 30 sent 3
kill -KILL "$mount_pid"
{ mount_wait; } 2>/dev/null
fdo_next
umount "$mnt"
ctl abort --yes >"$tmp/out"
expect_eq "f .ckptfs/ .ckptfs/tmp/" "$(store_ls | xargs) $(folders)" "ckptctl removes the folder with the pieces"
