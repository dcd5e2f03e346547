#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# descriptor.sh: somebody with rights mounts, and a daemon without any serves by the descriptor it is handed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
setpriv --reuid 65534 --regid 65534 --clear-groups unshare -U true 2>/dev/null ||
	skip_all "another user cannot have a user namespace of its own"
plan 15
start_store
chmod 711 "$tmp"
mkdir "$mnt"
cat >"$tmp/mounts.py" <<'END'
# Mounts argv[1] and has the rest of argv run with the descriptor 7, as a user who may do nothing.
import ctypes, os, sys
fd = os.open("/dev/fuse", os.O_RDWR)
os.dup2(fd, 7, inheritable=True)
libc = ctypes.CDLL(None, use_errno=True)
options = b"fd=7,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
if libc.mount(b"bucket", sys.argv[1].encode(), b"fuse.ckptfs", 2 | 4, options):
    sys.exit(os.strerror(ctypes.get_errno()))
os.close(fd)
os.execvp("setpriv", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                      "unshare", "-U"] + sys.argv[2:])
END
at_exit 'mount_atexit'
hand_over() {
	python3 "$tmp/mounts.py" "$mnt" "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=none,uid=0,gid=0,spill_dir=/tmp" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/7 2>>"$mount_log" &
	mount_pid=$!
	wait_for 60 grep -q 'is mounted on /dev/fd/7' "$mount_log"
}
hand_over
user_of() { readlink "/proc/$1/ns/user"; }
expect_eq "65534 another" "$(sed -n 's/^Uid:.\([0-9]*\).*/\1/p' "/proc/$mount_pid/status") $([ "$(user_of "$mount_pid")" = "$(user_of self)" ] || echo another)" \
	"the daemon is another user, in a user namespace of its own"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/file" write 6000000 close)" "a file is written"
same_size() { [ "$(objects size file)" = 6000000 ]; }
check "the file is at the store when its close returns" same_size
check "the file is read back" sh -c '[ "$(wc -c <"$1")" = 6000000 ]' sh "$mnt/file"
check "a name is changed" mv "$mnt/file" "$mnt/other"
umount "$mnt"
mount_ended "the umount ends the daemon, which warned of nothing"
hand_over
printf x >"$mnt/last"
kill -TERM "$mount_pid"
mount_ended "SIGTERM ends it"
expect_eq x "$(store_cat last)" "what was closed is at the store then"
umount "$mnt"

# Nobody serves the mount yet: a look at what lies in it would not end. Older kernels do not tell the mount of a descriptor.
refused_by_link() {
	python3 "$tmp/mounts.py" "$mnt" sh -c 'grep -q fuse_connection /proc/self/fdinfo/7 || exit 99
		exec timeout -s KILL 60 "$@"' sh "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=none,spill_dir=$tmp/link/x" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/7 2>"$tmp/out"
	echo "$? $(grep -c 'spill_dir=.* lies in the mount itself' "$tmp/out")"
	umount "$mnt"
}
mkdir "$tmp/near"
ln -s "../$(basename "$mnt")" "$tmp/near/far"
ln -s "$tmp/near/far/below" "$tmp/link"
refused=$(refused_by_link)
if [ "${refused% *}" = 99 ]; then skip 1 "this kernel does not tell the mount of a descriptor"; else
	expect_eq "1 1" "$refused" "what lies in the mount by a link is refused"
fi

# As CSI drivers do it: the driver mounts when a sidecar connects to its socket, and sends the descriptor; the sidecar is
# no child of the driver, and each is in a user namespace that the other has no rights in. When the pod is to end, the
# trainer gets SIGTERM, and the sidecar when the trainer has ended.
cat >"$tmp/driver.py" <<'END'
import ctypes, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[2])
os.chmod(sys.argv[2], 0o666)
server.listen(1)
sidecar = server.accept()[0]
fd = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other" % fd
if libc.mount(b"bucket", sys.argv[1].encode(), b"fuse.ckptfs", 2 | 4, options):
    sys.exit(os.strerror(ctypes.get_errno()))
socket.send_fds(sidecar, [b"{}"], [fd])
END
cat >"$tmp/starter.py" <<'END'
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
fd = socket.recv_fds(client, 100, 1)[1][0]
os.dup2(fd, 3, inheritable=True)
os.execv(sys.argv[2], sys.argv[2:])
END
cat >"$tmp/trainer.py" <<'END'
import os, signal, sys
def last(*_):
    with open(sys.argv[1] + "/last.ckpt", "wb") as f:
        for _ in range(40):
            f.write(os.urandom(1 << 20))
    sys.exit(0)
signal.signal(signal.SIGTERM, last)
open(sys.argv[1] + "/ready", "w").close()
while True:
    signal.pause()
END
spawn python3 "$tmp/driver.py" "$mnt" "$tmp/socket"
driver=$spawned
wait_for 60 test -S "$tmp/socket"
setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs unshare -U python3 "$tmp/starter.py" "$tmp/socket" "$builddir/ckptfs" -f \
	-o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=none,uid=1,gid=1,spill_dir=/tmp" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/3 \
	2>>"$mount_log" &
mount_pid=$!
wait_for 60 grep -q 'is mounted on /dev/fd/3' "$mount_log"
wait "$driver"
expect_eq "0 another" "$? $([ "$(user_of "$mount_pid")" = "$(user_of self)" ] || echo another)" "a driver hands the descriptor over by a socket, and may end"
setpriv --reuid=1 --regid=1 --clear-groups unshare -U python3 "$tmp/trainer.py" "$mnt" &
trainer=$!
wait_for 60 test -e "$mnt/ready"
kill -TERM "$trainer"
wait "$trainer"
expect_eq 0 $? "the trainer, in a third user namespace, saves at SIGTERM"
kill -TERM "$mount_pid"
mount_ended "the sidecar ends at its own SIGTERM"
expect_eq 41943040 "$(objects size last.ckpt)" "the trainer's last checkpoint is whole at the store when the sidecar has ended"
umount "$mnt"

"$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/9 9</dev/null 2>"$tmp/out"
expect_eq "1 1" "$? $(grep -c 'no open descriptor of /dev/fuse' "$tmp/out")" "a descriptor of another file is refused"
"$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/99 2>"$tmp/out"
expect_eq "1 1" "$? $(grep -c 'no open descriptor of /dev/fuse' "$tmp/out")" "a descriptor that is not open is refused"
