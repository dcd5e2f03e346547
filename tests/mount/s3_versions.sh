#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# s3_versions.sh: a bucket of S3 that keeps versions: a mount sees the present ones, and what it replaces or
# removes stays for who asks by its id.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 18
start_store --versioning
head -c 12000000 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s

printf one >"$mnt/f"
printf two >"$mnt/f"
expect_eq two "$(cat "$mnt/f")" "a file that was replaced has its new bytes"
expect_eq f "$(store_ls)" "a version that was replaced is not listed"
printf three >>"$mnt/f"
expect_eq twothree "$(store_cat f)" "an append adds to the present version"
cp "$tmp/data" "$mnt/large"
printf tail >>"$mnt/large"
{ cat "$tmp/data" && printf tail; } >"$tmp/longer"
same "an append to a large file adds to the present version" "$tmp/longer" large
chmod 600 "$mnt/large"
expect_eq 600 "$(stat -c %a "$mnt/large")" "a change of mode makes a version"

requests_mark
expect_eq ok "$(fdo rename "$mnt/f" "$mnt/g")" "a file is renamed"
expect_requests "a rename copies the present version" CopyObject=1
expect_eq "twothree ENOENT" "$(cat "$mnt/g") $(fdo open r "$mnt/f")" "a renamed file is under its new name alone"
expect_eq "ok ok ok" "$(fdo open wcx "$mnt/f" write 5 close)" "a file is made where one was removed"
expect_eq xxxxx "$(store_cat f)" "what was made where one was removed has its bytes"
expect_eq ok "$(fdo rename "$mnt/f" "$mnt/g")" "a file takes the place of another"
expect_eq xxxxx "$(cat "$mnt/g")" "a file that took the place of another has its bytes"
expect_eq "ok ENOENT" "$(fdo unlink "$mnt/g") $(fdo open r "$mnt/g")" "a file is removed"
mkdir "$mnt/dir"
for i in 1 2 3; do echo $i >"$mnt/dir/$i"; done
mv "$mnt/dir" "$mnt/moved"
expect_eq "1 2 3" "$(cat "$mnt"/moved/* | xargs)" "a directory is renamed"
rm -r "$mnt/moved"
expect_eq large "$(store_ls | xargs)" "what was removed is not listed"

# Another host's version is not removed by a rename that did not copy it.
printf mine | store_put old
expect_eq 4 "$(fdo size "$mnt/old")" "a file is to be renamed"
set_faults rename_copied_late
fdo rename "$mnt/old" "$mnt/new" >"$tmp/said" &
renames=$!
wait_held CopyObject
printf theirs | store_put old
set_faults
wait $renames
expect_eq "ok theirs mine" "$(cat "$tmp/said") $(store_cat old) $(store_cat new)" "another host's version of the old name stays"
umount_ckptfs
