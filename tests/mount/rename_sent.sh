#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_sent.sh: a file is renamed while parts of it are at the store already, and not kept here.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 42
start_store
# In so little memory nothing of what was sent is kept.
mount_ckptfs part_size=5M memory=64M attr_ttl=0
head -c 26000000 /dev/urandom >"$tmp/data"
head -c 12000000 "$tmp/data" >"$tmp/first"

requests_mark
fdo_begin src "$tmp/data" open wct "$mnt/tmp" write 12000000 pause write 14000000 pause close
expect_eq "ok" "$(fdo rename "$mnt/tmp" "$mnt/name")" "a file of which parts were sent is renamed"
expect_eq "" "$(store_ls)" "which publishes nothing"
fdo_next
expect_eq "" "$(store_ls)" "nor does what is written then"
fdo_ends "ok ok ok ok ok ok ok" "the close does"
same "all of it" "$tmp/data" name
expect_eq "name" "$(store_ls)" "under the new name alone"
expect_requests "and no part was sent twice" UploadPart=5

# The old name is somebody else's by then.
fdo_begin src "$tmp/data" open wct "$mnt/log" write 12000000 pause close
expect_eq "ok ok ok ok" "$(fdo rename "$mnt/log" "$mnt/log.1" open wct "$mnt/log" write 5 close)" \
	"a new file gets the old name and is published"
fdo_ends "ok ok ok ok ESTALE" "the close of the renamed one fails"
expect_eq "xxxxx" "$(store_cat log)" "and the new one stands"
expect_eq "log" "$(store_uploads)" "what was sent is kept"
check "as the log says" grep -q 'log: another file has that name: .* is kept as' "$mount_log"
expect_log 'log: another file has that name'

# One that has a version at the store.
set -- src "$tmp/data" open w "$mnt/old" pwrite 12000000 12000000 pause pwrite 2000000 24000000 close
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/old" write 12000000 close)" "a file that is published"
fdo_begin "$@"
expect_eq "ok" "$(fdo rename "$mnt/old" "$mnt/new")" "is renamed while more of it is sent"
same "its version goes first" "$tmp/first" new
fdo_ends "ok ok ok ok ok ok" "its writer goes on"
same "and adds to it" "$tmp/data" new
expect_eq "log name new" "$(store_ls | grep -v ckptfs | xargs)" "with nothing under the old name"

expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/old" write 12000000 close)" "another one"
fdo_begin "$@"
expect_eq "ok" "$(fdo rename "$mnt/old" "$mnt/new")" "is renamed"
printf theirs | store_put new
fdo_ends "ok ok ok ok ok ESTALE" "and replaced by another host: its close fails"
expect_eq "theirs" "$(store_cat new)" "what was put there stands"
expect_eq "log name new" "$(store_ls | grep -v ckptfs | xargs)" "with nothing under the old name"
check "what was written is kept, for the old name" grep -q \
	'new: its version .* was replaced by another host: .* is kept as .*, to be published as old;' "$mount_log"
expect_log 'new: its version'
umount_ckptfs

# What was sent is kept here, too.
mount_ckptfs part_size=5M attr_ttl=0
requests_mark
fdo_begin src "$tmp/data" open wct "$mnt/tmp" write 12000000 pause write 14000000 pause close
expect_eq "ok" "$(fdo rename "$mnt/tmp" "$mnt/kept")" "a file that is all here is renamed"
fdo_next
fdo_ends "ok ok ok ok ok ok ok" "and published"
same "all of it" "$tmp/data" kept
expect_requests "of which no part was sent twice, either" UploadPart=5 PutObject=0

fdo_begin src "$tmp/data" open wct "$mnt/turn" write 12000000 pause close
expect_eq "ok ok ok ok" "$(fdo rename "$mnt/turn" "$mnt/turn.1" open wct "$mnt/turn" write 5 close)" \
	"one whose old name another file has by then"
fdo_ends "ok ok ok ok ok" "is sent anew"
same "and right" "$tmp/first" turn.1
expect_eq "xxxxx" "$(store_cat turn)" "as is the other"

# Both are published at once: the new file waits until the old one has left its name.
copied() { [ "$(requests_of CopyObject)" -ge 1 ]; }
fdo_begin src "$tmp/data" open wct "$mnt/both" write 12000000 pause close
expect_eq "ok" "$(fdo rename "$mnt/both" "$mnt/both.1")" "a file is renamed, and its old name taken"
exec 9>"$mnt/both"
printf new >&9
set_faults through_slow
requests_mark
: >"$tmp/fdo/go"
on_gs || wait_for 20 copied
exec 9>&-
fdo_ends "ok ok ok ok ok" "while the one leaves that name the other is published there"
same "each is right" "$tmp/first" both.1
expect_eq "new" "$(store_cat both)" "and whole"

# What cannot leave its first name is one put by then.
head -c 5242880 "$tmp/data" >"$tmp/part"
sent() { [ "$(requests_of UploadPart)" -ge 1 ]; }
requests_mark
fdo_begin src "$tmp/data" open wct "$mnt/one" write 5242880 pause close
wait_for 20 sent
expect_eq "ok" "$(fdo rename "$mnt/one" "$mnt/one.1")" "a file of one part is renamed"
set_faults through_gone
fdo_ends "ok ok ok ok ok" "and sent anew when it cannot go there"
same "right" "$tmp/part" one.1
expect_eq "ok ok ok" "$(fdo open wct "$mnt/next" write 5 close)" "and others after it"
umount_ckptfs
