#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_noreplace.sh: RENAME_NOREPLACE between hosts, where the store honors a condition on the target of a copy,
# ignores it or refuses it; and changes of attributes, which bear one, too.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 31
said() { grep -c 'does not honor If-Match in a copy' "$mount_log.old"; }

for way in ignore refuse honor; do
	start_store --copy-if $way
	mount_ckptfs stall_timeout=120s
	printf one >"$mnt/a"
	chmod 600 "$mnt/a"
	expect_eq "600" "$(stat -c %a "$mnt/a")" "$way: attributes change"
	fdo size "$mnt/b" >/dev/null
	printf elsewhere | store_put b
	expect_eq "EEXIST elsewhere" "$(fdo rename2 n "$mnt/a" "$mnt/b") $(store_cat b)" \
		"$way: what another host made stays"
	expect_eq "ok one ENOENT" "$(fdo rename2 n "$mnt/a" "$mnt/c") $(store_cat c) $(fdo size "$mnt/a")" \
		"$way: a free name is taken"
	requests_mark
	expect_eq "ok one" "$(fdo rename2 n "$mnt/c" "$mnt/d") $(store_cat d)" "$way: another free name is taken"
	expect_requests "$way: a free name is taken by one copy" CopyObject=1
	[ $way != honor ] || break
	umount_ckptfs
	# promise: rename.noreplace
	expect_eq 1 "$(said)" "$way: the log says that the server does not honor conditions"
	rm "$mount_log.old"
	store_stop
	rm -rf "$store_data"
done

# Two hosts take the same name at once. Both are told that it is free, if they ask.
use_mount other
mount_ckptfs stall_timeout=120s
printf other >"$mnt/theirs"
fdo rename2 n "$mnt/theirs" "$mnt/theirs2" >/dev/null # finds out what the server honors
use_mount first
for turn in 1 2 3; do
	use_mount other
	mv "$mnt/theirs2" "$mnt/theirs"
	use_mount first
	printf mine >"$mnt/mine"
	set_rules "$(held_once CopyObject lock$turn 0 hold)" "$(held_once CopyObject lock$turn 1 hold)"
	fdo rename2 n "$mnt/mine" "$mnt/lock$turn" >"$tmp/said1" &
	renames=$!
	use_mount other
	fdo rename2 n "$mnt/theirs" "$mnt/lock$turn" >"$tmp/said2" &
	renames="$renames $!"
	use_mount first
	wait_held CopyObject 2
	set_faults
	# shellcheck disable=SC2086 # two
	wait $renames
	# promise: rename.noreplace
	expect_eq "EEXIST ok" "$(sort "$tmp/said1" "$tmp/said2" | xargs)" "of two hosts that take a name one fails"
	[ "$(cat "$tmp/said2")" != ok ] || printf other | store_put theirs
	use_mount other
	[ "$(cat "$tmp/said2")" != ok ] || fdo size "$mnt/theirs" >/dev/null
	mv "$mnt/theirs" "$mnt/theirs2"
done
use_mount first
umount_ckptfs

# What was never published has its new name in its own mount alone, and claims it when it is published: all of it
# is sent then, or its parts go by way of its first name.
mount_ckptfs part_size=5M memory=64M
for n in 100 24000000; do
	fdo_begin open wct "$mnt/new$n" write $n rename2 n "$mnt/new$n" "$mnt/taken$n" pause close
	printf theirs | store_put taken$n
	# promise: rename.noreplace
	fdo_ends "ok ok ok ok EEXIST" "a file that was renamed before it was published: another host was first"
	expect_eq "theirs taken$n" "$(store_cat taken$n) $(store_ls | grep -E '^(new|taken)'$n)" \
		"$n bytes: what another host made stays, and nothing else is there"
done
fdo_begin open wct "$mnt/new" write 100 rename2 n "$mnt/new" "$mnt/free" rename "$mnt/free" "$mnt/given" pause close
printf theirs | store_put given
fdo_ends "ok ok ok ok ok ok" "a file that was renamed once more, with whatever has the name: its close succeeds"
expect_eq 100 "$(store_cat given | wc -c)" "the last close wins again"
expect_log 'taken[0-9]*: not published'
umount_ckptfs
use_mount other
umount_ckptfs "the other daemon ends well, too"
