#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# idle.sh: a mount that nobody uses sleeps, all of it: no thread wakes, and the store is asked for nothing.
. "$srcdir/tests/lib/mount.sh"
need_fuse
! sanitized || skip_all "sanitizers are on, whose own threads wake"
command -v flock >/dev/null || skip_all "flock is not installed"
plan 5
start_store
set -- control_dir="$tmp/control" attr_ttl=1s # mounts of other tests knock at the sockets of their directory
! grep -q '^#define HAVE_LIBMICROHTTPD 1' "$builddir/config.h" || set -- "$@" metrics=unix:"$tmp/metrics"
mkdir "$tmp/control"
mount_ckptfs "$@"

# How often each thread gave its processor away, and how many requests the store got.
wakes() { grep -H '^voluntary_ctxt_switches:' "/proc/$mount_pid/task/"*/status; wc -l <"$requests"; }
# Connections without use are closed once, after half a minute: another window has none of that.
sleeps() {
	for window in 1 2 3 4 5; do
		wakes >"$tmp/before"
		sleep 4
		wakes >"$tmp/after"
		! cmp -s "$tmp/before" "$tmp/after" || return 0
	done
	diff "$tmp/before" "$tmp/after"
	return 1
}

check "a mount that was never used does not wake for four seconds" sleeps

mkdir "$mnt/dir"
head -c 20000000 /dev/zero >"$mnt/dir/file"
mv "$mnt/dir/file" "$mnt/dir/new"
forget_pages "$mnt/dir/new"
ls -l "$mnt/dir" >/dev/null
cat "$mnt/dir/new" >/dev/null
check "a mount that was used does not wake once its programs have ended" sleeps

fdo_begin open r "$mnt/dir/new" pread 1000 0 flock e \
	slot 1 open wct "$mnt/dir/unsent" write 6000000 pause close slot 0 close
flock "$mnt/dir/new" true &
waiter=$!
at_exit "kill $waiter 2>/dev/null"
check "files that stay open, bytes not sent yet and a program that waits for a lock do not wake the mount" sleeps
fdo_ends "ok 1000 ok ok ok ok ok ok ok ok" "what was left open is read, written and locked as ever"
wait "$waiter"
umount_ckptfs
