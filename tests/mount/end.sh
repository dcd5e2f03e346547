#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# end.sh: the end of the mount waits for what is under way, a close or a change of names, and for a
# store that does not answer no longer than the deadline.
. "$srcdir/tests/lib/mount.sh"
need_fuse
on_gs && plan 22 || plan 25
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
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
printf old | store_put kept
fdo open wct "$mnt/late" write 100 close >"$tmp/out" &
closing=$!
wait_held PutObject
# The daemon may take some changes yet when it says that it ends: the last that it took stands, and none after it.
cat >"$tmp/writes.py" <<'END'
import errno, os, sys, time
kept, go, last, until = os.open(sys.argv[1], os.O_WRONLY), sys.argv[2], "old", time.monotonic() + 20
print("open", flush=True)
while not os.path.exists(go):
    time.sleep(0.01)
try:
    for i in range(10**9):
        os.pwrite(kept, b"%03d" % i, 0)
        os.fsync(kept)
        last = "%03d" % i
        if time.monotonic() > until:
            sys.exit("no write was refused")
except OSError as e:
    print(errno.errorcode[e.errno], last)
END
python3 "$tmp/writes.py" "$mnt/kept" "$tmp/go" >"$tmp/written" 2>&1 &
writes=$!
wait_for 20 grep -q open "$tmp/written"
kill -TERM "$mount_pid"
wait_for 20 grep -q 'unmounting' "$mount_log"
: >"$tmp/go"
wait $writes
set_faults
wait $closing
# Of a write that was taken, and whose fsync was not, a line says so.
expect_log '(signal 15: unmounting|kept: not published, .*: Read-only file system: the mount ended before it was closed)'
expect_eq "ok ok ok" "$(cat "$tmp/out")" "the end waits for a close"
mount_ended "the end frees nothing that is used"
# promise: errno.EROFS
expect_eq "EROFS" "$(sed '1d; s/ .*//' "$tmp/written")" "what is written meanwhile is refused, since the mount ends"
expect_eq "$(sed '1d; s/.* //' "$tmp/written")" "$(store_cat kept)" "what is refused at the end is published nowhere"
store_stop

# Nine programs do something again and again while the mount is there, and of what they do something is always under way:
# what some of them do is held up until others have begun something more, or the daemon is over.
some='[1-4]*' others='[5-9]*'
held_of() { printf '{"op": "%s", "key": "%s", "do": "delay", "until": "reload"}' "$@"; }
is_over() { ! kill -0 "$mount_pid" 2>/dev/null || grep -q '^State:.*zombie' "/proc/$mount_pid/status"; }
held_or_over() { is_held "$1" || is_over; }
# go_on OP COMMAND NAME
go_on() {
	start_store
	mount_ckptfs attr_ttl=0 stall_timeout=120s deadline=200s
	for i in 1 2 3 4 5 6 7 8 9; do : >"$mnt/$i"; done
	set_rules "$(held_of "$1" '[1-9]*')"
	going=''
	for i in 1 2 3 4 5 6 7 8 9; do
		(cd "$mnt" && exec sh -c "$2" sh $i 2>/dev/null) &
		going="$going $!"
	done
	wait_held "$1" 9
	kill -TERM "$mount_pid"
	wait_for 30 grep -q ': unmounting ' "$mount_log"
	for turn in 1 2 3 4 5 6; do
		set_rules "$(still_held "$1" "$others")" # some go on
		set_rules "$(held_of "$1" "$some")" "$(still_held "$1" "$others")"
		fault_name='' # nothing meets these rules once nothing more is begun
		try_for 5 held_or_over "$1"
		swap=$some some=$others others=$swap
		! is_over || break
	done
	is_over
	ended=$?
	set_faults
	[ $ended -eq 0 ] || kill -KILL "$mount_pid"
	mount_wait
	expect_eq "0 0 0" "$ended $? $(grep -c 'does not answer in time' "$mount_log")" "$3"
	wait $going
	: >"$mount_log" # which has what was being written
	store_stop
}
go_on PutObject 'i=0; while echo more >"$1.$i" || [ -e "$1" ]; do i=$((i + 1)); done' "the end does not wait while programs begin files"
go_on SetMeta 'while chmod 600 "$1" && chmod 644 "$1" || [ -e "$1" ]; do :; done' "the end does not wait while programs change attributes"

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

# Changes have been made at the store when the end comes, but for the replies, or the rest; and no file is open. Each has
# a directory of its own, which the kernel locks.
start_store
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
for i in file dir killed unlink rmdir chmod; do
	mkdir "$mnt/$i" "$mnt/$i/a" "$mnt/$i/b"
	for file in a/1 a/2 c; do printf $file >"$mnt/$i/$file"; done
done
learn_copies
late='"do": "delay", "until": "reload"'
set_rules "{\"op\": \"MoveObject\", $late}" "{\"op\": \"SetMeta\", $late}" "{\"op\": \"DeleteObject\", $late}" \
	"{\"op\": \"DeleteObjects\", $late}"
# begin NAME CALL
begin() {
	name=$1; shift
	(cd "$mnt/$name" && exec "$tools/tests/lib/fdo" "$@" >"$tmp/begun.$name" 2>&1) &
	eval "$name=\$!"
}
begin file rename c d
begin dir rename a e
begin killed rename a e
begin unlink unlink c
begin rmdir rmdir b
begin chmod chmod 0600 c
begun() {
	store_ls >"$tmp/keys"
	for i in file/d dir/e/1 killed/e/1; do grep -qx $i "$tmp/keys" || return 1; done
	! grep -qx -e unlink/c -e rmdir/b/ "$tmp/keys" && objects meta chmod/c | grep -qx mode=33152
}
wait_for 30 begun
kill -KILL $killed # which ends when its rename does
kill -TERM "$mount_pid"
wait_for 20 grep -q ': unmounting ' "$mount_log"
set_faults
wait $killed 2>/dev/null
for i in file dir unlink rmdir chmod; do
	eval "wait \$$i"
	expect_eq ok "$(cat "$tmp/begun.$i")" "the end waits for a change of names or attributes that is under way: $i"
done
mount_ended "the end waits for the changes that are under way"
expect_eq "chmod/b/ chmod/c dir/b/ dir/c dir/e/1 dir/e/2 file/b/ file/d killed/b/ killed/c killed/e/1 killed/e/2 rmdir/c \
unlink/b/" "$(store_ls | sed '/^[a-z]*\/$/d; /a\//d; /e\/$/d' | grep / | xargs)" "what is changed at the end is changed whole"
store_stop

# A close waits for the rename of its file, which is under way when the end comes. (Google's store renames in one step.)
on_gs && exit
start_store
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
printf old >"$mnt/before"
set_rules "$(held_once CopyObject after)"
fdo_begin open wt "$mnt/before" write 100 pause close
mv "$mnt/before" "$mnt/after" &
renames=$!
wait_held CopyObject
: >"$tmp/fdo/go"
closes() { ! find "/proc/$fdo_pid/fd" -lname "$mnt/*" | grep -q .; }
wait_for 30 closes
wait_in_call "$fdo_pid"
kill -TERM "$mount_pid"
wait_for 20 grep -q ': unmounting ' "$mount_log"
set_faults
wait $renames
expect_eq 0 $? "a rename that is under way at the end is made"
mount_ended "the end waits for a close that waits for a rename"
expect_eq ":100" "$(store_ls before):$(objects size after)" "what is renamed and closed at the end has its new name"
