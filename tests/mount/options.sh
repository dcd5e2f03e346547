#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# options.sh: options that change what a mount shows or allows.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 22
start_store
printf bytes | store_put file

mount_ckptfs ro
expect_eq "bytes" "$(cat "$mnt/file")" "ro: a file is read"
# promise: errno.EROFS
expect_eq "EROFS EROFS EROFS EROFS EROFS" "$(fdo open wct "$mnt/new" open wt "$mnt/file" \
	unlink "$mnt/file" mkdir "$mnt/d" truncate 0 "$mnt/file")" "every change is refused"
umount_ckptfs
expect_eq bytes "$(store_cat file)" "ro: nothing has changed"

printf '#!/bin/sh\n' | store_put program
mount_ckptfs noexec,file_mode=0755
"$mnt/program" 2>"$tmp/err"
expect_eq 126 $? "noexec: a program is not run"
umount_ckptfs
mount_ckptfs file_mode=0640,dir_mode=0750,uid=12,gid=34
printf x | store_put d/below
expect_eq "640 12 34" "$(stat -c '%a %u %g' "$mnt/file")" "mode and owner of files are those of the options"
expect_eq "750 12 34" "$(stat -c '%a %u %g' "$mnt/d")" "mode and owner of directories are those of the options"
umount_ckptfs
mount_ckptfs uid=daemon,gid=daemon,user=somebody
expect_eq "daemon daemon" "$(stat -c '%U %G' "$mnt/file")" "owner and group may be given by name"
expect_eq 255 "$(fdo namemax "$mnt")" "statfs tells the longest name"
check "statfs tells that there is room" test "$(stat -f -c '%a' "$mnt")" -gt 1000000
check "df shows the mount" sh -c 'df "$1" | grep -q "[sg][3s]://"' sh "$mnt"
umount_ckptfs

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if ! as_nobody true 2>/dev/null; then
	for name in 1 2 3 4 5 6 7 8; do skip "allow_other is obeyed: $name" "setpriv cannot change the user"; done
	exit 0
fi
chmod 755 "$tmp"
mount_ckptfs
check_fails "another user may not enter" as_nobody ls "$mnt"
umount_ckptfs
mount_ckptfs allow_other,file_mode=0640,dir_mode=0755
check "allow_other: another user may list" as_nobody ls "$mnt"
check_fails "allow_other: another user may not read what the mode denies" as_nobody cat "$mnt/file"
check_fails "allow_other: another user may not write there" as_nobody sh -c 'echo x >"$1/new"' sh "$mnt"
check_fails "allow_other: another user may not delete" as_nobody rm -f "$mnt/file"
umount_ckptfs
expect_eq "bytes" "$(store_cat file)" "allow_other: nothing has changed"
