#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# end_in_time.sh: the end of a mount takes as long as the store goes on to confirm what was closed. When that falls silent
# for the deadline, whoever waits is told that the time is over.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6
head -c 27000000 /dev/urandom >"$tmp/data"

# Each part is on its way for a while, one after the other: all of them take longer than the deadline, and none does.
start_store
mount_ckptfs part_size=5M connections=1 deadline=8s
set_rules '{"op": "UploadPart", "key": "slow", "do": "delay", "stall": "3s"}'
fdo_begin src "$tmp/data" open wct "$mnt/slow" write 27000000 pause close
fdo_call
kill -TERM "$mount_pid"
# promise: end.publishes
mount_ended "the end is in time as long as the store confirms one part after the other"
fdo_ends "ok ok ok ok ok" "a close that takes longer than the deadline is told of success when SIGTERM comes"
same "what is closed slowly when SIGTERM comes is published" "$tmp/data" slow
set_faults
store_stop

# The end waits for one file in the middle of three. It has come past another by then, and is still to come to the third.
start_store
mount_ckptfs attr_ttl=0 deadline=6s stall_timeout=600s
cat >"$tmp/closes.py" <<'END'
import errno, os, sys, threading, time
mnt, go = sys.argv[1:]
fds = [os.open(f"{mnt}/{name}", os.O_WRONLY | os.O_CREAT) for name in ("one", "two", "three")]
for fd in fds:
    os.write(fd, b"bytes")
said = {}

def close(i):
    try:
        os.close(fds[i])
        said[i] = "ok"
    except OSError as e:
        said[i] = errno.errorcode[e.errno]

def wait(name):
    print(name, flush=True)
    while not os.path.exists(f"{go}.{name}"):
        time.sleep(0.01)

wait("open")
threads = [threading.Thread(target=close, args=(i,)) for i in (1, 0, 2)]
threads[0].start()
wait("closing")
for t in threads[1:]:
    t.start()
for t in threads:
    t.join()
print(said[1], *sorted([said[0], said[2]]))
END
python3 "$tmp/closes.py" "$mnt" "$tmp/go" >"$tmp/closes" 2>&1 &
closes=$!
wait_for 30 grep -q open "$tmp/closes"
freeze "$store_pid"
: >"$tmp/go.open"
wait_for 30 grep -q closing "$tmp/closes"
is_uploading() { [ "$(timeout 10 getfattr --only-values -n user.ckptfs.state "$1" 2>/dev/null)" = uploading ]; }
wait_for 30 is_uploading "$mnt/two"
kill -TERM "$mount_pid"
wait_for 30 grep -qE '(one|three): not published' "$mount_log"
# Its own time begins later, and would be over after that of the end.
fdo size "$mnt/seen" >"$tmp/looks" &
looks=$!
wait_in_call $looks
: >"$tmp/go.closing"
expect_log '(one|three): not published, the version before it stands: Read-only file system: the mount ended before it was closed'
expect_log '(one|three): not published, the version before it stands: Connection timed out'
expect_log '(two: not published, .*: Connection timed out|put .*/two: no reply)'
expect_log 'the store does not answer in time'
expect_log '(the store does not answer in time|/seen: no reply)' # on a slow machine its own time may be over first
mount_ended "with a store that falls silent the end comes after the deadline"
thaw "$store_pid"
wait $closes
wait $looks
expect_eq "ETIMEDOUT" "$(cat "$tmp/looks")" "who only looks is told that the store did not reply in time"
# promise: errno.ETIMEDOUT
expect_eq "ETIMEDOUT EROFS ETIMEDOUT" "$(tail -n 1 "$tmp/closes")" "a close is told that the mount ends, or that the store did not reply in time"
