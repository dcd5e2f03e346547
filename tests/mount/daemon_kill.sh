#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# daemon_kill.sh: however the daemon ends, nothing half written is published.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 24
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
printf old | store_put replaced
cp "$tmp/data" "$mnt/closed"

fdo_begin open wct "$mnt/new" write 12000000 slot 1 open wt "$mnt/replaced" write 9000000 pause \
	write 1 close
kill -KILL "$mount_pid"
{ mount_wait; } 2>/dev/null
fdo_next
expect_eq "ENOTCONN ENOTCONN" "$(cut -d' ' -f7- "$tmp/fdo/out")" "kill -9 of the daemon: write and close say ENOTCONN"
# promise: publish.whole
expect_eq "closed replaced" "$(store_ls | xargs)" "nothing half written is published"
expect_eq old "$(store_cat replaced)" "the old version stands"
# promise: publish.durable
same "what was closed stands" "$tmp/data" closed
why=$("$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT" "s3://$CKPTFS_TEST_BUCKET" "$mnt" 2>&1)
expect_eq "1 1" "$? $(echo "$why" | grep -c 'run umount')" "a new mount there asks for umount first"
umount "$mnt"
mount_ckptfs part_size=5M attr_ttl=0
expect_eq "closed replaced" "$(cd "$mnt" && echo *)" "a mount works after that umount"
cp "$tmp/data" "$mnt/new"
same "a mount after a kill writes" "$tmp/data" new
objects abort
check "what the kill left at the store can be aborted" wait_for 10 sh -c '[ -z "$("$1" uploads)" ]' \
	sh "$tools/tests/lib/objects"

# told to end, with one file closed, one synced and one being written
for signal in TERM INT; do
	fdo_begin src "$tmp/data" open wct "$mnt/closed$signal" write 12000000 close \
		open wct "$mnt/synced$signal" write 4096 fsync write 10 \
		slot 1 open wct "$mnt/open$signal" write 12000000 pause write 1 close
	kill -$signal "$mount_pid"
	expect_log "(open|synced)$signal: not published"
	mount_ended "SIG$signal ends the daemon well"
	check "nothing is mounted" sh -c '! grep -q " $1 " /proc/self/mounts' sh "$mnt"
	fdo_next
	# promise: end.publishes
	same "what was closed is published" "$tmp/data" closed$signal
	expect_eq 4096 "$(objects size synced$signal)" "what was synced is published"
	expect_eq "" "$(store_ls open$signal)" "what was being written is not published"
	# promise: end.publishes
	expect_eq "" "$(store_uploads)" "no upload is left after SIG$signal"
	[ $signal = INT ] || mount_ckptfs part_size=5M attr_ttl=0
done

mount_ckptfs part_size=5M attr_ttl=0
cp "$tmp/data" "$mnt/last"
umount_ckptfs
same "umount ends the daemon as well as a signal does" "$tmp/data" last
expect_eq "" "$(store_uploads)" "umount leaves no upload"

# Killed at the moment at which it has mounted.
ended() { ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null; }
mount_dies() {
	"$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" 2>>"$mount_log" &
	mount_pid=$!
	until mounted_or_dead; do :; done
	kill -KILL "$mount_pid"
	wait_for 20 ended "$mount_pid"
	dies_rc=$?
	umount -fl "$mnt" # where it waits for itself, this ends it
	{ mount_wait; } 2>/dev/null
	return $dies_rc
}
mounts_die() { for turn in 1 2 3 4 5 6 7 8; do mount_dies || return 1; done; }
check "a daemon that is killed while it mounts leaves no process behind" mounts_die
