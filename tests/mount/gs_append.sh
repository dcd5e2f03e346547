#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_append.sh: on Google Cloud Storage an append moves the tail alone, and both ways of uploading
# leave nothing behind.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 16
start_store
head -c 12000000 /dev/urandom >"$tmp/data"
for way in multipart compose; do
	mount_ckptfs part_size=5M "upload=$way"
	requests_mark
	cp "$tmp/data" "$mnt/f"
	# promise: gs.parts
	same "upload=$way writes a large file" "$tmp/data" f
	if [ $way = compose ]; then set -- objects.compose=1 CreateMultipartUpload=0
	else set -- CreateMultipartUpload=1 objects.compose=0 objects.move=1; fi
	expect_requests "upload=$way sends a large file in that way" "$@"
	cp "$tmp/data" "$tmp/longer"
	echo tail | tee -a "$tmp/longer" >/dev/null
	requests_mark
	echo tail >>"$mnt/f"
	expect_requests "an append composes, and reads nothing" objects.compose=1 GetObject=0
	# promise: gs.append
	same "an append by composition adds what it should" "$tmp/longer" f
	expect_eq "f" "$(store_ls | xargs)" "nothing is left beside a composed file"
	rm "$mnt/f"
	umount_ckptfs
done
expect_eq "" "$(store_ls)$(store_uploads)" "nothing is left at the store in the end"

# A crash leaves what cannot be composed any more.
mount_ckptfs part_size=5M upload=compose
fdo_begin src "$tmp/data" open wct "$mnt/f" write 12000000 pause close
sent() { [ "$(store_ls .ckptfs/tmp/c- | wc -l)" -ge 3 ]; }
check "pieces are sent while a file is written" wait_for 20 sent
kill -KILL "$mount_pid"
{ mount_wait; } 2>/dev/null
fdo_next
umount "$mnt"
expect_eq "f" "$(STORAGE_EMULATOR_HOST=$CKPTFS_TEST_ENDPOINT "$builddir/ckptctl" uploads abort --yes \
	"gs://$CKPTFS_TEST_BUCKET" | cut -f 3)" "ckptctl knows what file they are of, at the server of STORAGE_EMULATOR_HOST"
expect_eq "" "$(store_ls)" "ckptctl removes the pieces of a file that was never closed"
