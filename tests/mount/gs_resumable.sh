#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_resumable.sh: a large file as one stream, where a server keeps less than was sent, loses its
# replies, and loses the session.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 31
start_store --resume-short 700000
head -c 23456789 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=5M upload=resumable
requests_mark
cp "$tmp/data" "$mnt/f"
same "a file is sent though less is kept than was sent" "$tmp/data" f
# promise: gs.resumable
expect_requests "a file is sent through one session" objects.resumable=1 CreateMultipartUpload=0 objects.compose=0 objects.move=1
cp "$tmp/data" "$tmp/longer"
echo tail >>"$tmp/longer"
echo tail >>"$mnt/f"
same "a file that was sent through a session can grow" "$tmp/longer" f
# Each byte of it is three in a name that has it encoded.
deep=$(printf '%0100d' 0 | sed 's/0/ü/g')
deep=$deep/$deep/$deep/$deep
mkdir -p "$mnt/$deep"
check "a file whose name is long is sent through a session" cp "$tmp/data" "$mnt/$deep/g"
same "a file whose name is long is what was sent" "$tmp/data" "$deep/g"
rm -r "$mnt/${deep%%/*}"
expect_eq "f" "$(store_ls)" "nothing is left beside a file of a session"
umount_ckptfs
store_stop

start_store
mount_ckptfs part_size=5M upload=resumable
set_faults resumable_hiccups
cp "$tmp/data" "$mnt/g"
same "lost replies and errors that pass change nothing" "$tmp/data" g
# promise: end.lost-begin
check "the log says that another session may be there when the beginning of one was lost" \
	grep -q 'the beginning of an upload of g was lost: another session, without bytes, may be there for a week' "$mount_log"
set_faults resumable_begun_anew
requests_mark
cp "$tmp/data" "$mnt/h"
same "a session that is lost at the beginning is begun anew" "$tmp/data" h
expect_requests "a session that is lost at the beginning is begun anew once" objects.resumable=2
mkdir -p "$mnt/$deep"
set_faults resumable_begun_anew
check "a session for a long name is begun anew, too" cp "$tmp/data" "$mnt/$deep/h"
same "a file whose session for a long name was begun anew is whole" "$tmp/data" "$deep/h"
rm -r "$mnt/${deep%%/*}"
set_faults resumable_gone
expect_eq "ok ok ok EIO" "$(fdo src "$tmp/data" open wct "$mnt/i" write 23456789 close | sed 's/ \(EIO\|[0-9][0-9]*\) EIO$/ ok EIO/')" \
	"a session that is lost later is an error"
expect_log 'the session is gone|i: not published'
set_faults resumable_damaged
# promise: errno.EBADMSG
expect_eq "ok ok ok EBADMSG" "$(fdo src "$tmp/data" open wct "$mnt/damaged" write 23456789 close)" \
	"a session whose object has another checksum than what was sent is an error"
expect_log 'CRC32C of the object is|damaged: not published'
expect_eq "f g h" "$(store_ls | xargs)" "what arrived otherwise than it was sent gets no name"
set_faults
expect_eq "ENOENT" "$(fdo size "$mnt/i")" "a session that is lost later publishes nothing"
cp "$tmp/data" "$mnt/i"
same "a file is good after one whose session was lost" "$tmp/data" i
# promise: gs.resumable, errno.EOPNOTSUPP
expect_eq "ok ok ok EOPNOTSUPP" "$(fdo open wct "$mnt/again" write 12000000 pwrite 6000000 0 close)" \
	"what a session has sent cannot be changed"
expect_log 'from its beginning to its end|again: not published'
expect_eq "f g h i" "$(store_ls | xargs)" "nothing is left of sessions in the end"
umount_ckptfs

# What is written before its turn waits, in memory and then on disk.
mount_ckptfs part_size=5M upload=resumable memory=64M "spill_dir=$tmp"
head -c 90000000 /dev/urandom >"$tmp/data"
set -- src "$tmp/data" open wct "$mnt/back"
for at in 84 72 60 48 36 24 12 0; do set -- "$@" pwrite $((at < 84 ? 12000000 : 6000000)) ${at}000000; done
expect_eq "ok ok ok ok ok ok ok ok ok ok ok" "$(fdo "$@" close)" "a file that is written from its end, larger than memory"
same "a file that is written from its end is at the store byte for byte" "$tmp/data" back
umount_ckptfs

# A part that fails ends the upload, whoever waits for it.
mount_ckptfs part_size=5M upload=resumable deadline=6s
set_faults resumable_refused
expect_eq "ok ok ok ETIMEDOUT" "$(fdo src "$tmp/data" open wct "$mnt/j" write 12000000 close)" "a session that takes nothing is given up"
expect_log 'objects.chunk|upload-part|j: not published'
set_faults
expect_eq "back f g h i" "$(store_ls | xargs)" "a session that is given up leaves nothing"
# A change of a version that another host has replaced needs bytes of that for its first part.
printf 'old line' | store_put lost
fdo_begin src "$tmp/data" open wa "$mnt/lost" write 12345678 pause close
printf others | store_put lost
# promise: change.version
fdo_ends "ok ok ok ok ESTALE" "a change that lost is told though its parts go through a session"
expect_log 'lost: its version .* was replaced by another host: the change made on it is kept'
expect_eq others "$(store_cat lost)" "the file of another host stays when a session was under way"
"$builddir/ckptctl" recover --force -o "$mount_options" "gs://$CKPTFS_TEST_BUCKET" | awk '{ print $1, $3, $5 }' >"$tmp/recovered"
expect_eq "published 12345686 lost" "$(cat "$tmp/recovered")" "a change that lost is kept though its parts went through a session"
{
	printf 'others\0\0'
	head -c 12345678 "$tmp/data"
} >"$tmp/lost"
same "a change that was kept has all of its bytes" "$tmp/lost" lost
umount_ckptfs
