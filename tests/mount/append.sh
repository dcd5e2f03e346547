#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# append.sh: several processes append to one file.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 11
start_store
mount_ckptfs part_size=5M
printf 'begin\n' >"$mnt/log"
seq 1 2000 >"$tmp/lines"
pids=
for p in 1 2 3 4; do
	{ sed "s/^/$p /" "$tmp/lines" | while read -r line; do echo "$line"; done >>"$mnt/log"; } &
	pids="$pids $!"
done
for p in $pids; do wait "$p"; done
expect_eq 8001 "$(wc -l <"$mnt/log")" "an append of four processes keeps every line"
expect_eq 8001 "$(store_cat log | sort -u | wc -l)" "the store has every appended line once"

fdo_begin open wa "$mnt/log" write 5 pause write 5 fsync write 5 close
printf other >>"$mnt/log"
fdo_ends "ok ok ok ok ok ok ok" "descriptors take turns to append"
expect_eq xxxxxotherxxxxxxxxxx "$(store_cat log | tail -c 20)" "each descriptor finds the end of the file"

fdo_begin open wa "$mnt/log" pause write 5 close
truncate -s 3 "$mnt/log"
fdo_ends "ok ok ok ok" "an append to a file that was cut meanwhile succeeds"
check "an append to a file that was cut goes to its end" test "$(store_cat log)" = begxxxxx

# The store copies no range of 5 MiB and less.
head -c 5242880 /dev/urandom >"$tmp/five"
store_put five <"$tmp/five"
expect_eq "ok ok ok" "$(fdo open wa "$mnt/five" write 5 close)" "an append to a file of one smallest part succeeds"
printf xxxxx | cat "$tmp/five" - >"$tmp/want"
same "an append to a file of one smallest part is at the store byte for byte" "$tmp/want" five
store_put first <"$tmp/five"
store_put second <"$tmp/five"
expect_eq "ok ok ok ok ok 5242880 5242880 ok" "$(fdo open r "$mnt/first" slot 1 open r "$mnt/second" slot 2 open wct "$mnt/both" \
	copyrange 0 0 0 5242880 copyrange 1 0 5242880 5242880 close)" "files of one smallest part are copied into one"
cat "$tmp/five" "$tmp/five" >"$tmp/want"
same "what was copied from files of one smallest part is at the store byte for byte" "$tmp/want" both
umount_ckptfs
