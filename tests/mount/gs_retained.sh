#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_retained.sh: in a bucket with a retention policy nothing is replaced or removed before its time, and nothing is lost.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 16
start_store --retention 1h
head -c 12000000 /dev/urandom >"$tmp/data"
mount_ckptfs attr_ttl=0 part_size=5M

expect_eq "ok ok ok" "$(fdo open wct "$mnt/small" write 10 close)" "a file is written where objects are retained"
expect_eq "ok ok EACCES" "$(fdo open wct "$mnt/small" write 20 close)" "a file that is retained is not replaced"
expect_eq 10 "$(objects size small)" "the version that is retained stands"
# promise: gs.retained
expect_eq EACCES "$(fdo rename "$mnt/small" "$mnt/moved")" "a file that is retained is not renamed"
check_fails "a file that is retained is not removed" rm "$mnt/small"
expect_eq "small 10" "$(ls "$mnt") $(stat -c %s "$mnt/small")" "a file that is retained stays where it was"
check "a file that is retained has other permissions" chmod 640 "$mnt/small"
mkdir "$mnt/dir"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/dir/f" write 10 close)" "a file is written into a directory"
expect_eq EACCES "$(fdo rename "$mnt/dir" "$mnt/other")" "a directory of files that are retained is not renamed"
expect_eq "dir/f 10" "$(cd "$mnt" && echo dir/*) $(objects size dir/f)" "a directory that is not renamed has its file"
expect_eq "ok ok EACCES" "$(fdo src "$tmp/data" open wct "$mnt/large" write 12000000 close | cut -d ' ' -f 2-)" "a file of several parts cannot be moved to its name"
expect_eq "dir small" "$(ls "$mnt" | xargs)" "a file that cannot be moved to its name does not show"
# What is retained, be it the mount's own, makes a line each time.
expect_log 'store: (put|rename|delete|upload-abort) .* 403 retentionPolicyNotMet: .* wait until its retention ends'
expect_log 'store: upload-complete .* 403 retentionPolicyNotMet: .* give upload=compose'
expect_log '(small|large): not published, .*: Permission denied'
expect_log 'large: its unfinished upload could not be aborted'
umount_ckptfs

mount_ckptfs attr_ttl=0 part_size=5M upload=compose
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/large" write 12000000 close)" "a file of several parts is composed"
same "a file that was composed is right" "$tmp/data" large
expect_log "a directory's rename was not finished"
expect_log 'upload-complete .* it is done, but what it used stays'
umount_ckptfs
