#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lost_name.sh: another host replaces a file that a process here has open, and it is renamed here. The kernel knows the
# new name by the file that is open, but what is changed by that name is the file that was renamed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 13
start_store
mount_ckptfs attr_ttl=600s

# renamed NAME: $old is open and replaced, and what replaced it has the name.
renamed() {
	old=$1.old
	printf first | store_put "$old"
	fdo_begin open r "$mnt/$old" pause size "$mnt/$1" close
	printf 'of another host' | store_put "$old"
	expect_eq ok "$(fdo rename "$mnt/$old" "$mnt/$1")" "a file is renamed that another host has replaced: $1"
}
let_go() {
	fdo_next
	wait "$fdo_pid"
}

renamed mode
# promise: rename.file
expect_eq "ok 600" "$(fdo chmod 0600 "$mnt/mode") $(stat -c %a "$mnt/mode")" "the mode of a file that was renamed can be changed by its new name"
expect_eq "mode ENOENT" "$(store_ls | xargs) $(fdo size "$mnt/$old")" "a change of the mode by the new name brings no old name back"
let_go

renamed attribute
printf 'made since' | store_put "$old"
expect_eq "ok 1" "$(fdo setxattr user.a "$mnt/attribute" getxattr user.a "$mnt/attribute" | xargs)" \
	"the attributes of a file that was renamed can be changed by its new name"
expect_eq ENODATA "$(fdo getxattr user.a "$mnt/$old")" "what another host makes by the old name keeps its own attributes"
let_go
rm "$mnt/$old"

renamed size
# promise: bytes.truncate
expect_eq "ok 0" "$(fdo truncate 0 "$mnt/size") $(objects size size)" "a file that was renamed can be emptied by its new name"
check_fails "a file that is emptied by its new name does not come back by the old one" objects size "$old"
let_go

renamed shorter
expect_eq "ok of an" "$(fdo truncate 5 "$mnt/shorter") $(store_cat shorter)" "a file that was renamed can be made shorter by its new name"
check_fails "a file that is made shorter by its new name does not come back by the old one" objects size "$old"
let_go
umount_ckptfs
