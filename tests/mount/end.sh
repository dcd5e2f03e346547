#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# end.sh: the end of the mount waits for a close that is under way, and for a store that does not
# answer no longer than the deadline.
. "$srcdir/tests/lib/mount.sh"
need_fuse
on_gs && plan 13 || plan 16
head -c 12000000 /dev/urandom >"$tmp/data"

start_store --ttfb 300ms
mount_ckptfs part_size=5M attr_ttl=0
fdo src "$tmp/data" open wct "$mnt/closing" write 12000000 close >"$tmp/out" &
closing=$!
exec 4<"$mnt" # a leak of what is open would end a daemon with ASan badly
ls "$mnt" >"$tmp/listed"
wait_for 30 grep -q 'UploadPart.*part=3 ' "$requests" # which only a commit sends
kill -TERM "$mount_pid"
mount_ended "SIGTERM ends the daemon while a file is closed"
exec 4<&-
wait $closing
expect_eq "ok ok ok ok" "$(cat "$tmp/out")" "the close is told of success when SIGTERM ends the daemon"
same "a file that is closed when SIGTERM comes is there" "$tmp/data" closing
expect_eq "" "$(store_uploads)" "no upload is left when SIGTERM ends the daemon"
store_stop

# While the end waits for one file, another is written by a descriptor that was open before.
start_store
set_faults put_late
mount_ckptfs part_size=5M attr_ttl=0
printf old | store_put kept
fdo open wct "$mnt/late" write 100 close >"$tmp/out" &
closing=$!
wait_for 30 python3 -c 'import os, sys
sys.exit(os.getxattr(sys.argv[1], "user.ckptfs.state") != b"uploading")' "$mnt/late"
fdo_begin open w "$mnt/kept" pause write 100 fsync close
kill -TERM "$mount_pid"
wait_for 20 grep -q 'unmounting' "$mount_log"
fdo_next
wait $closing
expect_eq "ok ok ok" "$(cat "$tmp/out")" "the end waits for a close"
mount_ended "the end frees nothing that is used"
case $(sed 's/^ok ok //' "$tmp/fdo/out") in
E*) ok "what is written meanwhile is refused" ;;
*) not_ok "what is written meanwhile is refused"; diag "$(cat "$tmp/fdo/out")" ;;
esac
expect_eq old "$(store_cat kept)" "what is written at the end is published nowhere"
store_stop

# Requests that are under way would stand still for longer than the test may take.
start_store
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=600s deadline=3s
fdo_begin open wct "$mnt/open" write 12000000 slot 1 open wct "$mnt/other" write 100 pause close
freeze "$store_pid"
kill -TERM "$mount_pid"
# The part's own time ends about when the mount's does.
expect_log '(the store does not answer in time|upload-part .*/open: no reply)'
expect_log 'open: (not published|its unfinished upload could not be aborted)'
expect_log 'other: not published'
mount_ended "with a store that stands still SIGTERM ends the daemon after the deadline"
thaw "$store_pid"
fdo_next
expect_eq "" "$(store_ls open)$(store_ls other)" "nothing half written is published"

mount_ckptfs part_size=5M attr_ttl=0 deadline=3s
fdo_begin open wct "$mnt/gone" write 12000000 pause close
kill -KILL "$store_pid"; wait "$store_pid" 2>/dev/null
kill -TERM "$mount_pid"
expect_log '(store: .*gone|gone: |the store does not answer in time)'
mount_ended "with a store that is gone SIGTERM ends the daemon after the deadline"
fdo_next
store_port=${CKPTFS_TEST_ENDPOINT##*:}
store_pid=''
start_store
expect_eq "" "$(store_ls gone)" "nothing half written is published"
mount_ckptfs part_size=5M
umount_ckptfs
store_stop

# A close waits for the rename of its file, which is under way when the end comes. (Google's store renames in one step.)
on_gs && exit
start_store
cat >"$tmp/renames_late.json" <<'END'
[{"op": "CopyObject", "key": "after", "do": "delay", "stall": "2s"}, {"op": "DeleteObject", "do": "delay", "stall": "2s"}]
END
mount_ckptfs part_size=5M attr_ttl=0
printf old >"$mnt/before"
set_faults "$tmp/renames_late.json"
fdo_begin open wt "$mnt/before" write 100 pause close
mv "$mnt/before" "$mnt/after" &
renames=$!
wait_for 30 grep -q ' HeadObject [^ ]* after ' "$requests"
: >"$tmp/fdo/go"
closes() { ! find "/proc/$fdo_pid/fd" -lname "$mnt/*" | grep -q .; }
wait_for 30 closes
sleep 0.5 # from both to the mount
kill -TERM "$mount_pid"
wait $renames
expect_eq 0 $? "a rename that is under way at the end is made"
mount_ended "the end waits for a close that waits for a rename"
expect_eq ":100" "$(store_ls before):$(objects size after)" "what is renamed and closed at the end has its new name"
