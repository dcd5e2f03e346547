#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# notify.sh: what a service manager hears of a mount (sd_notify(3)).
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 9
start_store
cat >"$tmp/manager.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
open(sys.argv[2], "w").close()
while True:
    print(s.recv(4096).decode().replace("\n", ";"), flush=True)
END
spawn python3 "$tmp/manager.py" "$tmp/manager" "$tmp/listens" >"$tmp/heard"
manager=$spawned
wait_for 30 test -e "$tmp/listens"
export NOTIFY_SOCKET="$tmp/manager" WATCHDOG_USEC=200000
mount_ckptfs
heard() { grep -qE "$1" "$tmp/heard"; }
check "the manager hears when the mount answers, and which it is" wait_for 30 heard "^READY=1;STATUS=.*://$CKPTFS_TEST_BUCKET on $mnt;MAINPID=$mount_pid;"
check "the watchdog is told that it is alive" wait_for 30 heard '^WATCHDOG=1;'
freeze "$mount_pid"
# The manager has heard all that was said before.
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"X_FROZEN=1", sys.argv[1])' "$tmp/manager"
wait_for 30 heard '^X_FROZEN=1'
alive() { grep -c WATCHDOG=1 "$tmp/heard"; }
before=$(alive)
sleep 1
expect_eq "$before" "$(alive)" "a daemon that stands still does not tell so"
thaw "$mount_pid"
kill -HUP "$mount_pid"
check "a reload is told" wait_for 30 heard '^RELOADING=1;MONOTONIC_USEC=[0-9]+;'
twice() { [ "$(grep -c '^READY=1;' "$tmp/heard")" = 2 ]; }
check "the end of a reload is told" wait_for 30 twice
( while kill -USR1 "$mount_pid" 2>/dev/null; do sleep 0.02; done ) &
pest=$!
before=$(alive)
more() { [ "$(alive)" -gt "$((before + 9))" ]; }
check "the watchdog is told also while signals keep coming" wait_for 30 more
kill "$pest"
umount "$mnt"
mount_ended
check "the watchdog rests while what was closed is published" heard '^STOPPING=1;.*WATCHDOG_USEC=0;'

# A manager that stands still has no room for another message.
cat >"$tmp/fill.py" <<'END'
import socket, sys
full = []
try:
    while True:
        full.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        full[-1].setblocking(False)
        full[-1].sendto(b"NOTHING=1", sys.argv[1])
except BlockingIOError:
    pass
END
mount_ckptfs
freeze "$manager"
python3 "$tmp/fill.py" "$tmp/manager"
umount "$mnt"
mount_ended "a mount ends although the manager takes no message"
thaw "$manager"
