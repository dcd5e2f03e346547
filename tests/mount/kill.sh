#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill.sh: a writer that dies by a signal publishes nothing; one that ends without close does.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 51
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"

gone() { [ ! -e "$mnt/$1" ]; }
no_upload() { [ -z "$(store_uploads)" ]; }

# killed SIGNAL FILE: what is left of a file whose writer dies by the signal; $? is the writer's status
killed() {
	expect_eq $((128 + $1)) $? "the writer of $2 dies by signal $1"
	check "no upload of $2 is left after signal $1" wait_for 10 no_upload
	check "the name of $2 is gone from the directory" wait_for 10 gone "$2"
	# promise: kill.nothing
	expect_eq "" "$(store_ls "$2")" "nothing of $2 is at the store"
}
for signal in 9 15 11; do
	(ulimit -c 0; fdo src "$tmp/data" open wct "$mnt/large$signal" write 12000000 kill $signal) \
		>/dev/null 2>&1
	killed $signal large$signal
	(ulimit -c 0; fdo open wct "$mnt/small$signal" write 1000 kill $signal) >/dev/null 2>&1
	killed $signal small$signal
done

fdo_begin src "$tmp/data" open wct "$mnt/outer" write 8000000 pause close
kill -KILL "$fdo_pid"; wait "$fdo_pid" 2>/dev/null
killed 9 outer

printf old | store_put standing
(ulimit -c 0; fdo open wt "$mnt/standing" write 9000000 kill 9) >/dev/null 2>&1
expect_eq 137 $? "the writer of a replacement dies by signal 9"
check "no upload is left of a replacement" wait_for 10 no_upload
expect_eq old "$(store_cat standing)" "the old version stands"
expect_eq old "$(cat "$mnt/standing")" "the mount shows the old version of a replacement that was killed"

# It has closed its descriptor, and writes through a mapping.
(fdo open +ct "$mnt/mapped" ftruncate 3000000 close open + "$mnt/mapped" mapkept 3000000 kill 9) >/dev/null 2>&1
check "what a killed process wrote through a mapping is given up" wait_for 10 \
	grep -q ' mapped: not published, the version before it stands: Operation canceled: its writer was ended' "$mount_log"
expect_eq "$(head -c 3000000 /dev/zero | cksum)" "$(store_cat mapped | cksum)" \
	"nothing that a killed process wrote through a mapping is at the store"
fdo open + "$mnt/mapped" mapkept 2000000 exit 0 >"$tmp/out"
is_written() { [ "$(store_cat mapped | tr -d '\0' | wc -c)" = 2000000 ]; }
check "what a process that exits wrote through a mapping is published" wait_for 10 is_written

# Its file stays open, since a message of a process that lives keeps the descriptor.
printf 0123456789 >"$mnt/cut"
mkfifo "$tmp/held"
python3 - "$mnt/cut" "$tmp/held" 2>/dev/null <<'END'
import os, socket, sys
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if not os.fork():
    open(sys.argv[2]).read()
    os._exit(0)
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, b"KILLED")
socket.send_fds(a, [b"x"], [fd])
os.kill(os.getpid(), 9)
END
expect_eq ok "$(fdo truncate 3 "$mnt/cut")" "a file is cut by name after the kill of its writer"
expect_eq 012 "$(store_cat cut)" "the cut after a kill is at the store, without what the killed process wrote"
: >"$tmp/held"

dd if=/dev/zero bs=1M 2>/dev/null | dd of="$mnt/pipe" bs=1M 2>/dev/null &
wait_for 20 test -s "$mnt/pipe"
kill -KILL $!; wait $! 2>/dev/null
killed 9 pipe

# Whoever maps a file still has it when the descriptor is closed; another opens it, and is killed before it writes.
map_beside_a_kill() {
	printf old >"$mnt/$1"
	fdo_begin open + "$mnt/$1" mapkept 3 pause
	sync -f "$mnt"
	(fdo open + "$mnt/$1" kill 9) >/dev/null 2>&1
}
map_beside_a_kill beside
fdo_next
beside_is_there() { [ "$(store_cat beside)" = xxx ]; }
check "what a process maps is published though another that opened the file was killed" wait_for 20 beside_is_there
map_beside_a_kill synced
check "a file that a process maps is synced though another that opened it was killed" sync "$mnt/synced"
fdo_next

fdo src "$tmp/data" open wct "$mnt/exits" write 12000000 exit 1 >/dev/null
check "an exit without close publishes" wait_for 10 sh -c '
	"$1" ls exits | grep -q exits' sh "$tools/tests/lib/objects"
same "an exit without close publishes what was written" "$tmp/data" exits
expect_log 'not published, the version before it stands: Operation canceled'
umount_ckptfs

mount_ckptfs on_kill=publish
(fdo src "$tmp/data" open wct "$mnt/kept" write 12000000 kill 9) >/dev/null 2>&1
kept_is_there() { "$tools/tests/lib/objects" ls kept | grep -q kept; }
wait_for 30 kept_is_there # a killed process does not wait for it
# promise: kill.on-kill
same "on_kill=publish publishes what was written" "$tmp/data" kept
umount_ckptfs

# Requests of its upload are under way when the mount ends.
mount_ckptfs part_size=5M stall_timeout=120s
set_rules "$(held_once UploadPart '*late')"
fdo_begin src "$tmp/data" open wct "$mnt/late" write 12000000 pause
wait_held UploadPart
kill -KILL "$fdo_pid"; wait "$fdo_pid" 2>/dev/null
expect_log 'late: not published, the version before it stands'
umount "$mnt"
set_faults
mount_ended
expect_eq "" "$(store_uploads)" "a mount that ends at once aborts the upload of a killed writer first"
expect_eq "" "$(store_ls late)" "a mount that ends at once publishes nothing of a killed writer"
