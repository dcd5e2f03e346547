#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# end.sh: the end of the mount waits for a close that is under way, and for a store that does not
# answer no longer than the deadline.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
head -c 12000000 /dev/urandom >"$tmp/data"

start_store --ttfb 300ms
mount_ckptfs part_size=5M attr_ttl=0
fdo src "$tmp/data" open wct "$mnt/closing" write 12000000 close >"$tmp/out" &
closing=$!
wait_for 30 grep -q 'UploadPart.*part=3 ' "$requests" # which only a commit sends
kill -TERM "$mount_pid"
mount_ended "SIGTERM ends the daemon while a file is closed"
wait $closing
expect_eq "ok ok ok ok" "$(cat "$tmp/out")" "the close is told of success"
same "and the file is there" "$tmp/data" closing
expect_eq "" "$(store_uploads)" "no upload is left"
store_stop

# Requests that are under way would stand still for longer than the test may take.
start_store
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=600s deadline=3s
fdo_begin open wct "$mnt/open" write 12000000 slot 1 open wct "$mnt/other" write 100 pause close
kill -STOP "$store_pid"
wait_for 20 grep -q "^State:.*stopped" "/proc/$store_pid/status"
kill -TERM "$mount_pid"
expect_log 'the store does not answer in time'
expect_log 'open: (not published|its unfinished upload could not be aborted)'
expect_log 'other: not published'
mount_ended "with a store that stands still SIGTERM ends the daemon after the deadline"
kill -CONT "$store_pid"
fdo_next
expect_eq "" "$(store_ls open)$(store_ls other)" "nothing half written is published"

mount_ckptfs part_size=5M attr_ttl=0 deadline=3s
fdo_begin open wct "$mnt/gone" write 12000000 pause close
kill -KILL "$store_pid"; wait "$store_pid" 2>/dev/null
kill -TERM "$mount_pid"
expect_log '(store: .*gone|gone: |the store does not answer in time)'
mount_ended "with a store that is gone it does, too"
fdo_next
store_port=${CKPTFS_TEST_ENDPOINT##*:}
store_pid=''
start_store
expect_eq "" "$(store_ls gone)" "nothing half written is published"
mount_ckptfs part_size=5M
umount_ckptfs
