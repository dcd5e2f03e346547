#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# descriptor.sh: somebody with rights mounts, and a daemon without any serves by the descriptor it is handed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
setpriv --reuid 65534 --regid 65534 --clear-groups unshare -U true 2>/dev/null ||
	skip_all "another user cannot have a user namespace of its own"
plan 10
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

"$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/9 9</dev/null 2>"$tmp/out"
expect_eq "1 1" "$? $(grep -c 'no open descriptor of /dev/fuse' "$tmp/out")" "a descriptor of another file is refused"
"$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" /dev/fd/99 2>"$tmp/out"
expect_eq "1 1" "$? $(grep -c 'no open descriptor of /dev/fuse' "$tmp/out")" "a descriptor that is not open is refused"
