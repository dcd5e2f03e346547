#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_open.sh: open files follow their file, whatever happens to names.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 24
start_store
mount_ckptfs attr_ttl=0 stall_timeout=120s
head -c 30000000 /dev/urandom >"$tmp/data"
head -c 20000000 /dev/urandom >"$tmp/data2"
sum=$(cksum <"$tmp/data")
none_orphaned() { [ -z "$(store_ls .ckptfs)" ]; }

store_put big <"$tmp/data"
exec 3<"$mnt/big"
first=$(head -c 1000 <&3 | cksum)
expect_eq "ok" "$(fdo rename "$mnt/big" "$mnt/moved")" "a file that is read is renamed"
forget_pages "$mnt/moved"
# promise: rename.open
expect_eq "$sum" "$({ head -c 1000 "$tmp/data"; cat <&3; } | cksum)" "a reader reads on after its file is renamed"
expect_eq "$sum" "$(cksum <"$mnt/moved")" "a new reader reads a renamed file"
exec 3<&-

exec 3<"$mnt/moved"
store_put other <"$tmp/data2"
expect_eq "ok" "$(fdo rename "$mnt/other" "$mnt/moved")" "a file that is read is replaced"
# promise: rename.file
expect_eq "$(cksum <"$tmp/data2")" "$(cksum <"$mnt/moved")" "a name leads to the file that replaced another"
# promise: unlink.usable
expect_eq "$sum" "$(cksum <&3)" "a reader has the old file after it was replaced"
expect_eq "moved" "$(ls -A "$mnt")" "no listing shows a file that was replaced"
exec 3<&-
check "a file that was replaced goes with the last close" wait_for 20 none_orphaned

store_put gone <"$tmp/data"
exec 3<"$mnt/gone"
rm "$mnt/gone"
expect_eq "moved" "$(store_ls | grep -v ckptfs)" "a file that is read is deleted"
printf anew >"$mnt/gone"
expect_eq "anew" "$(cat "$mnt/gone")" "a new file takes the name of a deleted one"
expect_eq "$sum" "$(cksum <&3)" "a reader has the old file after it was deleted"
exec 3<&-
check "a deleted file goes with the last close" wait_for 20 none_orphaned

# A reader whose request is under way when the file moves: the store has stopped in the middle of it.
i=0 bad=0 moved=''
store_put walk0 <"$tmp/data"
while [ $i -lt 5 ]; do
	set_faults reads_pause
	exec 3<"$mnt/walk$i" # before the rename, which the reader alone might not be
	cksum <&3 >"$tmp/sum" &
	reader=$!
	wait_held GetObject
	moved="$moved$(fdo rename "$mnt/walk$i" "$mnt/walk$((i + 1))") "
	[ ! -s "$tmp/sum" ] && kill -0 $reader || moved="${moved}late "
	set_faults
	wait $reader
	exec 3<&-
	[ "$(cat "$tmp/sum")" = "$sum" ] || bad=$((bad + 1))
	i=$((i + 1))
	forget_pages "$mnt/walk$i"
done
expect_eq "ok ok ok ok ok " "$moved" "a file moves while its reader waits for the store"
expect_eq 0 $bad "readers follow a file that moves on and on"

# One that has not read since the file was written and closed.
expect_eq "ok ok ok ok ok ok ok ok 10" "$(fdo open wct "$mnt/closed" write 70000 slot 1 open r "$mnt/closed" \
	slot 0 close unlink "$mnt/closed" slot 1 pread 10 0)" "who opens what is written reads it though it is deleted then"
fdo_begin open wct "$mnt/from" write 70000 slot 1 open r "$mnt/from" slot 0 close pause slot 1 pread 10 0
on_gs && ends=objects.move || ends=DeleteObject
set_rules "$(held_once $ends from)"
fdo rename "$mnt/from" "$mnt/to" >"$tmp/renamed" &
renames=$!
check "a reader opens a file that is being renamed" wait_held $ends
fdo_call
set_faults
fdo_ends "ok ok ok ok ok ok ok ok 10" "a reader reads a file while it is renamed"
wait $renames
rm "$mnt/to"

# One that has read, and asks for more when the store has the file by its new name alone and has not said so: on Google
# Cloud Storage nothing is found by the old name, which the reader is told before the rename ends, or after it.
found_none() { tail -n "+$fault_from" "$requests" | grep -q ' objects.media [^ ]* from .* 404 '; }
for when in before after; do
	store_put from <"$tmp/data"
	fdo_begin open rd "$mnt/from" pread 4096 0 pause pread 4096 20000000 close
	set_rules "$(held_once $ends from)" "$(held_once GetObject from)"
	fdo rename "$mnt/from" "$mnt/to" >"$tmp/renamed" &
	renames=$!
	check "the store has renamed a file that is read, whose reader is told $when the rename ends" wait_held $ends
	fdo_call
	if on_gs; then
		wait_held GetObject
		if [ $when = before ]; then
			set_rules "$(still_held $ends from)"
			wait_for 20 found_none
		else
			set_rules "$(still_held GetObject from)"
			wait $renames
		fi
	fi
	set_faults
	wait $renames
	fdo_ends "ok 4096 ok 4096 ok" "a reader asks again for what it did not find during a rename, told $when that ends"
	rm "$mnt/to"
done

store_put keep <"$tmp/data"
exec 3<"$mnt/keep"
rm "$mnt/keep"
# promise: unlink.open, unlink.kept
expect_eq 1 "$(store_ls .ckptfs/unlinked/ | wc -l)" "a deleted file that is read is kept at the store"
exec 3<&-
exec 3<"$mnt/moved"
rm "$mnt/moved"
umount -l "$mnt"
exec 3<&-
mount_ended
check "the end of the mount leaves nothing" none_orphaned
