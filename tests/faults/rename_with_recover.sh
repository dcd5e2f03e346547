#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_with_recover.sh: while ckptctl recover is still at a directory's rename, the mount that began it does not
# return. What ckptctl has sent may come late, and on S3 it would then take the files of a program that has renamed the
# directory the other way for old ones: equal bytes have equal ETags.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/hundred_files.sh"
need_fuse
plan 20
hundred_files
# refused TIMES: the copy of one file
refused() { echo "{\"op\": \"CopyObject\", \"key\": \"e/f00099\", \"times\": $1, \"do\": \"status\", \"status\": 403, \"code\": \"AccessDenied\"},"; }

# both SKIP OP KEY [FIRST [THEN]]: the mount renames d to e, until its record is to be written after SKIP times. OP on KEY
# holds ckptctl recover, and the mount goes on. FIRST and THEN are refused meanwhile.
both() {
	set_rules "${4-}$(held_once PutObject '.ckptfs/intent/*' "$1")"
	fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
	renames=$!
	check "a rename writes its record late, after $1 times" wait_held PutObject
	kill -STOP "$mount_pid"
	set_rules "${5-}$(held_once "$2" "$3" 0 hold)"
	recover >"$tmp/out" 2>"$tmp/err" &
	recovers=$!
	check "ckptctl is held at $2 of $3" wait_held "$2"
	kill -CONT "$mount_pid"
	check "a rename waits for ckptctl, held at $2 of $3" wait_for 20 looks_at_record
	expect_eq "" "$(cat "$tmp/renamed")" "a rename does not return while ckptctl is held at $2 of $3"
	set_faults
	wait $recovers
	wait $renames
}

both 1 DeleteObjects ''
expect_eq "ok renamed " "$(cat "$tmp/renamed") $(cut -f 1 "$tmp/out") $(cat "$tmp/err")" "a rename that ckptctl has finished succeeds"
check "all files are by the new name after both" all_in e
expect_eq "ok" "$(fdo rename "$mnt/e" "$mnt/d")" "the directory is renamed the other way"
# promise: rename.dir
check "all files are back by the old name" all_in d

both 1 DeleteObjects '' "$(refused 1)"
expect_eq "EACCES undone " "$(cat "$tmp/renamed") $(cut -f 1 "$tmp/out") $(cat "$tmp/err")" "a rename that both take back fails"
# promise: rename.dir-fails
check "all files are where they were after both" all_in d

# What is refused to the mount, ckptctl may bring.
both 0 ListObjectsV2 'd/*' '' "$(refused 2)"
expect_eq "ok e 100" "$(cat "$tmp/renamed") $(ls "$mnt") $(ls "$mnt/e" | wc -l)" "a rename that ckptctl finishes alone succeeds"
expect_log 'store: copy .* 403 '
umount_ckptfs
