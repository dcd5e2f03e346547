#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# express_uploads.sh: a directory bucket lists the prefixes of uploads under way; directories in which there is nothing
# else do not show.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 12
CKPTFS_TEST_BUCKET=dir--az1--x-s3
start_store
for key in here/a/f here/b/f new/f 'odd%2F +/f'; do echo x | objects begin "$key"; done
echo y | store_put here/y
echo y | store_put here/b/y
mount_ckptfs attr_ttl=0
expect_eq "here" "$(ls -l "$mnt" | sed -n 's/.* //; 2,$p' | xargs)" "a directory with nothing but an upload does not show"
expect_eq "b y" "$(ls -l "$mnt/here" | sed -n 's/.* //; 2,$p' | xargs)" "a directory with an upload and a file shows"
check "every name that is found can be looked at" find "$mnt" -size +1M
requests_mark
ls "$mnt/here/b" >/dev/null
expect_requests "uploads are asked for where a directory has directories" ListMultipartUploads=0
# Whoever may not list uploads is told of all prefixes; what fails otherwise is told.
echo '[{"op": "ListMultipartUploads", "do": "status", "status": 403, "code": "AccessDenied"}]' >"$tmp/refused.json"
set_faults "$tmp/refused.json"
expect_eq "here new odd%2F +" "$(ls "$mnt" | xargs)" "without the permission to list uploads every prefix shows"
echo '[{"op": "ListMultipartUploads", "do": "status", "status": 400, "code": "InvalidArgument"}]' >"$tmp/failed.json"
set_faults "$tmp/failed.json"
check_fails "a list of uploads that fails is no list without uploads" ls "$mnt"
expect_log 'InvalidArgument'
set_faults
expect_eq "here" "$(ls "$mnt")" "a directory with nothing but an upload does not show afterwards"
expect_eq "ok" "$(fdo rename "$mnt/here" "$mnt/there")" "a directory with uploads is renamed"
expect_eq "there" "$(ls "$mnt")" "a directory that was renamed does not show for its uploads"
check "a directory with uploads is removed" rm -r "$mnt/there"
expect_eq "" "$(ls "$mnt")" "a directory that was removed does not show for its uploads"
umount_ckptfs
