#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# denied.sh: what credentials lack is named: at mount, and where it is found out.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 43

# deny PERMISSION...: the store as it is, but for these.
deny() {
	store_stop
	start_store --deny "$(echo "$*" | tr ' ' ,)"
}
# One check: the errno of a call, and the permission that its line in the log names.
lacks() { # NAME PERMISSION ERRNO COMMAND...
	name=$1 permission=$2 errno=$3; shift 3
	expect_log "403|AccessDenied.*the credentials need .*$permission"
	expect_eq "$errno" "$("$@" 2>&1)" "$CKPTFS_TEST_SCHEME: $name gives EACCES"
	check "$CKPTFS_TEST_SCHEME: $name names $permission" wait_for 10 grep -qE "(403|AccessDenied) .*the credentials need .*$permission" \
		"$mount_log"
}
# The write may meet the error before the close does.
save_large() { fdo open wct "$mnt/large" write 6291456 close | grep -o 'EACCES$'; }
refused() { # PERMISSION
	"$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" 2>&1 | grep -c "$1"
}
read_only='warning: .*://test-bucket can only be read: the store denies'

# cases LIST GET CREATE DELETE UPLOAD-LIST
cases() {
	start_store
	for name in one two; do printf bytes | store_put $name; done
	mkdir -p "$mnt"
	deny "$1"
	expect_eq 1 "$(refused "$1")" "$CKPTFS_TEST_SCHEME: a mount that may not list is refused, and $1 is named"

	deny "$2" "$5"
	mount_ckptfs part_size=5M
	lacks "reading" "$2" EACCES fdo open r "$mnt/one"
	ctl=$("$builddir/ckptctl" uploads list -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" 2>&1)
	check "$CKPTFS_TEST_SCHEME: a list of uploads names $5" expr "$ctl" : ".*$5"
	check_fails "$CKPTFS_TEST_SCHEME: who may write is told nothing" grep -q 'can only be read' "$mount_log"
	umount_ckptfs "$CKPTFS_TEST_SCHEME: nothing else is warned of where reading is denied"

	deny "$3" "$4"
	mount_ckptfs part_size=5M
	expect_log "$read_only $3: allow it, or mount with ro"
	expect_log '(new|large): not published'
	lacks "deleting" "$4" EACCES fdo unlink "$mnt/two"
	lacks "saving" "$3" "ok ok EACCES" fdo open wct "$mnt/new" write 5 close
	lacks "saving in parts" "$3" EACCES save_large
	lacks "renaming" "$3" EACCES fdo rename "$mnt/one" "$mnt/other"
	umount_ckptfs "$CKPTFS_TEST_SCHEME: a bucket that can only be read is said to be when it is mounted"
	mount_ckptfs ro
	expect_eq bytes "$(cat "$mnt/one")" "$CKPTFS_TEST_SCHEME: with ro it can be read"
	umount_ckptfs "$CKPTFS_TEST_SCHEME: with ro nothing is said of writing"
}
cases s3:ListBucket s3:GetObject s3:PutObject s3:DeleteObject s3:ListBucketMultipartUploads

# What only an object with tags needs.
store_stop
start_store
mount_ckptfs tags=team=ml
echo bytes >"$mnt/tagged"
umount_ckptfs
deny s3:GetObjectTagging
mount_ckptfs
lacks "renaming a file with tags" s3:GetObjectTagging EACCES fdo rename "$mnt/tagged" "$mnt/other"
umount_ckptfs "s3: nothing else is warned of where tags cannot be read"
deny s3:PutObjectTagging
mount_ckptfs tags=team=ml
lacks "changing the mode of a file with tags" s3:PutObjectTagging EACCES fdo chmod 600 "$mnt/tagged"
lacks "saving with tags" s3:PutObjectTagging "ok ok EACCES" fdo open wct "$mnt/new" write 5 close
expect_log 'new: not published'
umount_ckptfs "s3: nothing else is warned of where tags cannot be written"

use_mount google
CKPTFS_TEST_SCHEME=gs
cases storage.objects.list storage.objects.get storage.objects.create storage.objects.delete storage.multipartUploads.list
