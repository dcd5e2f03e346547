#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dirs.sh: directories are made, persist while empty, show when they are implicit, and go.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 20
start_store
mount_ckptfs attr_ttl=0
expect_eq "ok EEXIST" "$(fdo mkdir "$mnt/d" mkdir "$mnt/d")" "mkdir makes a directory once"
# promise: dir.marker
expect_eq d/ "$(store_ls)" "mkdir makes a marker"
expect_eq "" "$(ls -A "$mnt/d")" "a marker is not a file in its directory"
echo x >"$mnt/d/file"
expect_eq ENOTEMPTY "$(fdo rmdir "$mnt/d")" "rmdir refuses a directory with a file"
fdo_begin open wct "$mnt/e" close mkdir "$mnt/new" open wct "$mnt/new/unpublished" pause close
expect_eq ENOTEMPTY "$(fdo rmdir "$mnt/new")" "rmdir refuses a directory with a file that is being written"
fdo_ends "ok ok ok ok ok ok" "a file goes on in a directory that was not removed"
expect_eq "ok ok ENOENT" "$(fdo unlink "$mnt/d/file" rmdir "$mnt/d" size "$mnt/d")" \
	"rmdir removes an empty directory"
expect_eq "e new/ new/unpublished" "$(store_ls | xargs)" "rmdir removes the marker"

printf deep | store_put p/q/r/file
# promise: dir.marker
expect_eq "deep file" "$(cat "$mnt/p/q/r/file") $(ls "$mnt/p/q/r")" "implicit directories show"
expect_eq directory "$(stat -c %F "$mnt/p/q")" "implicit directories show as directories"
rm "$mnt/p/q/r/file"
# promise: dir.stays
expect_eq "0 0" "$? $(find "$mnt/p" 2>/dev/null | grep -c file)" "an implicit directory's last file can go"

mkdir -p "$mnt/t/a/b" "$mnt/t/c"
for f in t/1 t/a/2 t/a/b/3 t/c/4; do echo $f >"$mnt/$f"; done
expect_eq "t t/1 t/a t/a/2 t/a/b t/a/b/3 t/c t/c/4" "$(cd "$mnt" && find t | LC_ALL=C sort | xargs)" \
	"a tree is walked"
rm -r "$mnt/t"
expect_eq "0:" "$?:$(store_ls t)" "rm -r removes a tree from the store"
expect_eq "ENOENT ENOENT ENOENT" "$(fdo rmdir "$mnt/no" unlink "$mnt/no" open r "$mnt/no/x")" \
	"a name that is not there is ENOENT"
expect_eq "ENOTDIR EISDIR" "$(fdo rmdir "$mnt/e" unlink "$mnt/new")" "rmdir of a file is ENOTDIR, and unlink of a directory EISDIR"
expect_eq "ENOTDIR EEXIST EISDIR" "$(fdo open wc "$mnt/e/below" mkdir "$mnt/e" open wc "$mnt/new")" \
	"every call tells files from directories"
expect_eq "" "$(cd "$mnt" && ls -d t p/q/r/file 2>/dev/null)" "nothing comes back of a removed tree"
umount_ckptfs

mount_ckptfs
expect_eq "e new" "$(cd "$mnt" && echo e new*)" "a later mount shows the same tree"
umount_ckptfs
