#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# frozen.sh: a mount that is stopped for longer than its deadline (SIGSTOP, a machine that stands still)
# goes on with what was under way; a file whose requests take long holds up no other.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 11
start_store
head -c 12000000 /dev/urandom >"$tmp/data"
head -c 100000 "$tmp/data" >"$tmp/small"
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=2s deadline=20s

# A part stands still, and its connection is as dead after the stop as one that a router forgot. Of another file the
# first tries fail before the stop, and others after it: the time between counts for none of them.
set_rules "$(held_once UploadPart file 0 stall)" '{"op": "PutObject", "key": "again", "do": "status", "status": 503, "code": "SlowDown"}'
tries() { grep -c ' PutObject test-bucket again .* 503 ' "$requests"; }
tried() { [ "$(tries)" -gt "$1" ]; }
fdo_begin src "$tmp/data" open wct "$mnt/file" write 12000000 pause close
fdo open wct "$mnt/again" write 1000 close >"$tmp/again" &
again=$!
wait_held UploadPart
wait_for 30 tried 0
freeze "$mount_pid"
tries=$(tries)
sleep 21
thaw "$mount_pid"
wait_for 30 tried "$tries"
set_faults
# promise: deadline.stopped
fdo_ends "ok ok ok ok ok" "a close after a stop that is longer than the deadline succeeds"
same "what was under way when the mount was stopped is published" "$tmp/data" file
wait $again
# promise: deadline.stopped
expect_eq "ok ok ok" "$(cat "$tmp/again")" "a close whose tries failed before and after a long stop succeeds"
umount_ckptfs

# Ten files are written and read while the request of one, begun before, waits for its answer.
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
set_faults one_slow_key
fdo open wct "$mnt/slow" write 1000 close >"$tmp/slow_said" &
slow_pid=$!
at_exit 'kill $slow_pid 2>/dev/null'
wait_held PutObject
others() {
	for i in 0 1 2 3 4 5 6 7 8 9; do
		cp "$tmp/small" "$mnt/quick$i" && cmp "$tmp/small" "$mnt/quick$i" && rm "$mnt/quick$i" || return 1
	done
}
# promise: deadline.alone
check "files are written, read and removed while the store is slow for another" others
check "the slow one is still under way then" kill -0 "$slow_pid"
set_faults
wait "$slow_pid"
expect_eq "ok ok ok" "$(cat "$tmp/slow_said")" "the slow one is written in the end"
umount_ckptfs

# Forty processes ask for one file, each with requests of its own: as many as may run at once, and more.
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
store_put slow <"$tmp/small"
cat "$mnt/slow" >/dev/null
set_faults slow_reads
readers=''
for i in $(seq 40); do
	cat "$mnt/slow" >/dev/null 2>&1 &
	readers="$readers $!"
done
at_exit 'kill $readers 2>/dev/null'
wait_for 20 sh -c '[ "$("$1" stats "$2" | awk "/^lookups_asked/ { print \$2 }")" -ge 40 ]' sh "$builddir/ckptctl" "$mnt"
# promise: deadline.alone
check "files are written, read and removed while forty wait for a slow one" others
# shellcheck disable=SC2086 # several
check "none of the forty has the slow one by then" kill -0 $readers
# shellcheck disable=SC2086
kill -KILL $readers
set_faults
umount_ckptfs
