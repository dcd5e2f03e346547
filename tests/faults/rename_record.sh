#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_record.sh: the store goes wrong with the record of a directory's rename, and with that of another's which it
# seems to be. The rename ends.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 10
start_store
mount_ckptfs attr_ttl=0
record='"key": ".ckptfs/intent/*"'
taken="{\"op\": \"PutObject\", $record, \"skip\": 1, \"times\": 1, \"do\": \"status\", \"status\": 412, \"code\": \"PreconditionFailed\"}"
denied='"do": "status", "status": 403, "code": "AccessDenied"'
forget_record() { objects rm "$(store_ls .ckptfs/intent/)"; }
met() { tail -n "+$fault_from" "$requests" | grep -c "$1 "; }

objects fill asked/f 3
set_rules "$taken" "{\"op\": \"HeadObject\", $record, $denied}"
expect_eq EACCES "$(fdo rename "$mnt/asked" "$mnt/told")" "a rename fails when nobody can tell whether another still is at it"
check "a look that is refused is repeated a few times" [ "$(met 'HeadObject .*/intent/.* 403')" -le 8 ]
set_faults
expect_log 'head .*/intent/.*: Permission denied'
expect_log 'rename asked/ to told/: not finished \(Permission denied\): its record is'
forget_record

# What nobody brings is not sent for as long as it is refused.
objects fill part/f 3
set_rules "$taken" "{\"op\": \"HeadObject\", $record, \"do\": \"status\", \"status\": 404}" \
	"{\"op\": \"CopyObject\", \"key\": \"whole/f00002\", $denied}"
expect_eq EACCES "$(fdo rename "$mnt/part" "$mnt/whole")" "a rename of which another brings no more than can be brought here fails"
check "what is refused is sent once more, when the other has ended" [ "$(met 'CopyObject .* whole/f00002 .* 403')" -le 6 ]
expect_eq 3 "$(store_ls part/ | grep -c /f)" "no file is lost where some were refused"
set_faults
expect_log 'copy .*/whole/f00002: 403 AccessDenied'
forget_record
umount_ckptfs

# The ETag of what KMS encrypts tells nothing of its bytes.
mount_ckptfs attr_ttl=0 sse=aws:kms checksums=when_required
objects fill lost/f 3
set_rules "{\"op\": \"PutObject\", $record, \"skip\": 1, \"times\": 1, \"do\": \"reset_after\"}"
expect_eq ok "$(fdo rename "$mnt/lost" "$mnt/found")" "a rename succeeds though the reply to its record was lost"
check "a record is known again after a lost reply" [ "$(met 'HeadObject .*/intent/.*')" -le 2 ]
expect_eq "found/f00000 found/f00001 found/f00002" "$(store_ls found/ | xargs)" "a rename whose record's reply was lost brings all files"
set_faults
umount_ckptfs
