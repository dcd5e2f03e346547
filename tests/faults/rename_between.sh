#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_between.sh: what another host does to the old name of a file between the copy and the delete that are its
# rename stays.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if [ -n "${CKPTFS_TEST_KEYS:-}" ]; then plan 25; else plan 33; fi
start_store
mount_ckptfs attr_ttl=0 part_size=5M stall_timeout=120s

# between NAME WANT COMMAND...: a rename of `old` to `new`; the command once the copy is there, and before that is known.
between() {
	name=$1 want=$2
	shift 2
	printf mine | store_put old
	objects rm new 2>/dev/null
	expect_eq 4 "$(fdo size "$mnt/old")" "a file is to be renamed"
	set_faults "${fault:-rename_copied_late}"
	# shellcheck disable=SC2086 # two words, or one
	fdo ${rename:-rename} "$mnt/old" "$mnt/new" >"$tmp/said" &
	renames=$!
	wait_held CopyObject
	"$@"
	set_faults
	wait $renames
	# promise: rename.others
	expect_eq "$want" "$({ cat "$tmp/said"; store_ls; } | xargs)" "a change between the steps of a rename is kept: $name"
}
put() { printf "$1" | store_put old; }
anew() { objects rm old && put "theirs"; }
content() { echo "$(store_cat old) $(store_cat new) $(cat "$mnt/old") $(cat "$mnt/new")"; }

between "the file is overwritten" "ok new old" put theirs
expect_eq "theirs mine theirs mine" "$(content)" "each name has its file"
between "something is appended to the file" "ok new old" put mineandmore
expect_eq "mineandmore mine mineandmore mine" "$(content)" "each name has its file"
between "the file is made anew" "ok new old" anew
expect_eq "theirs mine theirs mine" "$(content)" "each name has its file"
between "the file is deleted, or renamed: that was first" "ENOENT new" objects rm old
expect_eq "ENOENT mine" "$(fdo size "$mnt/old") $(cat "$mnt/new")" "the file that the new name led to is not lost"
expect_log 'somebody else took the old name away'
rm "$mnt/new"
if [ -n "${CKPTFS_TEST_KEYS:-}" ]; then
	rename="rename2 n"
	between "a rename that replaces nothing takes its copy back" "ENOENT" objects rm old
else
	# The reply to the copy is lost, and another host changes the old name before the copy is sent again.
	printf first >"$mnt/learn"
	expect_eq ok "$(fdo rename2 n "$mnt/learn" "$mnt/learned")" "a rename that replaces nothing finds out what the store honors"
	rm "$mnt/learned"
	fault=$tmp/lost.json rename="rename2 n"
	cat >"$fault" <<-END
		[{"op": "CopyObject", "key": "new", "times": 1, "do": "reset_after"},
		{"op": "CopyObject", "key": "new", "times": 1, "do": "hold", "until": "reload"}]
	END
	# promise: rename.noreplace
	between "the reply is lost, the file overwritten" "ok new old" put theirs
	expect_eq "theirs mine theirs mine" "$(content)" "each name has its file"
	between "the reply is lost, the file taken away: the copy goes again" "ENOENT" objects rm old
	fault=''
fi

# The same of an upload that goes through the name it was begun with.
set_rules "$(held_once CopyObject sent)"
fdo_begin open wct "$mnt/begun" write 12000000 pause close
fdo rename "$mnt/begun" "$mnt/sent" >"$tmp/said"
: >"$tmp/fdo/go"
wait_held CopyObject
printf theirs | store_put begun
set_faults
fdo_ends "ok ok ok ok" "a file is renamed while its upload is under way"
# promise: rename.sent
expect_eq "theirs 12000000" "$(store_cat begun) $(objects size sent)" "what was put at its first name meanwhile stays"
rm "$mnt/sent" "$mnt/begun"

# What was renamed without having been published does not take the place of another's object.
printf 1 | store_put final
fdo_begin open wct "$mnt/tmp" write 100 pause close
expect_eq ok "$(fdo rename "$mnt/tmp" "$mnt/final")" "a file that is not published takes the place of one that is"
printf theirs | store_put final
expect_eq ok "$(fdo rename "$mnt/final" "$mnt/last")" "a file gets a third name though another host has replaced the second"
fdo_ends "ok ok ok ok" "a file with a third name is published"
expect_eq "theirs 100" "$(store_cat final) $(objects size last)" "both files are there after the third rename"
umount_ckptfs

# The kernel knows the file by its old name still, of which another host has taken it away.
objects rm final
objects rm last
mount_ckptfs attr_ttl=600s stall_timeout=120s
rename=rename
between "the file is taken away and its name is still known" "ENOENT new" objects rm old
# promise: rename.others
expect_eq "ENOENT ENOENT EBADF EBADF mine" "$(fdo open r "$mnt/old" open wa "$mnt/old" write 4 close) $(store_cat new)" \
	"an open by a name that another host took away leads to no other"
expect_log 'somebody else took the old name away'
umount_ckptfs

# Where equal bytes have equal ETags ("an MD5 digest of their object data", AWS, API reference, Object) nothing tells
# what was moved back from what was copied.
if [ -z "${CKPTFS_TEST_KEYS:-}" ]; then
	use_mount equal
	start_store --content-etags
	mount_ckptfs attr_ttl=0 stall_timeout=120s
	back() { store_cat new | store_put old && objects rm new; }
	between "the file is moved back" "ok" back
	# promise: rename.back
	expect_eq "" "$(store_ls)" "what another host moves back before the old name was deleted is deleted on S3"
	umount_ckptfs
fi
