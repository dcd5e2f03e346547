#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# found_between.sh: what a name leads to while another host has replaced its file, and the store's word on that is
# late.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 46; else plan 49; fi
start_store

# The store's silence is what these tests are about, and how long it takes is up to this machine.
mount_slow() { mount_ckptfs stall_timeout=120s "$@"; }
fdo_program=$tools/tests/lib/fdo # in the background: its process, and no shell's

# An open sees another version, takes the old one from its name and has the kernel look that up: before the store
# has answered, the name is renamed.
mount_slow attr_ttl=600s
printf first | store_put file
stat "$mnt/file" >/dev/null
printf 'the second' | store_put file
set_rules "$(held_once HeadObject file 1)"
cat "$mnt/file" >"$tmp/read" 2>&1 &
reading=$!
wait_held HeadObject
expect_eq ok "$(fdo rename "$mnt/file" "$mnt/new")" "a file can be renamed while an open finds that it was replaced"
set_faults
wait $reading
expect_eq "the second" "$(store_cat new)" "a rename takes the version that another host has put there"
expect_eq "the second" "$(cat "$mnt/new")" "a file that was renamed meanwhile can be read by its new name"
expect_eq ENOENT "$(fdo open r "$mnt/file")" "the old name of a file that was renamed meanwhile has gone"
umount_ckptfs

# An open finds that the file was replaced, and has no name that it could look up anew. Then the file is renamed, and
# another host makes one of the old name.
mount_slow attr_ttl=600s
printf first | store_put old
stat "$mnt/old" >/dev/null
printf 'the second' | store_put old
fdo_begin open p "$mnt/old" reopen r rename "$mnt/old" "$mnt/moved" pause open r "$mnt/moved" fsize close
printf 'of another host' | store_put old
expect_eq 15 "$(fdo size "$mnt/old")" "a name that was renamed away leads to what another host put there"
# promise: fresh.open
fdo_ends "ok ESTALE ok ok ok 10 ok" "an open by the new name never finds what has the old one"
umount_ckptfs

# A reader has the old version open, another host replaces that, and so does a rename here, for which an open waits.
mount_slow attr_ttl=600s
printf old | store_put target
fdo_begin open r "$mnt/target" pause size "$mnt/target" close
printf 'of another host' | store_put target
printf renamed >"$mnt/source"
set_rules "$(held_once MoveObject '[ts]*')"
fdo rename "$mnt/source" "$mnt/target" >"$tmp/rename" &
renaming=$!
wait_held MoveObject
cat "$mnt/target" >"$tmp/read" &
reading=$!
wait_in_call $reading
set_faults
wait $reading
expect_eq renamed "$(cat "$tmp/read")" "an open that waits for a rename finds what the rename brings"
wait $renaming
fdo_ends "ok ok 7 ok" "a name that a rename replaced has the size of what it brought"
umount_ckptfs

# What the store said long ago is not believed for attr_ttl from now on.
mount_slow attr_ttl=500ms
set_rules "$(held_once HeadObject absent)"
fdo size "$mnt/absent" >"$tmp/size" &
looking=$!
wait_held HeadObject
printf there | store_put absent
sleep 0.6
set_faults
wait $looking
expect_eq 5 "$(fdo size "$mnt/absent")" "a name is believed to be absent for attr_ttl since the store was asked, no longer"
umount_ckptfs

# While the store's reply to an open is under way, a change of the file's mode begins here: what that reply says of
# another host counts all the same.
with_chmod() {
	set_rules "$(held_once HeadObject "$1")" "$(held_once SetMeta "$1")"
	cat "$mnt/$1" >"$tmp/read" 2>&1 &
	reading=$!
	wait_held HeadObject
	fdo chmod 0600 "$mnt/$1" >"$tmp/chmod" &
	changing=$!
	wait_held SetMeta
	set_rules "$(still_held SetMeta "$1")"
	wait_in_call $reading
	set_faults
	wait $changing
	wait $reading
}
mount_slow attr_ttl=600s
for name in replaced removed; do
	printf old | store_put $name
	cat "$mnt/$name" >"$tmp/read"
done
printf 'of another host' | store_put replaced
with_chmod replaced
expect_eq "of another host" "$(cat "$tmp/read")" "an open finds another host's version while the mode is changed"
expect_eq ok "$(cat "$tmp/chmod")" "a mode can be changed while an open finds that the file was replaced"
expect_eq 600 "$(stat -c %a "$mnt/replaced")" "a mode that was changed meanwhile is that of the version found"
objects rm removed
with_chmod removed
check "an open finds that another host removed the file while the mode is changed" grep -q "No such file" "$tmp/read"
expect_eq ENOENT "$(cat "$tmp/chmod")" "the mode of a file that another host removed cannot be changed"
umount_ckptfs

# replaced_twice NAME: an open finds that another host has replaced the file, so that the kernel looks the name up once
# more, and a rename replaces what it finds.
replaced_twice() {
	printf 'of another host' | store_put "$1"
	set_rules "$(held_once HeadObject "$1")" "$(held_once MoveObject "[${1%"${1#?}"}s]*")"
	cat "$mnt/$1" >"$tmp/read" 2>&1 &
	reading=$!
	wait_held HeadObject
	sleep 0.6 # the kernel asks for the name, and not only for the file
	expect_eq 15 "$(fdo size "$mnt/$1")" "$1: a file that another host replaced can be looked at while an open waits"
	fdo rename "$mnt/source" "$mnt/$1" >"$tmp/rename" &
	renaming=$!
	wait_held MoveObject
	set_rules "$(still_held MoveObject "[${1%"${1#?}"}s]*")"
	wait_in_call $reading
	set_faults
	wait $renaming
	wait $reading
}
mount_slow attr_ttl=500ms
printf old | store_put twice
cat "$mnt/twice" >"$tmp/read"
printf renamed >"$mnt/source"
chmod --reference="$mnt/twice" "$mnt/source"
replaced_twice twice
# promise: fresh.twice
expect_eq renamed "$(cat "$tmp/read")" "an open that found a file replaced twice finds what the rename brought"
umount_ckptfs

# The same with a rename of a file of another mode.
mount_slow attr_ttl=500ms
printf old | store_put modes
cat "$mnt/modes" >"$tmp/read"
printf renamed >"$mnt/source"
chmod 600 "$mnt/source"
replaced_twice modes
# promise: fresh.twice
expect_eq renamed "$(cat "$tmp/read")" "an open that found a file replaced twice finds a renamed one of another mode"
umount_ckptfs

# An open finds that the file was replaced, and what the kernel finds by the name then is being removed when the second
# open comes: between the two the kernel asks for the mode, which the store is late to tell.
mount_slow attr_ttl=0
printf old | store_put gone
cat "$mnt/gone" >"$tmp/read"
set_rules "$(held_once HeadObject gone 2 hold)"
"$fdo_program" open r "$mnt/gone" >"$tmp/read" &
reading=$!
wait_held HeadObject
printf 'of another host' | store_put gone
set_rules "$(held_once HeadObject gone 2)" "$(held_once DeleteObject gone 0 hold)"
wait_held HeadObject
fdo unlink "$mnt/gone" >"$tmp/unlink" &
removing=$!
wait_held DeleteObject
set_rules "$(still_held DeleteObject gone hold)"
wait_in_call $reading
set_faults
wait $reading
wait $removing
expect_eq ok "$(cat "$tmp/unlink")" "a file that another host replaced can be removed while an open waits"
# promise: fresh.twice
expect_eq ENOENT "$(cat "$tmp/read")" "an open that found a file replaced finds none when that is removed"
umount_ckptfs

# An open waits for a rename that replaces the file, and what that brings has been removed when the store tells its mode.
# The removal looks the name up before the open asks for the mode.
mount_slow attr_ttl=0
printf old >"$mnt/taken"
printf renamed >"$mnt/source"
set_rules "$(held_once MoveObject '[st]*')"
requests_mark
fdo rename "$mnt/source" "$mnt/taken" >"$tmp/rename" &
renaming=$!
wait_held MoveObject
"$fdo_program" open r "$mnt/taken" >"$tmp/read" &
reading=$!
wait_for 20 requests_are HeadObject=5 # of the rename 3, and of the open, which waits for it now
wait_in_call $reading
set_rules "$(held_once HeadObject taken)" "$(held_once HeadObject taken 1 stall)"
wait $renaming
wait_held HeadObject
fdo unlink "$mnt/taken" >"$tmp/unlink" &
removing=$!
wait_held HeadObject 2
set_rules "$(still_held HeadObject taken stall)" "$(held_once HeadObject taken 0 hold)"
# If the kernel was told of the rename after the open asked for the name again, it is the open that waits for the removal.
try_for 5 is_held HeadObject
set_rules "$(still_held HeadObject taken hold)"
wait $removing
expect_eq ok "$(cat "$tmp/unlink")" "what a rename brought can be removed while an open asks for its mode"
set_faults
wait $reading
# promise: fresh.twice
expect_eq ENOENT "$(cat "$tmp/read")" "an open that waited for a rename finds none when what that brought has been removed"
umount_ckptfs

# While a directory is being removed, in vain, what is known of the files in it grows old as always.
mount_slow attr_ttl=500ms
mkdir "$mnt/full"
printf old >"$mnt/full/file"
cat "$mnt/full/file" >"$tmp/read"
set_rules "$(held_once ListObjectsV2 full/)"
fdo rmdir "$mnt/full" >"$tmp/rmdir" &
removing=$!
wait_held ListObjectsV2
printf 'of another host' | store_put full/file
sleep 0.6
"$fdo_program" size "$mnt/full/file" >"$tmp/size" &
looking=$!
wait_in_call $looking # the kernel asks for the name, and has it when the directory stays
set_faults
wait $looking
wait $removing
# promise: fresh.age
expect_eq 15 "$(cat "$tmp/size")" "a file is as large as another host made it while its directory is removed"
expect_eq ENOTEMPTY "$(cat "$tmp/rmdir")" "a directory in which another host makes a file meanwhile is not removed"
umount_ckptfs

# meanwhile OP KEY NEW OLD NAME: OLD is renamed to NEW, which the store has done but not said yet. Another host puts an
# object there as NAME, and a process opens it.
meanwhile() {
	set_rules "$(held_once "$1" "$2")"
	fdo rename "$mnt/$4" "$mnt/$3" >"$tmp/rename" &
	renaming=$!
	wait_held "$1"
	printf 'of another host' | store_put "$5"
	cat "$mnt/$5" >"$tmp/read" &
	reading=$!
	wait_in_call $reading
	set_faults
	wait $reading
	wait $renaming
}

# A rename has replaced the file at the store, and another host what the rename brought; then a process opens it.
mount_slow attr_ttl=600s
printf old | store_put both
stat "$mnt/both" >"$tmp/stat"
printf renamed >"$mnt/source"
meanwhile MoveObject '[bs]*' both source both
expect_eq "of another host" "$(cat "$tmp/read")" "an open finds what another host put over what a rename brought"
expect_eq ok "$(cat "$tmp/rename")" "a rename succeeds although another host replaces what it brought"
umount_ckptfs

# A file is being renamed, and another host has made one of its old name since; then a process opens it by that.
mount_slow attr_ttl=600s
printf old | store_put away
stat "$mnt/away" >"$tmp/stat"
meanwhile MoveObject 'away*' away.1 away away
# promise: fresh.open
expect_eq "of another host" "$(cat "$tmp/read")" "an open by the old name of what is being renamed finds what another host put there"
expect_eq "ok old" "$(cat "$tmp/rename") $(cat "$mnt/away.1")" "a file is renamed although another host makes one of its old name"
umount_ckptfs

# The same with a directory, whose old objects are being deleted.
if ! on_gs; then
	mount_slow attr_ttl=600s
	mkdir "$mnt/tree"
	printf old >"$mnt/tree/file"
	cat "$mnt/tree/file" >"$tmp/read"
	meanwhile DeleteObjects '*' tree.1 tree tree/file
	# promise: fresh.open
	expect_eq "of another host" "$(cat "$tmp/read")" "an open below an old name of a directory finds what another host put there"
	expect_eq "ok old" "$(cat "$tmp/rename") $(cat "$mnt/tree.1/file")" "a directory is renamed although another host makes a file below its old name"
	umount_ckptfs
fi

# A call that fails because another host has made the name since tells that it is there: who creates a file is not
# told what was known before.
mount_slow attr_ttl=600s
mkdir "$mnt/made"
for name in a b c; do # looked for in vain, so that the next ones are known to be absent
	printf a >"$mnt/made/$name"
done
set_rules "$(held_once PutObject made/link 0 hold)"
fdo symlink nowhere "$mnt/made/link" >"$tmp/link" &
linking=$!
wait_held PutObject
objects mark made/link mode=33206 # 0100666
set_faults
wait $linking
expect_eq EEXIST "$(cat "$tmp/link")" "a link cannot have the name of what another host has made meanwhile"
printf 3 >"$mnt/made/link"
expect_eq "3 666" "$(store_cat made/link) $(stat -c %a "$mnt/made/link")" "a file whose name a link could not get keeps its mode"
umount_ckptfs

# An open finds that another host has replaced the file. While its new version is looked up, the page of a listing that
# was asked for before comes.
mount_slow attr_ttl=12s listed_attrs=assume
printf old | store_put pages/listed
cat "$mnt/pages/listed" >"$tmp/read"
set_rules "$(held_once ListObjectsV2 pages/)" "$(held_once HeadObject pages/listed 1)"
sleep 11 # the kernel will ask for the name long before the page is too old to be believed
ls -U "$mnt/pages" >"$tmp/names" &
listing=$!
wait_held ListObjectsV2
printf 'of another host' | store_put pages/listed
cat "$mnt/pages/listed" >"$tmp/read" 2>&1 &
reading=$!
wait_held HeadObject
set_rules "$(still_held HeadObject pages/listed)"
wait $listing
sleep 1
expect_eq 15 "$(fdo size "$mnt/pages/listed")" "what another host replaced is not brought back by a listing that was under way"
set_faults
wait $reading
expect_eq "of another host" "$(cat "$tmp/read")" "an open that finds a file replaced reads the new one, whatever a listing brings"
umount_ckptfs
