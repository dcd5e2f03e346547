#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_sent.sh: a file is renamed while parts of it are at the store already, and not kept here.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 37; else plan 59; fi
start_store
# In so little memory nothing of what was sent is kept.
mount_ckptfs part_size=5M memory=64M attr_ttl=0 stall_timeout=120s
head -c 26000000 /dev/urandom >"$tmp/data"
head -c 12000000 "$tmp/data" >"$tmp/first"

requests_mark
fdo_begin src "$tmp/data" open wct "$mnt/tmp" write 12000000 pause write 14000000 pause close
expect_eq "ok" "$(fdo rename "$mnt/tmp" "$mnt/name")" "a file of which parts were sent is renamed"
expect_eq "" "$(store_ls)" "a rename of a file with sent parts publishes nothing"
fdo_next
expect_eq "" "$(store_ls)" "writes after a rename publish nothing"
fdo_ends "ok ok ok ok ok ok ok" "a close after a rename publishes"
# promise: rename.sent
same "a close after a rename publishes all bytes" "$tmp/data" name
expect_eq "name" "$(store_ls)" "a renamed file is under the new name alone"
expect_requests "no part of a renamed file is sent twice" UploadPart=5

# The old name is somebody else's by then.
fdo_begin src "$tmp/data" open wct "$mnt/log" write 12000000 pause close
expect_eq "ok ok ok ok" "$(fdo rename "$mnt/log" "$mnt/log.1" open wct "$mnt/log" write 5 close)" \
	"a new file gets the old name and is published"
if on_gs; then # which completes an upload by any name
	fdo_ends "ok ok ok ok ok" "a renamed file is published although another file has the old name"
	same "a renamed file whose old name is taken has all bytes" "$tmp/first" log.1
	rm "$mnt/log.1"
else
	# promise: rename.sent-taken
	fdo_ends "ok ok ok ok ESTALE" "a renamed file's close fails when it cannot keep its data"
	# promise: rename.sent-taken
	expect_eq "log" "$(store_uploads)" "the parts that a renamed file sent are kept"
	check "the log says that sent parts are kept" grep -q 'log: another file has that name: .* is kept as' "$mount_log"
	expect_log 'log: another file has that name'
fi
expect_eq "xxxxx" "$(store_cat log)" "a new file of the old name stands"

# One that has a version at the store.
set -- src "$tmp/data" open w "$mnt/old" pwrite 12000000 12000000 pause pwrite 2000000 24000000 close
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/old" write 12000000 close)" "a file that is to be renamed is published"
fdo_begin "$@"
expect_eq "ok" "$(fdo rename "$mnt/old" "$mnt/new")" "a published file is renamed while more of it is sent"
same "the published version is renamed first" "$tmp/first" new
fdo_ends "ok ok ok ok ok ok" "a writer goes on after its published file is renamed"
same "a close adds to the renamed version" "$tmp/data" new
expect_eq "log name new" "$(store_ls | grep -v ckptfs | xargs)" "nothing is under the old name of a file that was added to"

expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/old" write 12000000 close)" "another file is published"
fdo_begin "$@"
expect_eq "ok" "$(fdo rename "$mnt/old" "$mnt/new")" "another file is renamed while more of it is sent"
printf theirs | store_put new
fdo_ends "ok ok ok ok ok ESTALE" "a close fails when another host has replaced the renamed file"
expect_eq "theirs" "$(store_cat new)" "an object that another host put at the new name stands"
expect_eq "log name new" "$(store_ls | grep -v ckptfs | xargs)" "nothing is under the old name after a close that failed"
check "what was written is kept for the old name" grep -q \
	'new: its version .* was replaced by another host: .* is kept as .*, to be published as old: ' "$mount_log"
expect_log 'new: its version'

# Another file is renamed to the first name while the object is leaving it, or what is there is removed.
leaving() { # NAME: a file is published as NAME.1 by way of NAME
	fdo_begin src "$tmp/data" open wct "$mnt/$1" write 12000000 pause close
	expect_eq "ok" "$(fdo rename "$mnt/$1" "$mnt/$1.1")" "$1: a file of which parts were sent is renamed"
	set_rules "$(held_once HeadObject "$1")"
	: >"$tmp/fdo/go"
	wait_held HeadObject
}
# meanwhile CALL...: what fdo does with that name, and may have to wait for
meanwhile() {
	"$tools/tests/lib/fdo" "$@" >"$tmp/said" &
	calls=$!
	wait_begun $calls
	set_faults
	wait $calls
}
if ! on_gs; then
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/other" write 5 close)" "a file is published that is to be renamed"
	leaving way
	meanwhile rename "$mnt/other" "$mnt/way"
	expect_eq "ok" "$(cat "$tmp/said")" "a file is renamed to a name that another is leaving"
	fdo_ends "ok ok ok ok ok" "a file leaves its first name while that becomes another's"
	same "a file that left its first name has all bytes" "$tmp/first" way.1
	expect_eq "xxxxx" "$(store_cat way)" "a file that was renamed to a name that another was leaving stays"
	leaving gone
	meanwhile unlink "$mnt/gone"
	fdo_ends "ok ok ok ok ok" "a file leaves its first name while that is removed"
	same "a file whose first name is removed has all bytes" "$tmp/first" gone.1
	leaving made
	meanwhile symlink target "$mnt/made"
	expect_eq "ok" "$(cat "$tmp/said")" "a link is made at a name that another is leaving"
	fdo_ends "ok ok ok ok ok" "a file leaves its first name while a link is to be there"
	expect_eq target "$(readlink "$mnt/made")" "a link at a name that another left is what was made"
	same "a file whose first name became a link's has all bytes" "$tmp/first" made.1
	leaving mode
	meanwhile chmod 0600 "$mnt/mode"
	fdo_ends "ok ok ok ok ok" "a file leaves its first name while what is there gets another mode"
	same "a file whose first name gets another mode has all bytes" "$tmp/first" mode.1
fi
umount_ckptfs

# What was sent is kept here, too.
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
requests_mark
fdo_begin src "$tmp/data" open wct "$mnt/tmp" write 12000000 pause write 14000000 pause close
expect_eq "ok" "$(fdo rename "$mnt/tmp" "$mnt/kept")" "a file that is all here is renamed"
fdo_next
fdo_ends "ok ok ok ok ok ok ok" "a renamed file that is all here is published"
same "a renamed file that is all here has all bytes" "$tmp/data" kept
expect_requests "no part is sent twice of a file that is all here" UploadPart=5 PutObject=0

fdo_begin src "$tmp/data" open wct "$mnt/turn" write 12000000 pause close
expect_eq "ok ok ok ok" "$(fdo rename "$mnt/turn" "$mnt/turn.1" open wct "$mnt/turn" write 5 close)" \
	"a file is closed whose old name another file has by then"
# promise: rename.sent-taken
fdo_ends "ok ok ok ok ok" "a file without its old name is sent anew"
same "a file that is sent anew is at the store byte for byte" "$tmp/first" turn.1
expect_eq "xxxxx" "$(store_cat turn)" "a file that took the old name is at the store byte for byte"

# Both are published at once: the new file waits until the old one has left its name.
fdo_begin src "$tmp/data" open wct "$mnt/both" write 12000000 pause close
expect_eq "ok" "$(fdo rename "$mnt/both" "$mnt/both.1")" "a file is renamed, and its old name taken"
mkdir "$tmp/other"
FDO_DIR=$tmp/other "$tools/tests/lib/fdo" open wct "$mnt/both" write 3 pause close >"$tmp/said" &
other=$!
wait_for 30 test -e "$tmp/other/paused"
on_gs || set_rules "$(held_once CopyObject both.1)"
: >"$tmp/fdo/go"
on_gs || wait_held CopyObject
: >"$tmp/other/go"
wait_for 30 test ! -e "$tmp/other/go"
wait_begun $other
set_faults
wait $other
fdo_ends "ok ok ok ok ok" "a file is published at a name while another leaves it"
same "the file that leaves the name is at the store byte for byte" "$tmp/first" both.1
expect_eq "xxx" "$(store_cat both)" "the file that takes the name is at the store, too"

# What cannot leave its first name is one put by then. On Google Cloud Storage no upload has its name before its end.
if ! on_gs; then
	head -c 5242880 "$tmp/data" >"$tmp/part"
	sent() { [ "$(requests_of UploadPart)" -ge 1 ]; }
	requests_mark
	fdo_begin src "$tmp/data" open wct "$mnt/one" write 5242880 pause close
	wait_for 20 sent
	expect_eq "ok" "$(fdo rename "$mnt/one" "$mnt/one.1")" "a file of one part is renamed"
	set_faults through_gone
	fdo_ends "ok ok ok ok ok" "a file of one part is sent anew when it cannot go there"
	same "a file of one part that is sent anew is at the store byte for byte" "$tmp/part" one.1
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/next" write 5 close)" "other files are written after one was sent anew"
fi
umount_ckptfs
