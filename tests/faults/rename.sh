#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename.sh: a rename of a file that fails says so, and nothing is lost.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 25; else plan 26; fi
start_store
mount_ckptfs attr_ttl=0 part_size=5M memory=64M stall_timeout=120s
printf a >"$mnt/a"
printf b >"$mnt/b"

set_faults rename_copy_denied
expect_eq "EACCES EACCES" "$(fdo rename "$mnt/a" "$mnt/b" rename "$mnt/a" "$mnt/c")" "a rename whose copy is refused says EACCES"
expect_eq "a b" "$(cat "$mnt/a") $(cat "$mnt/b")" "both names are what they were after a refused copy"
expect_eq "ENOENT" "$(fdo size "$mnt/c")" "a refused copy leaves no other name"

fdo_begin open wct "$mnt/tmp" write 12000000 pause close
fdo rename "$mnt/tmp" "$mnt/sent" >/dev/null
fdo_ends "ok ok ok EACCES" "a close whose data was sent under another name, and cannot go from there, says so"
expect_eq "a b" "$(store_ls | xargs)" "no name has data of a close that was refused"
expect_log 'sent: not published, .* Permission denied'

# Another's object gets the old name once the store has given the file its new one, of which the reply is late.
if on_gs; then step=MoveObject key='*/tmp/m-*'; else step=CopyObject key=late; fi
fdo_begin open wct "$mnt/tmp" write 12000000 pause close
fdo rename "$mnt/tmp" "$mnt/late" >/dev/null
set_rules "$(held_once $step "$key")"
: >"$tmp/fdo/go"
wait_held $step
wait_for 20 objects size late
printf theirs | store_put tmp
set_faults
fdo_ends "ok ok ok ok" "a close whose object has its new name succeeds"
expect_eq "theirs" "$(store_cat tmp)" "what was put under the old name meanwhile stays"
expect_eq 12000000 "$(objects size late)" "the new name has all bytes of a close that succeeds"
objects rm tmp
objects rm late

# A store that renames deletes nothing.
if ! on_gs; then
	set_faults rename_delete_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/a" "$mnt/c")" "a rename whose delete is refused after the copy says EACCES"
	expect_eq "a a" "$(cat "$mnt/a") $(cat "$mnt/c")" "both names are intact after a refused delete"
	exec 3<"$mnt/a"
	expect_eq "EACCES" "$(fdo rename "$mnt/a" "$mnt/d")" "a rename of a file that is read says EACCES, too"
	forget_pages "$mnt/a"
	expect_eq "a a" "$(cat <&3) $(cat "$mnt/a")" "a file is read on after its rename was refused"
	exec 3<&-
	expect_log 'store: delete .* 403 AccessDenied'
	# promise: rename.refused
	expect_log 'the file has both names now'
fi

set_faults
rm -f "$mnt/c" "$mnt/d"
expect_eq "ok a" "$(fdo rename "$mnt/a" "$mnt/b") $(cat "$mnt/b")" "a rename works when the store does again"
expect_eq "b" "$(store_ls)" "a rename leaves no other object"
expect_log 'store: (copy|rename|upload-complete) .* 403 AccessDenied'
umount_ckptfs

# What had the new name is gone though the rename failed: a program that reads it still does not keep others from
# what has the name then.
if ! on_gs; then
	mount_ckptfs attr_ttl=60s
	printf first >"$mnt/a"
	printf second >"$mnt/b"
	exec 3<"$mnt/b"
	set_faults rename_delete_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/a" "$mnt/b")" "a rename over a file that is read says EACCES, too"
	set_faults
	expect_eq "first second" "$(cat "$mnt/b") $(cat <&3)" "an open of the new name finds what was renamed, and who read the file before reads it on"
	chmod 640 "$mnt/b"
	truncate -s 3 "$mnt/b"
	expect_eq "fir 640" "$(store_cat b) $(stat -c %a "$mnt/b")" "what was renamed is changed by the new name"
	exec 3<&-
	rm "$mnt/a"
	expect_log 'store: delete .* 403 AccessDenied|the file has both names now'
	umount_ckptfs
fi

# Lost races: another host replaces the file between look and copy, and deletes it.
mount_ckptfs attr_ttl=60s
printf 1 >"$mnt/r"
stat "$mnt/r" >/dev/null
printf 22 | store_put r
expect_eq "ok 22" "$(fdo rename "$mnt/r" "$mnt/s") $(store_cat s)" "a file that was replaced elsewhere is renamed as it is"
expect_eq 22 "$(cat "$mnt/s")" "a file that was replaced elsewhere is shown as it is"
objects rm s
# promise: rename.others, errno.ENOENT
expect_eq "ENOENT" "$(fdo rename "$mnt/s" "$mnt/t")" "a rename of a file that was deleted elsewhere says ENOENT"
expect_eq "b" "$(store_ls)" "a rename of a deleted file leaves nothing"

# The names around it are known not to be there when another host's version of a file that is read comes among them.
for i in 1 2 3 4 5 6; do echo "$i" >"$mnt/f$i"; done
exec 3<"$mnt/f1"
printf theirs | store_put f1
expect_eq "ok theirs" "$(fdo rename "$mnt/f1" "$mnt/f7") $(store_cat f7)" "another host's version of a file that is read is renamed"
(umask 077 && echo new >"$mnt/f7")
expect_eq "644 new" "$(stat -c %a "$mnt/f7") $(store_cat f7)" "what was renamed is written to, not made anew"
exec 3<&-
umount_ckptfs

# unseen SOURCE KEY COMMAND...: the reply to the move of SOURCE to KEY is lost, and another host replaces the object
# before the store is asked again; what the command says is in $tmp/said
unseen() {
	cat >"$tmp/unseen.json" <<-EOF
		[{"op": "objects.move", "key": "$1", "times": 1, "do": "reset_after"},
		 {"op": "objects.move", "key": "$1", "do": "status", "status": 503, "code": "backendError"}]
	EOF
	unseen_key=$2
	shift 2
	set_faults "$tmp/unseen.json"
	"$@" >"$tmp/said" &
	unseen_pid=$!
	wait_for 20 objects size "$unseen_key"
	printf theirs | store_put "$unseen_key"
	set_faults
	wait $unseen_pid
}
if on_gs; then
	mount_ckptfs attr_ttl=0 part_size=5M
	printf x >"$mnt/x"
	unseen x y fdo rename "$mnt/x" "$mnt/y"
	expect_eq EIO "$(cat "$tmp/said")" "a rename of which nobody can tell whether it was made says EIO"
	expect_eq "ENOENT theirs" "$(fdo open r "$mnt/x") $(cat "$mnt/y")" "both names of a rename that says EIO lead to what is there"
	mkdir "$mnt/dir"
	printf x >"$mnt/dir/x"
	unseen dir/x other/x fdo rename "$mnt/dir" "$mnt/other"
	expect_eq ok "$(cat "$tmp/said")" "a directory is renamed though nobody can tell whether one file was"
	expect_eq "theirs" "$(cat "$mnt/other/x")" "what another host put into a directory that is renamed stays"
	unseen '*/tmp/m-*' big fdo open wct "$mnt/big" write 12000000 close
	expect_eq "ok ok EIO" "$(cat "$tmp/said")" "a close of which nobody can tell whether it published says EIO"
	expect_eq theirs "$(store_cat big)" "what another host put there before a close says EIO stays"
	expect_log 'the reply was lost, and another host has changed the object'
	expect_log 'big: not published, .* Input/output error'
	umount_ckptfs
fi
