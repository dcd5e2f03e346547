#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deadline.sh: a store that stands still in the middle of an upload: the program is told after the
# deadline, whatever stall_timeout says, and what is left of the upload is cleared away behind that.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 17
start_store
head -c 52000000 /dev/urandom >"$tmp/data"
echo before >"$tmp/before"
store_put file <"$tmp/before"
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=600s deadline=6s
check "a stall_timeout above the deadline is said" wait_for 20 grep -q 'info: stall_timeout= is longer' "$mount_log"

upload_is_there() { [ -n "$(store_uploads)" ]; }

# The upload is there, then nothing is answered. The daemon would take 600 s for the parts.
fdo_begin src "$tmp/data" open wt "$mnt/file" write 12000000 pause write 40000000 close
wait_for 20 upload_is_there
freeze "$store_pid"
: >"$tmp/fdo/go"
timeout 100 tail -f --pid="$fdo_pid" /dev/null
expect_eq 0 $? "the close of 52 MB ends"
thaw "$store_pid"
case $(cat "$tmp/fdo/out") in
# promise: errno.ETIMEDOUT
*ETIMEDOUT*) ok "a close of 52 MB past the deadline says ETIMEDOUT" ;;
*) not_ok "a close of 52 MB past the deadline says ETIMEDOUT"; diag "$(cat "$tmp/fdo/out")" ;;
esac
check "the upload is aborted behind the answer" wait_for 30 sh -c '[ -z "$("$1" uploads)" ]' sh \
	"$tools/tests/lib/objects"
same "the version before an upload that timed out stands" "$tmp/before" file
expect_log 'file: not published'
expect_log 'store: upload-part'

# This machine may take longer for it than the deadline, now and then.
next_is_written() { [ "$(fdo src "$tmp/data" open wct "$mnt/file" write 12000000 close)" = "ok ok ok ok" ]; }
check "the next version is written" wait_for 60 next_is_written
check "the version after an upload that timed out is read byte for byte" sh -c 'head -c 12000000 "$1" | cmp - "$2"' sh "$tmp/data" "$mnt/file"

# Who exits with a file open waits in the kernel, which drops every signal by then.
fdo_begin open wt "$mnt/file" write 1000 pause exit 0
freeze "$store_pid"
: >"$tmp/fdo/go"
# By the shell alone: a program may take longer to begin than the deadline lasts.
exits() {
	read -r pages _ <"/proc/$fdo_pid/statm" && [ "$pages" = 0 ] && read -r stat <"/proc/$fdo_pid/stat" || return
	case ${stat##*) } in S* | D*) ;; *) return 1 ;; esac
}
check "a process that exits with a file open waits for the store" wait_for 20 exits
kill -KILL "$fdo_pid"
timeout 100 tail -f --pid="$fdo_pid" /dev/null
# promise: signal.exit
expect_eq 0 $? "the deadline ends a process that exits"
thaw "$store_pid"
expect_log 'store: put'
umount_ckptfs

# Memory is full of parts that are on their way, and the store stands still.
mkdir "$tmp/spill"
mount_ckptfs part_size=5M attr_ttl=0 deadline=6s memory=64M spill=64M spill_dir="$tmp/spill"
fdo_begin open wct "$mnt/long" write 12000000 pause write 400000000 close
wait_for 20 upload_is_there
freeze "$store_pid"
: >"$tmp/fdo/go"
timeout 100 tail -f --pid="$fdo_pid" /dev/null
expect_eq 0 $? "a write that finds no room ends"
thaw "$store_pid"
# promise: room.waits
expect_eq ETIMEDOUT "$(cut -d' ' -f5 "$tmp/fdo/out")" "a close after a write that found no room says ETIMEDOUT"
expect_log 'long: not published'
expect_log 'store: upload-part'
umount_ckptfs

# The end of the mount has one deadline for all that is left.
# A part that is under way has less time left than the end, and what follows it has more.
mount_ckptfs part_size=5M attr_ttl=0 deadline=10s
fdo_begin src "$tmp/data" slot 1 open wct "$mnt/b" write 20000000 slot 2 open wct "$mnt/c" write 100 \
	slot 0 open wct "$mnt/a" pause write 6000000 pause close
set_rules '{"op": "UploadPart", "do": "delay", "until": "reload"}'
: >"$tmp/fdo/go"
wait_held UploadPart
freeze "$store_pid"
kill -TERM "$mount_pid"
expect_log 'the store does not answer in time'
expect_log '[abc]: '
# promise: end.deadline
mount_ended "SIGTERM ends the daemon"
thaw "$store_pid"
set_faults
fdo_next
expect_eq "" "$(store_ls a)$(store_ls b)$(store_ls c)" "nothing half written is published"

# Many hosts mount at once.
set_faults checks_slowed
mount_ckptfs
# promise: deadline.check
check "a bucket that asks for fewer requests at first is mounted" mounted
set_faults
umount_ckptfs
