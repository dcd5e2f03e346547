#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# close_left.sh: what a close leaves to somebody else is published when that one lets go of it, and not
# when the last of all opens ends.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 26
start_store
mount_ckptfs attr_ttl=60s # the store is stopped for a while

# The writer has the file open once more, and keeps that.
fdo_begin open wct "$mnt/inherited" write 5 forkhold slot 1 open + "$mnt/inherited" slot 0 close pause \
	forkend pause slot 1 close
expect_eq "" "$(store_ls inherited)" "a close publishes nothing while a child holds the file"
fdo_next
expect_eq 5 "$(objects size inherited)" "the end of a child publishes whatever else the writer has open"
fdo_ends "ok ok ok ok ok ok ok ok 0 ok ok ok" "all processes end well after the child's end"

# Who has made or emptied the file with a descriptor that only reads, as flock(1) does, writes by another one. A child
# closes its copies of both.
was=""
for flags in rc rt; do
	fdo_begin open $flags "$mnt/locked" slot 1 open w "$mnt/locked" write 5 forkclose pause write 7 close pause slot 0 close
	expect_eq "$was" "$(store_cat locked 2>/dev/null)" "a child that closes its copies publishes nothing ($flags)"
	fdo_next
	was=$(store_cat locked)
	# promise: publish.copies
	expect_eq xxxxxxxxxxxx "$was" "the last descriptor that writes publishes the file ($flags)"
	fdo_ends "ok ok ok ok 0 ok ok ok ok ok ok" "all closes of both descriptors end well ($flags)"
done
fdo_begin open rc "$mnt/made" forkhold close pause forkend
expect_eq made "$(store_ls made)" "who made a file publishes it by a close though a child has it"
fdo_ends "ok ok ok ok 0" "a child of who made a file ends well"

# A write that was under way when its descriptor was closed is followed by no close.
fdo_begin slot 1 open +ct "$mnt/late" slot 0 open w "$mnt/late" write 5 pause latewrite 7 close pause \
	slot 1 close
freeze "$store_pid"
sync "$mnt/late" & # the next write waits for it
syncs=$!
state_is() { [ "$(getfattr --only-values -n user.ckptfs.state "$1" 2>/dev/null)" = "$2" ]; }
check "a file is being synced" wait_for 30 state_is "$mnt/late" uploading
: >"$tmp/fdo/go"
has_begun() { [ "$(wc -w <"$tmp/fdo/out")" -ge 7 ]; }
check "a write waits for the sync of its file" wait_for 30 has_begun
wait_in_call "$fdo_pid" # so does the close
thaw "$store_pid"
wait $syncs
has_size() { [ "$(objects size "$1" 2>/dev/null)" = "$2" ]; }
check "a synced write is published though the file is open elsewhere" wait_for 30 has_size late 12
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok" "all processes end well after the sync"

# A copy that came through a socket, to a process that is no child of who opened the file.
mkfifo "$tmp/go"
python3 - "$mnt/passed" "$tmp/go" >"$tmp/passed" <<'END' &
import os, socket, sys
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if not os.fork():
    fd = socket.recv_fds(b, 10, 1)[1][0]
    os.write(fd, b"5" * 5)
    b.send(b"x")
    b.recv(1)
    os.write(fd, b"3" * 3)
    os.close(fd)
    os._exit(0)
if not os.fork():
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"4" * 4)
    socket.send_fds(a, [b"x"], [fd])
    a.recv(1)
    os.close(fd)
    os._exit(0)
os.wait()
print("closed", flush=True)
open(sys.argv[2]).read()
a.send(b"x")
os.wait()
END
passes=$!
check "who opened the file has closed it" wait_for 30 grep -q closed "$tmp/passed"
expect_eq "" "$(store_ls passed)" "a close publishes nothing while who was passed a copy writes"
: >"$tmp/go"
wait $passes
# promise: publish.copies
expect_eq 12 "$(objects size passed)" "the close of who was passed a copy publishes"

# The kernel is still to release what was closed, since a message keeps it: changes of the file are at the
# store when they return.
fdo_begin open wct "$mnt/a" write 5 inmessage close rename "$mnt/a" "$mnt/b" pause
expect_eq "b" "$(store_ls a)$(store_ls b)" "a rename after a close is at the store when it returns"
fdo_ends "ok ok ok ok ok ok" "a file is renamed after its close"
fdo_begin open w "$mnt/b" write 3 inmessage close chmod 0600 "$mnt/b" setxattr user.a "$mnt/b" pause
expect_eq "mode=33152 xattr" "$(objects meta b | grep -E '^(mode|xattr)=' | sed 's/xattr=.*/xattr/' | xargs)" \
	"attributes that are changed after a close are at the store when that returns"
fdo_ends "ok ok ok ok ok ok ok" "attributes of a file are changed after its close"
fdo_begin open w "$mnt/b" write 3 inmessage close unlink "$mnt/b" pause
expect_eq "" "$(store_ls b)" "an unlink after a close is at the store when it returns"
fdo_ends "ok ok ok ok ok ok" "a file is removed after its close"

# The end of the mount: what was closed is published, what its writer has open is not.
fdo_begin open wct "$mnt/closed" write 5 slot 1 open wct "$mnt/open" write 5 forkhold slot 0 close pause
kill -TERM "$mount_pid"
expect_log ' open: not published'
mount_ended "SIGTERM ends the daemon"
expect_eq "5 " "$(objects size closed) $(store_ls open)" \
	"what was closed while a child had inherited it is published, what is open is not"
fdo_next
