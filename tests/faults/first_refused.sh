#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# first_refused.sh: what had a file's name before its first version was refused stays, also while the file is open.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 14
start_store
mount_ckptfs part_size=5M attr_ttl=0
refuse() {
	set_rules '{"op": "'"$(echo PutObject | op_names)"'", "key": "'"$1"'*", "do": "status", "status": 403}' \
		'{"op": "CreateMultipartUpload", "key": "'"$1"'*", "do": "status", "status": 403}'
}
for key in renamed again; do printf 'old line' | store_put $key; done

# A new file takes another's name and is refused. Meanwhile somebody has it open who has written nothing.
fdo_begin open wct "$mnt/renamed.tmp" write 5 slot 1 open w "$mnt/renamed.tmp" slot 0 rename "$mnt/renamed.tmp" "$mnt/renamed" \
	pause fsync pause write 1 close slot 1 write 3 close
refuse renamed
fdo_next
expect_eq "old line" "$(cat "$mnt/renamed")" "a name leads to what the store has when the file that took it is refused"
set_faults
# promise: publish.old-stands
expect_eq "ok ok ok" "$(fdo open wa "$mnt/renamed" write 4 close)" "a later open goes on from the version before"
expect_eq "old linexxxx" "$(store_cat renamed)" "an append after a refusal adds to the version before"
fdo_ends "ok ok ok ok ok ok ok EACCES ok EACCES EACCES ok ok EEXIST" "a file that was refused replaces nothing later"
expect_eq "old linexxxx old linexxxx" "$(store_cat renamed) $(cat "$mnt/renamed")" "what came after the refusal stays"

# The program renames the file in spite of the refusal.
fdo_begin open wct "$mnt/again.tmp" write 5 pause fsync rename "$mnt/again.tmp" "$mnt/again" pause close
refuse again
fdo_next
expect_eq "old line" "$(cat "$mnt/again")" "a file that was refused takes no other's name"
set_faults
expect_eq "ok ok ok" "$(fdo open wa "$mnt/again" write 4 close)" "a file is changed by the name that another could not take"
# promise: rename.unpublished
fdo_ends "ok ok ok EACCES EACCES ok EACCES" "a rename of a file that was refused says why"
expect_eq "again renamed" "$(store_ls | xargs)" "nothing is at the store by the names that were refused"

# Another host makes the file first.
fdo_begin open wcx "$mnt/claimed" slot 1 open w "$mnt/claimed" slot 0 pause write 5 close slot 1 write 3 close
printf others | store_put claimed
# promise: create.excl
fdo_ends "ok ok ok ok ok ok EEXIST ok ok EEXIST" "who lost an exclusive creation does not replace the winner's file later"
expect_eq others "$(store_cat claimed)" "the winner of an exclusive creation keeps its file"

# Who empties it begins anew, and is the last to close.
refuse anew
fdo_begin open wct "$mnt/anew" write 5 slot 1 open w "$mnt/anew" slot 0 close pause slot 1 ftruncate 0 write 3 close
set_faults
printf others | store_put anew
fdo_ends "ok ok ok ok ok EACCES ok ok ok ok ok" "who empties a file whose first version was refused writes it anew"
expect_eq xxx "$(store_cat anew)" "a file that is emptied after a refusal replaces what came meanwhile"
expect_log 'not published, the version before it stands'
expect_log 'store: '
umount_ckptfs
