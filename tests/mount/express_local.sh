#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# express_local.sh: a directory bucket in a Local Zone has no RenameObject and no appends (API reference: both are of "the
# S3 Express One Zone storage class" alone): names change by copies and deletes, and ends are copied in parts.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 18
CKPTFS_TEST_BUCKET=dir--lz1-az1--x-s3
start_store --local-zone
head -c 12000000 /dev/urandom >"$tmp/data"
# "ONEZONE_IA [...] in Dedicated Local Zones": API reference, PutObject.
mount_ckptfs part_size=5M attr_ttl=0 storage_class=ONEZONE_IA
cp "$tmp/data" "$mnt/classed"
check "a mount names the storage class of a Local Zone" cmp "$tmp/data" "$mnt/classed"
rm "$mnt/classed"
umount_ckptfs
# A directory bucket of an Availability Zone has another one.
mount_ckptfs storage_class=EXPRESS_ONEZONE
expect_eq EIO "$(fdo open wct "$mnt/classed" write 5 close | cut -d ' ' -f 3)" "a class that the bucket has not is refused by the store"
expect_log 'store: put .* 400 InvalidStorageClass'
expect_log 'classed: not published'
umount_ckptfs
mount_ckptfs part_size=5M attr_ttl=0
cp "$tmp/data" "$mnt/a"
chmod 640 "$mnt/a"
requests_mark
expect_eq ok "$(fdo rename "$mnt/a" "$mnt/b")" "a file is renamed where the store renames no objects"
# One delete finds out whether conditions hold.
expect_requests "the store is asked once whether it renames" RenameObject=1 CopyObject=1 DeleteObject=2
check "a file renamed by a copy has its bytes" cmp "$tmp/data" "$mnt/b"
expect_eq "640 b" "$(stat -c %a "$mnt/b") $(store_ls)" "a file renamed by a copy has its mode, and one name"
expect_log 'store: the server does not honor RenameObject'

echo old >"$mnt/c"
requests_mark
expect_eq ok "$(fdo rename "$mnt/b" "$mnt/c")" "a file is renamed over another by a copy"
expect_requests "the store is not asked again" RenameObject=0 CopyObject=1 DeleteObject=1
expect_eq "c" "$(store_ls)" "the file that was renamed over another is the only one"
expect_eq "EEXIST" "$(echo new >"$mnt/d"; fdo rename2 n "$mnt/d" "$mnt/c")" "a file is not renamed over another that must not be there"

mkdir "$mnt/dir" "$mnt/dir/sub"
for n in 1 2 3; do echo $n >"$mnt/dir/sub/$n"; done
expect_eq ok "$(fdo rename "$mnt/dir" "$mnt/moved")" "a directory is renamed by copies"
expect_eq "1 2 3" "$(cat "$mnt/moved/sub/1" "$mnt/moved/sub/2" "$mnt/moved/sub/3" | xargs)" "a directory renamed by copies has its files"
expect_eq "" "$(store_ls | grep '^dir/')" "nothing has the old name of the directory"

# A checkpoint is written under a name of its own, and renamed while a part is on its way.
fdo open wct "$mnt/tmp" write 7000000 rename "$mnt/tmp" "$mnt/ckpt" write 100 close >"$tmp/said"
printf tail >>"$mnt/c"
{ cat "$tmp/data" && printf tail; } >"$tmp/longer"
expect_eq "7000100" "$(stat -c %s "$mnt/ckpt")" "a file that is renamed while it is written is published"
same "what cannot be appended to has its end copied" "$tmp/longer" c
umount_ckptfs
