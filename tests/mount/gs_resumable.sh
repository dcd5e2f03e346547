#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_resumable.sh: a large file as one stream, where a server keeps less than was sent, loses its
# replies, and loses the session.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 14
start_store --resume-short 700000
head -c 23456789 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=5M upload=resumable
requests_mark
cp "$tmp/data" "$mnt/f"
same "a file is sent though less is kept than was sent" "$tmp/data" f
expect_requests "through one session" objects.resumable=1 CreateMultipartUpload=0 objects.compose=0 objects.move=1
cp "$tmp/data" "$tmp/longer"
echo tail >>"$tmp/longer"
echo tail >>"$mnt/f"
same "it can grow" "$tmp/longer" f
expect_eq "f" "$(store_ls)" "nothing is left beside it"
umount_ckptfs
store_stop

start_store
mount_ckptfs part_size=5M upload=resumable deadline=10s
set_faults resumable_hiccups
cp "$tmp/data" "$mnt/g"
same "lost replies and errors that pass change nothing" "$tmp/data" g
set_faults resumable_begun_anew
requests_mark
cp "$tmp/data" "$mnt/h"
same "a session that is lost at the beginning is begun anew" "$tmp/data" h
expect_requests "once" objects.resumable=2
set_faults resumable_gone
expect_eq "ok ok ok EIO" "$(fdo src "$tmp/data" open wct "$mnt/i" write 23456789 close | sed 's/EIO EIO/ok EIO/')" \
	"one that is lost later is an error"
expect_log 'the session is gone|i: not published'
set_faults
expect_eq "ENOENT" "$(fdo size "$mnt/i")" "which publishes nothing"
cp "$tmp/data" "$mnt/i"
same "and the next one is good" "$tmp/data" i
expect_eq "ok ok ok EOPNOTSUPP" "$(fdo open wct "$mnt/again" write 12000000 pwrite 6000000 0 close)" \
	"what was sent cannot be changed"
expect_log 'from its beginning to its end|again: not published'
expect_eq "f g h i" "$(store_ls | xargs)" "nothing is left in the end"
umount_ckptfs
