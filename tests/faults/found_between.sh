#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# found_between.sh: what a name leads to while another host has replaced its file, and the store's word on that is
# late.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 46; else plan 49; fi
start_store

# late OP KEY SKIP TIME: one reply
late() {
	printf '[{"op": "%s", "key": "%s", "skip": %s, "times": 1, "do": "delay", "stall": "%s"}]\n' "$@" >"$tmp/late.json"
	set_faults "$tmp/late.json"
	requests_mark
}

# An open sees another version, takes the old one from its name and has the kernel look that up: before the store
# has answered, the name is renamed.
mount_ckptfs attr_ttl=600s
printf first | store_put file
stat "$mnt/file" >/dev/null
printf 'the second' | store_put file
late HeadObject file 1 3s
cat "$mnt/file" >"$tmp/read" 2>&1 &
reading=$!
wait_for 20 requests_are HeadObject=1
sleep 0.3 # the open has its reply, and asks for the name
expect_eq ok "$(fdo rename "$mnt/file" "$mnt/new")" "a file can be renamed while an open finds that it was replaced"
wait $reading
expect_eq "the second" "$(store_cat new)" "a rename takes the version that another host has put there"
expect_eq "the second" "$(cat "$mnt/new")" "a file that was renamed meanwhile can be read by its new name"
expect_eq ENOENT "$(fdo open r "$mnt/file")" "the old name of a file that was renamed meanwhile has gone"
set_faults
umount_ckptfs

# An open finds that the file was replaced, and has no name that it could look up anew. Then the file is renamed, and
# another host makes one of the old name.
mount_ckptfs attr_ttl=600s
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
mount_ckptfs attr_ttl=600s
printf old | store_put target
fdo_begin open r "$mnt/target" pause size "$mnt/target" close
printf 'of another host' | store_put target
printf renamed >"$mnt/source"
late MoveObject '[ts]*' 0 2s
fdo rename "$mnt/source" "$mnt/target" >"$tmp/rename" &
renaming=$!
sleep 0.5
expect_eq renamed "$(cat "$mnt/target")" "an open that waits for a rename finds what the rename brings"
wait $renaming
fdo_ends "ok ok 7 ok" "a name that a rename replaced has the size of what it brought"
set_faults
umount_ckptfs

# What the store said long ago is not believed for attr_ttl from now on.
mount_ckptfs attr_ttl=500ms
late HeadObject absent 0 2s
fdo size "$mnt/absent" >"$tmp/size" &
looking=$!
sleep 0.5
printf there | store_put absent
wait $looking
expect_eq 5 "$(fdo size "$mnt/absent")" "a name is believed to be absent for attr_ttl since the store was asked, no longer"
set_faults
umount_ckptfs

# While the store's reply to an open is under way, a change of the file's mode begins here: what that reply says of
# another host counts all the same.
with_chmod() {
	cat >"$tmp/late.json" <<-EOF
		[{"op": "HeadObject", "key": "$1", "times": 1, "do": "delay", "stall": "1s"},
		 {"op": "SetMeta", "key": "$1", "times": 1, "do": "delay", "stall": "3s"}]
	EOF
	set_faults "$tmp/late.json"
	cat "$mnt/$1" >"$tmp/read" 2>&1 &
	reading=$!
	sleep 0.3
	fdo chmod 0600 "$mnt/$1" >"$tmp/chmod"
	wait $reading
	set_faults
}
mount_ckptfs attr_ttl=600s
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

# An open finds that another host has replaced the file, so that the kernel looks the name up once more, and a rename
# replaces what it finds.
mount_ckptfs attr_ttl=500ms
printf old | store_put twice
cat "$mnt/twice" >"$tmp/read"
printf renamed >"$mnt/source"
chmod --reference="$mnt/twice" "$mnt/source"
printf 'of another host' | store_put twice
cat >"$tmp/late.json" <<-EOF
	[{"op": "HeadObject", "key": "twice", "times": 1, "do": "delay", "stall": "2s"},
	 {"op": "MoveObject", "key": "[ts]*", "times": 1, "do": "delay", "stall": "4s"}]
EOF
set_faults "$tmp/late.json"
cat "$mnt/twice" >"$tmp/read" 2>&1 &
reading=$!
sleep 0.7
expect_eq 15 "$(fdo size "$mnt/twice")" "a file that another host replaced can be looked at while an open waits"
fdo rename "$mnt/source" "$mnt/twice" >"$tmp/rename"
wait $reading
# promise: fresh.twice
expect_eq renamed "$(cat "$tmp/read")" "an open that found a file replaced twice finds what the rename brought"
set_faults
umount_ckptfs

# The same with a rename of a file of another mode.
mount_ckptfs attr_ttl=500ms
printf old | store_put modes
cat "$mnt/modes" >"$tmp/read"
printf renamed >"$mnt/source"
chmod 600 "$mnt/source"
printf 'of another host' | store_put modes
cat >"$tmp/late.json" <<-EOF
	[{"op": "HeadObject", "key": "modes", "times": 1, "do": "delay", "stall": "2s"},
	 {"op": "MoveObject", "key": "[ms]*", "times": 1, "do": "delay", "stall": "4s"}]
EOF
set_faults "$tmp/late.json"
cat "$mnt/modes" >"$tmp/read" 2>&1 &
reading=$!
sleep 0.7
expect_eq 15 "$(fdo size "$mnt/modes")" "a file that another host replaced can be looked at before a rename of another mode"
fdo rename "$mnt/source" "$mnt/modes" >"$tmp/rename"
wait $reading
# promise: fresh.twice
expect_eq renamed "$(cat "$tmp/read")" "an open that found a file replaced twice finds a renamed one of another mode"
set_faults
umount_ckptfs

# An open finds that the file was replaced, and what the kernel finds by the name then is being removed when the second
# open comes: between the two the kernel asks for the mode, which the store is late to tell.
mount_ckptfs attr_ttl=0
printf old | store_put gone
cat "$mnt/gone" >"$tmp/read"
cat >"$tmp/late.json" <<-EOF
	[{"op": "HeadObject", "key": "gone", "skip": 2, "times": 3, "do": "status", "status": 503},
	 {"op": "HeadObject", "key": "gone", "skip": 8, "times": 1, "do": "delay", "stall": "3s"},
	 {"op": "DeleteObject", "key": "gone", "do": "status", "status": 503}]
EOF
set_faults "$tmp/late.json"
printf 'of another host' >"$tmp/theirs"
fdo open r "$mnt/gone" >"$tmp/read" &
reading=$!
sleep 0.05
store_put gone <"$tmp/theirs"
sleep 1.5
fdo unlink "$mnt/gone" >"$tmp/unlink" &
removing=$!
sleep 3
set_faults
wait $reading
wait $removing
expect_eq ok "$(cat "$tmp/unlink")" "a file that another host replaced can be removed while an open waits"
# promise: fresh.twice
expect_eq ENOENT "$(cat "$tmp/read")" "an open that found a file replaced finds none when that is removed"
umount_ckptfs

# An open waits for a rename that replaces the file, and what that brings has been removed when the store tells its mode.
# The removal looks the name up before the open asks for the mode.
mount_ckptfs attr_ttl=0
printf old >"$mnt/taken"
printf renamed >"$mnt/source"
cat >"$tmp/late.json" <<-EOF
	[{"op": "MoveObject", "key": "[st]*", "times": 1, "do": "delay", "stall": "2s"},
	 {"op": "HeadObject", "key": "taken", "skip": 3, "times": 2, "do": "delay", "stall": "2s"},
	 {"op": "HeadObject", "key": "taken", "skip": 5, "times": 1, "do": "hold", "stall": "3s"}]
EOF
set_faults "$tmp/late.json"
fdo rename "$mnt/source" "$mnt/taken" >"$tmp/rename" &
renaming=$!
sleep 0.5
fdo open r "$mnt/taken" >"$tmp/read" &
reading=$!
wait $renaming
sleep 0.5
expect_eq ok "$(fdo unlink "$mnt/taken")" "what a rename brought can be removed while an open asks for its mode"
wait $reading
# promise: fresh.twice
expect_eq ENOENT "$(cat "$tmp/read")" "an open that waited for a rename finds none when what that brought has been removed"
set_faults
umount_ckptfs

# While a directory is being removed, in vain, what is known of the files in it grows old as always.
mount_ckptfs attr_ttl=500ms
mkdir "$mnt/full"
printf old >"$mnt/full/file"
cat "$mnt/full/file" >"$tmp/read"
printf '[{"op": "ListObjectsV2", "do": "delay", "stall": "4s"}]\n' >"$tmp/late.json"
set_faults "$tmp/late.json"
printf 'of another host' | store_put full/file & # which lists, too, before it writes
putting=$!
sleep 2
fdo rmdir "$mnt/full" >"$tmp/rmdir" &
removing=$!
wait $putting
# promise: fresh.age
expect_eq 15 "$(fdo size "$mnt/full/file")" "a file is as large as another host made it while its directory is removed"
wait $removing
expect_eq ENOTEMPTY "$(cat "$tmp/rmdir")" "a directory in which another host makes a file meanwhile is not removed"
set_faults
umount_ckptfs

# A rename has replaced the file at the store, and another host what the rename brought; then a process opens it.
mount_ckptfs attr_ttl=600s
printf old | store_put both
stat "$mnt/both" >"$tmp/stat"
printf renamed >"$mnt/source"
late MoveObject '[bs]*' 0 3s
fdo rename "$mnt/source" "$mnt/both" >"$tmp/rename" &
renaming=$!
renamed() { [ "$(store_cat both)" = renamed ]; }
wait_for 20 renamed
printf 'of another host' | store_put both
expect_eq "of another host" "$(cat "$mnt/both")" "an open finds what another host put over what a rename brought"
wait $renaming
expect_eq ok "$(cat "$tmp/rename")" "a rename succeeds although another host replaces what it brought"
set_faults
umount_ckptfs

# A file is being renamed, and another host has made one of its old name since; then a process opens it by that.
mount_ckptfs attr_ttl=600s
printf old | store_put away
stat "$mnt/away" >"$tmp/stat"
late MoveObject 'away*' 0 3s
fdo rename "$mnt/away" "$mnt/away.1" >"$tmp/rename" &
renaming=$!
copied() { [ "$(store_cat away.1 2>/dev/null)" = old ]; }
wait_for 20 copied
printf 'of another host' | store_put away
# promise: fresh.open
expect_eq "of another host" "$(cat "$mnt/away")" "an open by the old name of what is being renamed finds what another host put there"
wait $renaming
expect_eq "ok old" "$(cat "$tmp/rename") $(cat "$mnt/away.1")" "a file is renamed although another host makes one of its old name"
set_faults
umount_ckptfs

# The same with a directory, whose old objects are being deleted.
if ! on_gs; then
	mount_ckptfs attr_ttl=600s
	mkdir "$mnt/tree"
	printf old >"$mnt/tree/file"
	cat "$mnt/tree/file" >"$tmp/read"
	printf '[{"op": "DeleteObjects", "times": 1, "do": "delay", "stall": "3s"}]\n' >"$tmp/late.json"
	set_faults "$tmp/late.json"
	fdo rename "$mnt/tree" "$mnt/tree.1" >"$tmp/rename" &
	renaming=$!
	deleted() { ! store_ls tree/ | grep -q file; }
	wait_for 20 deleted
	printf 'of another host' | store_put tree/file
	# promise: fresh.open
	expect_eq "of another host" "$(cat "$mnt/tree/file")" "an open below an old name of a directory finds what another host put there"
	wait $renaming
	expect_eq "ok old" "$(cat "$tmp/rename") $(cat "$mnt/tree.1/file")" "a directory is renamed although another host makes a file below its old name"
	set_faults
	umount_ckptfs
fi

# A call that fails because another host has made the name since tells that it is there: who creates a file is not
# told what was known before.
mount_ckptfs attr_ttl=600s
mkdir "$mnt/made"
for name in a b c; do # looked for in vain, so that the next ones are known to be absent
	printf a >"$mnt/made/$name"
done
printf '[{"op": "PutObject", "key": "made/link", "times": 1, "do": "stall", "stall": "3s"}]\n' >"$tmp/late.json"
set_faults "$tmp/late.json"
fdo symlink nowhere "$mnt/made/link" >"$tmp/link" &
linking=$!
sleep 1
objects mark made/link mode=33206 # 0100666
wait $linking
set_faults
expect_eq EEXIST "$(cat "$tmp/link")" "a link cannot have the name of what another host has made meanwhile"
printf 3 >"$mnt/made/link"
expect_eq "3 666" "$(store_cat made/link) $(stat -c %a "$mnt/made/link")" "a file whose name a link could not get keeps its mode"
umount_ckptfs

# An open finds that another host has replaced the file. While its new version is looked up, the page of a listing that
# was asked for before comes.
mount_ckptfs attr_ttl=6s listed_attrs=assume
printf old | store_put listed
cat >"$tmp/late.json" <<-EOF
	[{"op": "ListObjectsV2", "do": "delay", "stall": "2s"},
	 {"op": "HeadObject", "key": "listed", "skip": 3, "times": 1, "do": "delay", "stall": "5s"}]
EOF
set_faults "$tmp/late.json"
cat "$mnt/listed" >"$tmp/read"
sleep 3 # the kernel will ask for the name before the page is too old to be believed
printf 'of another host' | store_put listed & # which lists, too, before it writes
putting=$!
sleep 1
ls -U "$mnt" >"$tmp/names" &
listing=$!
wait $putting
cat "$mnt/listed" >"$tmp/read" 2>&1 &
reading=$!
wait $listing
sleep 0.5
expect_eq 15 "$(fdo size "$mnt/listed")" "what another host replaced is not brought back by a listing that was under way"
wait $reading
expect_eq "of another host" "$(cat "$tmp/read")" "an open that finds a file replaced reads the new one, whatever a listing brings"
set_faults
umount_ckptfs
