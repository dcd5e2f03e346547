#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename.sh: a rename of a file that fails says so, and nothing is lost.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 14; else plan 18; fi
start_store
mount_ckptfs attr_ttl=0 part_size=5M memory=64M
printf a >"$mnt/a"
printf b >"$mnt/b"

set_faults rename_copy_denied
expect_eq "EACCES EACCES" "$(fdo rename "$mnt/a" "$mnt/b" rename "$mnt/a" "$mnt/c")" "a copy that is refused"
expect_eq "a b" "$(cat "$mnt/a") $(cat "$mnt/b")" "both names are what they were"
expect_eq "ENOENT" "$(fdo size "$mnt/c")" "and no other came"

fdo_begin open wct "$mnt/tmp" write 12000000 pause close
fdo rename "$mnt/tmp" "$mnt/sent" >/dev/null
fdo_ends "ok ok ok EACCES" "a close whose data was sent under another name, and cannot go from there, says so"
expect_eq "a b" "$(store_ls | xargs)" "and neither name has any"
expect_log 'sent: not published, .* Permission denied'

# Another's object gets the old name between the two. Whether the close still succeeds is a race.
set_faults rename_late
fdo_begin open wct "$mnt/tmp" write 12000000 pause close
fdo rename "$mnt/tmp" "$mnt/late" >/dev/null
requests_mark
: >"$tmp/fdo/go"
wait_for 20 requests_are CompleteMultipartUpload=1
printf theirs | store_put tmp
wait "$fdo_pid"
expect_eq "theirs" "$(store_cat tmp)" "what was put under the old name meanwhile stays"
objects rm tmp
objects rm late 2>/dev/null
expect_log '(sent|late): not published, .*'

# A store that renames deletes nothing.
if ! on_gs; then
	set_faults rename_delete_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/a" "$mnt/c")" "a delete that is refused after the copy"
	expect_eq "a a" "$(cat "$mnt/a") $(cat "$mnt/c")" "both names are intact"
	exec 3<"$mnt/a"
	expect_eq "EACCES" "$(fdo rename "$mnt/a" "$mnt/d")" "also of a file that is read"
	forget_pages "$mnt/a"
	expect_eq "a a" "$(cat <&3) $(cat "$mnt/a")" "which goes on to be"
	exec 3<&-
	expect_log 'store: delete .* 403 AccessDenied'
	expect_log 'the file has both names now'
fi

set_faults
rm -f "$mnt/c" "$mnt/d"
expect_eq "ok a" "$(fdo rename "$mnt/a" "$mnt/b") $(cat "$mnt/b")" "it works when the store does"
expect_eq "b" "$(store_ls)" "and leaves nothing"
expect_log 'store: (copy|rename|upload-complete) .* 403 AccessDenied'
umount_ckptfs

# Lost races: another host replaces the file between look and copy, and deletes it.
mount_ckptfs attr_ttl=60s
printf 1 >"$mnt/r"
stat "$mnt/r" >/dev/null
printf 22 | store_put r
expect_eq "ok 22" "$(fdo rename "$mnt/r" "$mnt/s") $(store_cat s)" "a file that was replaced elsewhere is renamed as it is"
expect_eq 22 "$(cat "$mnt/s")" "and shown as it is"
objects rm s
expect_eq "ENOENT" "$(fdo rename "$mnt/s" "$mnt/t")" "one that was deleted elsewhere is not there"
expect_eq "b" "$(store_ls)" "and leaves nothing"
umount_ckptfs
