#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# name_excluded.sh: while a name changes, nobody else opens or changes what has it, nor what it is about to replace;
# and what a close has left to be done is done before.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 17
start_store
mount_ckptfs attr_ttl=0 part_size=5M stall_timeout=120s
printf renamed | store_put source
printf 'the old one' | store_put target
for victim in source target; do fdo size "$mnt/$victim"; done >"$tmp/said"
# renames: it is under way, and the store has done it, but not said so.
begun() { [ "$(store_cat target)" = renamed ]; }
renames() {
	set_rules "$(held_once MoveObject '[st]*')"
	fdo rename "$mnt/source" "$mnt/target" >"$tmp/renamed" &
	renames=$!
	wait_held MoveObject
	wait_for 20 begun
}
# meanwhile COMMAND...: what fdo does while that is so, and may have to wait
meanwhile() {
	"$tools/tests/lib/fdo" "$@" >"$tmp/changed" &
	changes=$!
	wait_begun $changes
	set_faults
	wait $changes
	wait $renames
}

# The target.
fdo_begin pause open wt "$mnt/target" write 5 pause close
renames
fdo_call
set_faults
wait_for 30 fdo_rests
wait $renames
expect_eq "ok 5" "$(cat "$tmp/renamed") $(fdo size "$mnt/target")" "a truncate of a name that is being replaced cuts the new file"
fdo_ends "ok ok ok ok ok" "the writer of the file that was cut publishes it"
expect_eq "xxxxx" "$(store_cat target)" "the file that was cut is published in its place"

printf renamed | store_put source
renames
meanwhile truncate 0 "$mnt/target"
expect_eq "ok" "$(cat "$tmp/changed")" "a truncate by name cuts the one file or the other"
expect_eq "ok renamed renamed" "$(cat "$tmp/renamed") $(store_cat target) $(cat "$mnt/target")" "the new file is whole after a truncate by name"

printf renamed | store_put source
renames
meanwhile chmod 0640 "$mnt/target"
expect_eq "ok" "$(cat "$tmp/changed")" "chmod changes the one file or the other"
expect_eq "ok renamed 644" "$(cat "$tmp/renamed") $(cat "$mnt/target") $(stat -c %a "$mnt/target")" \
	"the new file has the attributes of the chmod"

# Attributes that an upload could not take along are sent after its close: each such request is refused a few times.
head -c 12000000 /dev/urandom >"$tmp/big"
chmod 604 "$tmp/big"
touch -d 2001-02-03T04:05:06Z "$tmp/big"
mkdir "$mnt/d"
sent_after() { set_faults attributes_late && cp -p "$tmp/big" "$mnt/$1"; }
sent_after d/big
expect_eq "ok" "$(fdo rename "$mnt/d" "$mnt/e")" "a directory is renamed just after a copy with attributes"
expect_eq "604 981173106" "$(stat -c '%a %Y' "$mnt/e/big")" "copied attributes are there after the directory is renamed"
sent_after big
expect_eq "ok" "$(fdo rename "$mnt/big" "$mnt/large")" "a file is renamed just after a copy with attributes"
expect_eq "604 981173106" "$(stat -c '%a %Y' "$mnt/large")" "copied attributes are there after the file is renamed"
sent_after big
expect_eq "ok ok" "$(fdo rename "$mnt/large" "$mnt/big" unlink "$mnt/big")" "a file with copied attributes is replaced and deleted"
# The end waits for all that is under way.
umount_ckptfs
expect_eq "" "$(store_ls d)" "nothing comes back by the old name of a directory"
expect_eq "e/ e/big target" "$(store_ls | xargs)" "nothing comes back of a file that was deleted"
set_faults
mount_ckptfs
expect_eq "604 981173106" "$(stat -c '%a %Y' "$mnt/e/big")" "the store has the attributes of the chmod"
umount_ckptfs
