#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# express_names.sh: in a directory bucket names that its DeleteObjects refuses, of blanks alone or with control
# characters, are renamed with their directory, and removed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 7
CKPTFS_TEST_BUCKET=dir--az1--x-s3
start_store
mount_ckptfs attr_ttl=0
delete=$(printf 'a\177b') next_line=$(printf 'a\302\205b')
mkdir "$mnt/d"
for n in "$delete" "$next_line" ' ' plain; do printf "$n" >"$mnt/d/$n"; done
printf b >"$mnt/ "
expect_eq ok "$(fdo rename "$mnt/d" "$mnt/e")" "a directory of odd names is renamed in a directory bucket"
expect_eq "$delete$next_line plain" "$(cat "$mnt/e/$delete" "$mnt/e/$next_line" "$mnt/e/ " "$mnt/e/plain")" "a renamed directory of odd names has all files"
# The store renames no marker of a directory.
mkdir "$mnt/bare"
chmod 750 "$mnt/bare"
expect_eq "ok" "$(fdo rename "$mnt/bare" "$mnt/moved")" "an empty directory is renamed in a directory bucket"
expect_eq "750 e moved" "$(stat -c %a "$mnt/moved") $(ls "$mnt" | xargs)" "an empty directory that was renamed keeps its mode"
expect_eq "e/ moved/" "$(store_ls | grep '/$' | xargs)" "the markers of directories have their new names alone"
rmdir "$mnt/moved"
rm -r "$mnt/e" "$mnt/ "
expect_eq "" "$(store_ls)" "nothing with an odd name is left"
umount_ckptfs
