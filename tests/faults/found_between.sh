#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# found_between.sh: what a name leads to while another host has replaced its file, and the store's word on that is
# late.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 28
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
