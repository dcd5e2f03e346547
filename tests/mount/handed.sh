#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# handed.sh: ckptfs --mount-only mounts, a service manager keeps the descriptor, and a daemon that may not mount serves
# by it: the protocols of sd_notify(3) and sd_listen_fds(3).
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 11
start_store
chmod 711 "$tmp"
mkdir "$mnt"
cat >"$tmp/manager.py" <<'END'
# manager.py SOCKET COMMAND...: runs `COMMAND --mount-only` until it has ended well, then COMMAND with what it has stored,
# as a user who may do nothing. Tells what it hears.
import os, socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
os.environ["NOTIFY_SOCKET"] = sys.argv[1]
stored = None
def hear():
    global stored
    text, fds = socket.recv_fds(s, 4096, 4)[:2]
    text = text.decode().replace("\n", ";")
    print(text, len(fds), flush=True)
    if "FDSTORE=1" in text:
        stored = fds.pop()
    if "FDSTOREREMOVE=1" in text:
        os.close(stored)
    for fd in fds:
        os.close(fd)
    return text
mounts = subprocess.Popen(sys.argv[2:] + ["--mount-only"])
while hear() != "BARRIER=1":
    pass
print("ended", mounts.wait(), flush=True)
daemon = os.fork()
if not daemon:
    os.dup2(os.open("/dev/null", os.O_RDONLY), 3)
    os.dup2(stored, 4)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="ckptfs.socket:ckptfs")
    os.execvp("setpriv", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"] + sys.argv[2:])
print("daemon", daemon, flush=True)
while "STOPPING=1" not in hear():
    pass
os.waitpid(daemon, 0)
END
at_exit mount_atexit
set -- "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=none,allow_other,uid=0,gid=0,spill_dir=/tmp" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET"
is_over() { ! kill -0 "$mount_pid" 2>/dev/null; }
heard() { grep -qE "$1" "$tmp/heard"; }
hand_over() {
	rm -f "$tmp/socket"
	spawn python3 "$tmp/manager.py" "$tmp/socket" "$@" >"$tmp/heard" 2>>"$mount_log"
	manager=$spawned
	wait_for 60 heard '^READY=1'
	mount_pid=$(sed -n 's/^daemon //p' "$tmp/heard")
}
hand_over "$@" "$mnt"
expect_eq "FDSTORE=1;FDNAME=ckptfs; 1|BARRIER=1 1|ended 0|" "$(sed '/^daemon/,$d' "$tmp/heard" | tr '\n' '|')" \
	"the manager is given the descriptor, and has it before the command ends"
check "the daemon has the manager keep it no longer" heard '^FDSTOREREMOVE=1;FDNAME=ckptfs; 0$'
check "the daemon tells on which directory it serves" heard "^READY=1;STATUS=.* on $mnt;"
check "the mount is one of ckptfs with the URL as its source" grep -q "^$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET $mnt fuse.ckptfs .*allow_other" /proc/mounts
expect_eq "65534" "$(sed -n 's/^Uid:.\([0-9]*\).*/\1/p' "/proc/$mount_pid/status")" "the daemon runs as the user nobody"
printf x >"$mnt/file"
expect_eq x "$(store_cat file)" "a file that is closed is at the store"
umount "$mnt"
wait "$manager"
check "a umount ends the daemon" is_over

hand_over "$@" "$mnt"
kill -KILL "$mount_pid"
answers_no_more() {
	timeout -s KILL 10 stat -f "$mnt" >/dev/null 2>&1
	how=$?
	[ $how -ne 0 ]
}
wait_for 10 answers_no_more
expect_eq 1 "$how" "a mount whose daemon was killed waits for nobody"
kill "$manager"
umount "$mnt"

"$@" --mount-only "$mnt" 2>"$tmp/out"
expect_eq "1 1" "$? $(grep -c 'no service manager takes the descriptor' "$tmp/out")" "a mount for which there is no manager is refused"
check_fails "nothing stays mounted that no manager takes" mounted
LISTEN_FDS=1 LISTEN_FDNAMES=ckptfs sh -c 'LISTEN_PID=$$ exec "$@"' sh "$@" "$mnt" 3</dev/null 2>"$tmp/out"
expect_eq "1 1" "$? $(grep -c 'no open descriptor of /dev/fuse' "$tmp/out")" "a manager's descriptor of another file is refused"
