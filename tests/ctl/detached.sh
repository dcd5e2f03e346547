#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# detached.sh: a mount that umount -l took away serves whoever has files open, ends with the last of them, says what it
# is, and leaves alone what stands at its mountpoint next.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 13
start_store
dir=$tmp/control
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" "$@"; }
states() { ctl list | awk -F '\t' -v at="$mnt" '$1 == at { print $3, $4 }' | LC_ALL=C sort | xargs; }
head -c 12000000 /dev/urandom >"$tmp/data"

mount_ckptfs "control_dir=$dir" part_size=5M
first=$mount_pid
fdo_begin open wct "$mnt/late" write 10 slot 1 src "$tmp/data" open wct "$mnt/big" write 12000000 pause close pause \
	slot 0 write 5 close
umount -l "$mnt"
expect_eq "detached $first" "$(states)" "a mount that umount -l took away is listed as detached"
expect_eq "big late" "$(ctl files "$mnt" | cut -f 8 | LC_ALL=C sort | xargs)" "a detached mount is asked by its mountpoint"
fdo_next
same "a file that is closed in a detached mount is published" "$tmp/data" big

mount_ckptfs "control_dir=$dir" part_size=5M
second=$mount_pid
expect_eq "detached $first serving $second" "$(states)" "the mount that stands there next is listed, too"
expect_eq "$second" "$(ctl status "$mnt" | sed -n 's/^daemon.* pid \([0-9]*\),.*/\1/p')" "the mountpoint names the mount that stands there, not the detached one"
kill -KILL "$second"
wait "$second" 2>/dev/null
expect_eq "detached $first unreachable -" "$(states)" "a daemon that died is listed beside the detached mount"
ctl status "$mnt" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(grep -c 'does not reply' "$tmp/err")" "the mountpoint names the one whose daemon died"
umount -l "$mnt"

mount_ckptfs "control_dir=$dir" part_size=5M
third=$mount_pid
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok ok" "files are written and closed in a detached mount"
expect_eq 15 "$(objects size late)" "what was written since is published"
wait "$first"
expect_eq "0 serving $third" "$? $(states)" "the daemon of a detached mount ends with the last file"

fdo_begin open wct "$mnt/lost" write 10 pause close
umount -l "$mnt"
mount_ckptfs "control_dir=$dir" part_size=5M
kill -TERM "$third"
wait "$third"
expect_eq "0 serving $mount_pid" "$? $(states)" "a detached mount that a signal ends takes away no other"
kill "$fdo_pid"
expect_log 'lost: not published, the version before it stands'
expect_eq "15" "$(stat -c %s "$mnt/late")" "the mount that stands there answers"
umount_ckptfs
