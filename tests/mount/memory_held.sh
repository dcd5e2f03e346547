#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory_held.sh: memory that open files hold for little is given to who waits for it. No request is under way
# then that would give any back.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 7
start_store
mkdir "$tmp/spill"
mount_ckptfs part_size=5M memory=64M spill_dir="$tmp/spill"
all=$(seq 0 22)
close_all() { for i in $all; do printf ' slot %d close' "$i"; done; }
ends() { timeout 60 "$tools/tests/lib/fdo" "$@" >"$tmp/said"; }

# What a file that is written began with is read ahead.
head -c 12000000 /dev/urandom >"$tmp/data"
for i in $all; do store_put r"$i" <"$tmp/data"; done
words=''
for i in $all; do words="$words slot $i open + $mnt/r$i pwrite 1 5"; done
for at in 0 1000000 2000000 3000000; do
	for i in $all; do words="$words slot $i pread 1000000 $at"; done
done
# shellcheck disable=SC2086,SC2046 # words
ends $words slot 23 open wct "$mnt/new" write 9000000 close $(close_all)
expect_eq 0 $? "a file is written beside 23 that are read and written"
expect_eq "92 1000000 211 ok" "$(words <"$tmp/said")" "each call succeeds beside readers"
expect_eq 9000000 "$(objects size new)" "what was written beside readers is there"

# A few bytes are written here and there, and published.
words=''
for i in $all; do words="$words slot $i open +ct $mnt/s$i pwrite 9 0 pwrite 9 1500000 pwrite 9 2500000 fsync"; done
# shellcheck disable=SC2086,SC2046 # words
ends $words slot 23 open wct "$mnt/last" write 9000000 close $(close_all)
expect_eq 0 $? "23 files of a few bytes are synced and stay open"
expect_eq "188 ok" "$(words <"$tmp/said")" "each call succeeds beside synced files"
expect_eq "2500009 9000000" "$(objects size s22) $(objects size last)" "what was written beside synced files is there"
umount_ckptfs
