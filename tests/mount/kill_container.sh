#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill_container.sh: root of a container, without CAP_SYS_PTRACE, sees the end of a killed writer of root, and tells that
# it does not see that of others.
. "$srcdir/tests/lib/mount.sh"
need_fuse
setpriv --bounding-set=-sys_ptrace true 2>/dev/null || skip_all "setpriv cannot take a capability away"
plan 8
start_store
chmod 711 "$tmp"
mkdir "$mnt"
contained() { setpriv --bounding-set=-sys_ptrace "$@"; }
setpriv --bounding-set=-sys_ptrace "$builddir/ckptfs" -f \
	-o "endpoint=$CKPTFS_TEST_ENDPOINT,allow_other,dir_mode=0777,control_dir=none${CKPTFS_TEST_OPTIONS:+,$CKPTFS_TEST_OPTIONS}" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" 2>"$mount_log" &
mount_pid=$!
at_exit mount_atexit
wait_for 60 mounted_or_dead

published() { [ "$(store_cat "$1" 2>/dev/null | wc -c)" = "$2" ]; }
given_up() { grep -q 'was ended by a signal: what was written is not published' "$mount_log"; }
expect_eq "ok ok ok" "$(contained "$tools/tests/lib/fdo" open wct "$mnt/closed" write 5 close)" "a file is written"
check "a close without leave to look at other processes publishes" published closed 5
(ulimit -c 0; contained "$tools/tests/lib/fdo" open wct "$mnt/killed" write 7 kill 9) >/dev/null 2>&1
expect_eq 137 $? "a writer dies by a signal"
expect_log 'killed: not published, .* canceled'
# promise: kill.nothing
check "what a killed writer of root wrote is given up" wait_for 60 given_up
expect_eq "" "$(store_ls killed)" "nothing of it is at the store"
chmod 777 "$mnt"
setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'printf 123456789 >"$0/other"' "$mnt"
check "another user writes" published other 9
check "the log tells that the end of other users' writers is not seen" grep -q 'CAP_SYS_PTRACE' "$mount_log"
timeout 60 umount "$mnt"
mount_ended "the daemon ends well"
