#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_mounts.sh: two mounts of one bucket, as on two hosts.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 15
start_store
mount_ckptfs attr_ttl=0
other=$tmp/other other_log=$tmp/other.log
mkdir "$other"
"$builddir/ckptfs" -f -o "$mount_options" "${mount_url:-$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET}" "$other" 2>"$other_log" &
other_pid=$!
other_ends() {
	[ -z "$other_pid" ] || { umount "$other" || kill "$other_pid"; wait "$other_pid"; } 2>/dev/null
	other_pid=''
}
at_exit other_ends
other_is_there() { grep -q " $other fuse.ckptfs " /proc/self/mounts || ! kill -0 "$other_pid" 2>/dev/null; }
wait_for 60 other_is_there

i=0 wins=0 losses=0 whole=0
while [ $i -lt 10 ]; do
	fdo open wcx "$mnt/lock$i" write 10 close >"$tmp/one" &
	one=$!
	fdo open wcx "$other/lock$i" write 20 close >"$tmp/two"
	wait $one
	for said in "$tmp/one" "$tmp/two"; do
		case $(cat "$said") in
		"ok ok ok") wins=$((wins + 1)) ;;
		*EEXIST*) losses=$((losses + 1)) ;;
		esac
	done
	case $(objects size lock$i) in 10 | 20) whole=$((whole + 1)) ;; esac
	i=$((i + 1))
done
# promise: create.excl
expect_eq "10 10 10" "$wins $losses $whole" "of two that create a file with O_EXCL one wins"

i=0 made=0
while [ $i -lt 10 ]; do
	mkdir "$mnt/dir$i" 2>/dev/null &
	one=$!
	mkdir "$other/dir$i" 2>/dev/null && made=$((made + 1))
	wait $one && made=$((made + 1))
	i=$((i + 1))
done
# promise: dir.two-hosts
expect_eq 10 $made "of two mounts that make a directory one wins"
rm -r "$mnt"/*
expect_eq "" "$(ls "$other")$(store_ls)" "what one mount deletes is gone in the other"

mkdir "$mnt/d"
expect_eq "ENOENT" "$(fdo size "$other/d/f")" "a name is looked for in vain"
echo first >"$mnt/d/f"
expect_eq first "$(cat "$other/d/f")" "a name that was missing is there once another host makes it"
echo second, longer >"$mnt/d/f"
expect_eq "second, longer" "$(cat "$other/d/f")" "a name that another host made has what was written last"
# promise: dir.not-empty
expect_eq "ENOTEMPTY" "$(fdo rmdir "$other/d")" "a directory is not empty when another host wrote to it"
expect_eq "ok ENOENT" "$(fdo rename "$mnt/d/f" "$mnt/d/g" size "$mnt/d/f")" "a file is renamed on one mount"
expect_eq "g second, longer" "$(ls "$other/d") $(cat "$other/d/g")" "a renamed file is renamed in both mounts"
expect_eq "ok" "$(fdo rename "$other/d" "$other/e")" "a directory is renamed on one mount"
expect_eq "e second, longer" "$(ls "$mnt") $(cat "$mnt/e/g")" "a renamed directory is renamed in both mounts"
echo a >"$mnt/a"
cat "$other/a" >"$tmp/a"
rm "$mnt/a"
expect_eq "ENOENT ENOENT" "$(fdo size "$other/a" open r "$other/a")" "a file that one mount deletes is gone"
mkdir "$other/a"
expect_eq "directory" "$(stat -c %F "$mnt/a")" "the name of a deleted file may be made a directory"

umount "$other" && wait "$other_pid" && other_pid=''
expect_eq "" "$other_pid$(grep -E '\] (warning|error): ' "$other_log" |
	grep -v 'lock[0-9]: not published')" "the other mount ends well"
! grep -q 'lock[0-9]: not published' "$mount_log" || expect_log 'lock[0-9]: not published.*File exists'
umount_ckptfs
