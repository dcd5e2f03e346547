#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# radosgw.sh: what a mount promises between hosts, at a store that has the ways of Ceph's gateway: it honors few
# conditions, and none where an upload is completed or a part is copied.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 28
big=24000000
start_store --radosgw
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s

expect_eq "ok ok ok ok ok ok" "$(fdo open wct "$mnt/small" write 3 close open wa "$mnt/small" write 5 close)" \
	"a small file is written and appended to"
expect_eq "8 8" "$(store_cat small | wc -c) $(wc -c <"$mnt/small")" "what was appended is the object"
fdo_begin open wa "$mnt/small" write 3 pause close
printf theirs | store_put small
fdo_ends "ok ok ok ESTALE" "a small file that another host replaced is not written over"
expect_eq theirs "$(store_cat small)" "what another host made of a small file stays"

# promise: change.looked
for turn in first second; do
	fdo_begin open wcx "$mnt/$turn" write $big pause close
	printf theirs | store_put "$turn"
	fdo_ends "ok ok ok EEXIST" "O_EXCL refuses a large file of a name that another host has taken: the $turn time"
	expect_eq theirs "$(store_cat "$turn")" "what another host made by that name stays: the $turn time"
done
expect_eq "ok ok ok" "$(fdo open wcx "$mnt/big" write $big close)" "O_EXCL makes a large file of a free name"

head -c $big /dev/urandom >"$tmp/theirs"
fdo_begin open w "$mnt/big" pwrite 1000 12000000 pause close
store_put big <"$tmp/theirs"
fdo_ends "ok ok ok ESTALE" "a large file that another host replaced is not written over"
same "what another host made of a large file stays" "$tmp/theirs" big

# Another host replaces it while its parts are being copied, and the first copy is of the new version.
fdo size "$mnt/big" >/dev/null
fdo_begin open w "$mnt/big" pwrite 1000 12000000 pause close
set_rules "$(held_once UploadPartCopy big 0 hold)" "$(held_once UploadPartCopy big 0 hold)"
: >"$tmp/fdo/go"
wait_held UploadPartCopy 1
head -c $big /dev/urandom >"$tmp/again"
store_put big <"$tmp/again"
set_faults
fdo_ends "ok ok ok ESTALE" "no part of a version is mixed with those of another"
same "a large file has one version's bytes" "$tmp/again" big

# The key of a part's source is decoded twice there: nothing is copied in parts of a name that this changes.
for name in 'p%41' '50%'; do
	expect_eq "ok ok ok ok ok ok ok" "$(fdo open wct "$mnt/pA" write $big close src "$tmp/theirs" open wct "$mnt/$name" write $big \
		close)" "$name: a large file is written"
	printf more >>"$mnt/$name"
	{ cat "$tmp/theirs" && printf more; } >"$tmp/more"
	same "$name: what is appended to is the file of that name" "$tmp/more" "$name"
done

printf one >"$mnt/from"
chmod 640 "$mnt/from"
expect_eq 640 "$(stat -c %a "$mnt/from")" "a mode is kept"
expect_eq "ok one ENOENT" "$(fdo rename "$mnt/from" "$mnt/to") $(store_cat to) $(fdo size "$mnt/from")" "a file is renamed"
expect_eq "ok one" "$(fdo rename2 n "$mnt/to" "$mnt/free") $(store_cat free)" "a free name is taken by RENAME_NOREPLACE"
mv "$mnt/free" "$mnt/to"
setfattr -n user.run_id -v seven "$mnt/to"
expect_eq seven "$(getfattr --only-values --absolute-names -n user.run_id "$mnt/to")" "a user attribute with an underscore is kept"

# What a mount that was killed leaves is found by its name.
fdo_begin open wct "$mnt/50% + ü" write $big pause close
wait_for 20 sh -c '"$1" uploads | grep -q .' sh "$tools/tests/lib/objects"
kill -KILL "$mount_pid"
mount_wait
umount -l "$mnt"
fdo_ends "ok ok ok ENOTCONN" "the mount is gone"
AWS_REGION=us-east-1 "$builddir/ckptctl" uploads list -o "endpoint=$CKPTFS_TEST_ENDPOINT" "s3://$CKPTFS_TEST_BUCKET" >"$tmp/uploads" 2>&1
check "an unfinished upload is listed by its name" grep -qF '50% + ü' "$tmp/uploads"
for said in 'ETags in quotes in If-Match' 'If-Match in the completion' 'conditions of the copy of a part' 'If-Match in a copy' \
	'checksums'; do
	expect_eq 1 "$(grep -c "does not.* $said" "$mount_log")" "the log says once: $said"
done
