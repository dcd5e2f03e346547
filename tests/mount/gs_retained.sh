#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_retained.sh: in a bucket with a retention policy nothing is replaced or removed before its time, and nothing is lost.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 40
start_store --retention 1h
head -c 12000000 /dev/urandom >"$tmp/data"
mount_ckptfs attr_ttl=0 part_size=5M hard_links=copy

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
# A file of several parts is uploaded by another name, and cannot be moved from there.
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/large" write 12000000 close)" \
	"a file of several parts is written where objects are retained"
same "a file of several parts that was copied to its name is at the store byte for byte" "$tmp/data" large
expect_eq "ok ok EEXIST" "$(fdo link "$mnt/small" "$mnt/linked" link "$mnt/large" "$mnt/linked2" link "$mnt/small" "$mnt/large" | xargs)" \
	"files that are retained are linked by copies"
same "what was linked of a file that is retained has its bytes" "$tmp/data" linked2
expect_eq "ok ok ok EACCES" "$(fdo src "$tmp/data" open wct "$mnt/large" write 11000000 close)" "a file of several parts that is retained is not replaced"
same "the file of several parts that is retained stands" "$tmp/data" large
"$builddir/ckptctl" uploads list -o "endpoint=$CKPTFS_TEST_ENDPOINT" "gs://$CKPTFS_TEST_BUCKET" >"$tmp/uploads"
expect_eq 2 "$(grep -c large "$tmp/uploads")" "ckptctl lists what the policy keeps of both"
# One that is renamed after parts of it were sent never has its first name, which the policy would not let it leave.
renamed() { # NAME
	fdo_begin src "$tmp/data" open wct "$mnt/$1" write 12000000 pause close
	expect_eq ok "$(fdo rename "$mnt/$1" "$mnt/$1.1")" "$1: a file of which parts were sent is renamed where objects are retained"
	# promise: gs.retained
	fdo_ends "ok ok ok ok ok" "$1: a file that was renamed is published where objects are retained"
	same "$1: a file that was renamed has all bytes by its new name" "$tmp/data" "$1.1"
	# promise: gs.retained
	expect_eq "" "$(store_ls "$1" | grep -x "$1")" "$1: the policy keeps nothing by the old name"
}
renamed sent
# The next try finds what the first one has made, which must not be replaced.
cat >"$tmp/lost.json" <<-END
	[{"op": "PutObject", "key": "lost*", "times": 1, "do": "reset_after"},
	 {"op": "objects.rewrite", "times": 1, "do": "reset_after"}]
END
set_faults "$tmp/lost.json"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/lost" write 10 close)" "a file whose reply was lost is written where objects are retained"
expect_eq 10 "$(objects size lost)" "a file whose reply was lost is at the store"
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/lost.parts" write 12000000 close)" \
	"a file of several parts whose reply was lost is written where objects are retained"
same "a file of several parts whose reply was lost is at the store byte for byte" "$tmp/data" lost.parts
set_faults
# What is retained, be it the mount's own, makes a line each time.
expect_log 'store: (put|rename|delete|upload-abort) .* 403 retentionPolicyNotMet: .* wait until its retention ends'
expect_log 'store: upload-complete .* 403 retentionPolicyNotMet: .* it is done, but what it used stays'
expect_log 'store: upload-complete .* 403 retentionPolicyNotMet: .* Permission denied'
expect_log '(small|large): not published, .*: Permission denied'
expect_log 'large: its unfinished upload could not be aborted'
umount_ckptfs

for way in compose resumable; do
	mount_ckptfs attr_ttl=0 part_size=5M upload=$way
	expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/$way" write 12000000 close)" "a file of several parts is sent with upload=$way"
	same "a file that was sent with upload=$way is at the store byte for byte" "$tmp/data" $way
	renamed "sent.$way"
	expect_log "a directory's rename was not finished"
	expect_log 'upload-complete .* it is done, but what it used stays'
	umount_ckptfs
done
