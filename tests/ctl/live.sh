#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# live.sh: ckptctl asks mounts that run, by a socket that holds nobody up and answers nobody else.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 59
start_store
dir=$tmp/control
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" "$@"; }
sockets() { find "$dir" -type s | wc -l; }
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
tab=$(printf '\t')

expect_eq "" "$(ctl list | grep -F "$tmp")" "a list of no mounts has no line"
ctl status >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(wc -l <"$tmp/err")" "the status of no mount is refused in one line"

mount_ckptfs "control_dir=$dir" part_size=5M
expect_eq "600" "$(stat -c %a "$dir"/*)" "the socket is there when the mount stands, and its owner's alone"
expect_eq "$mnt${tab}$url${tab}serving${tab}$mount_pid" "$(ctl list | grep -F "$mnt" | cut -f 1-4)" \
	"the list has mountpoint, URL, state and process of a mount"
mkdir "$mnt/d"
for named in "" "$mnt" "$mnt/" "$tmp/./nowhere/../mnt" "$mnt/d/none" "$url"; do
	expect_eq "mount${tab}$url on $mnt" "$(ctl status $named | head -n 1)" \
		"the mount is found by '$(echo "$named" | sed "s|$tmp|TMP|")'"
done
expect_eq "mount${tab}$url on $mnt" "$(cd "$tmp" && ctl status mnt/d | head -n 1)" "the mount is found by a relative path"
expect_eq "mount${tab}$url on $mnt" "$(cd "$mnt" && ctl status . | head -n 1)" "the mount is found from within"
ctl status "$tmp" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(grep -c 'no mount of ckptfs' "$tmp/err")" "a directory that is no mount is refused"

# Files on their way.
printf bytes | store_put read
fdo_begin open wct "$mnt/d/big" write 23068672 slot 1 open r "$mnt/read" pause close slot 0 close
parts_sent() { [ "$(ctl files | awk -F '\t' '$8 == "d/big" { print $3 }')" = 20971520 ]; }
check "the bytes that the store has of a file show while it is written" wait_for 30 parts_sent
expect_eq "dirty${tab}23068672" "$(ctl files | grep 'd/big$' | cut -f 1,2)" "a file that is written shows with state and size"
expect_eq "durable${tab}5" "$(ctl files | grep '	read$' | cut -f 1,2)" "a file that is read shows with state and size"
check "the status counts open files and those that are written" sh -c 'echo "$1" |
	grep -q "files	2 open, 1 for writing: 1 dirty, 0 uploading, 0 failed"' sh "$(ctl status)"
check "the status shows how far a file is" sh -c 'echo "$1" |
	grep -qE "^file	dirty, 91% of 22.0 MiB at the store, sent for .*, .*B/s now, changed .* ago: d/big$"' sh "$(ctl status)"
check "the status counts bytes that are not at the store" sh -c 'echo "$1" | grep -q "^unsent	2.0 MiB$"' sh "$(ctl status)"
rate_is_none() { [ "$(ctl files | awk -F '\t' '$8 == "d/big" { print $4 }')" = 0 ]; }
check "the rate of a file is that of the last seconds: none while nothing is sent" wait_for 60 rate_is_none
fdo_ends "ok ok ok ok ok ok ok ok" "the file is published"
expect_eq "" "$(ctl files)" "a file that is closed shows no more"

# A store that does not reply.
fdo_begin open wct "$mnt/frozen" write 100 pause close
freeze "$store_pid"
: >"$tmp/fdo/go"
is_uploading() { ctl files | grep -q "^uploading.*	frozen$"; }
check "a close that waits for a frozen store shows as an upload" wait_for 30 is_uploading
for command in list status files stats credentials; do
	check "ckptctl $command answers under a frozen store" ctl $command
done
thaw "$store_pid"
fdo_ends "ok ok ok ok" "the close that waited publishes"

# What fails.
set_faults parts_denied
expect_log 'store: upload-part .* 403 AccessDenied'
expect_log 'd/denied: not published'
fdo_begin open wct "$mnt/d/denied" write 6000000 fsync pause close
expect_eq "failed${tab}Permission denied" "$(ctl files | grep 'd/denied$' | cut -f 1,7)" \
	"a file whose upload failed shows with its last error"
: >"$tmp/fdo/go"
wait "$fdo_pid"
set_faults
check "the status shows the last errors with code and request id of the store" sh -c 'echo "$1" |
	grep -qE "^(error|warning)	.* ago: .*d/denied.*403 AccessDenied.*request .*: the credentials need s3:PutObject"' sh "$(ctl status)"

# Figures.
ctl stats >"$tmp/stats"
"$builddir/fs/base/gen_docs" metrics | sed -n 's/^\.It Cm \([^ ]*\).*/\1/p' >"$tmp/names"
expect_eq "$(cat "$tmp/names")" "$(cut -f 1 "$tmp/stats")" "the statistics have each metric once"
expect_eq "bytes" "$(awk -F '\t' '$1 == "sent_bytes" { print $3 }' "$tmp/stats")" "each metric has its unit"
expect_eq "$(sort "$tmp/names")" "$(ctl stats --json | python3 -c '
import json, sys
print("\n".join(sorted(json.load(sys.stdin))))')" "--json has the same metrics"
timeout 60 sh -c '"$@" | head -n 100 >"$0"' "$tmp/often" "$builddir/ckptctl" -o "control_dir=$dir" stats --interval 100ms
check "--interval tells the change a second" grep -qE '^requests	[0-9]+	requests	[0-9.]+/s$' "$tmp/often"

expect_eq "source${tab}environment
kind${tab}keys
usable${tab}yes" "$(ctl credentials | head -n 3)" "the source of the credentials is told"
check_fails "no secret is told" sh -c 'echo "$1" | grep -qF "$AWS_SECRET_ACCESS_KEY"' sh "$(ctl credentials; ctl status)"

check "the log level is changed" ctl loglevel debug
expect_eq "log_level=debug" "$(ctl status "$mnt" | sed -n 's/^daemon.*, //p')" "the status tells the log level"
check "the log has the change" grep -q 'ckptctl has set log_level=debug' "$mount_log"
check_fails "a level that is none is refused" ctl loglevel loud
ctl loglevel info

# Who asks, and how.
if setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 "$tmp"
	chmod 666 "$dir"/*
	setpriv --reuid 65534 --regid 65534 --clear-groups "$builddir/ckptctl" -o "control_dir=$dir" list |
		grep -F "$mnt" | cut -f 3 >"$tmp/out"
	expect_eq unreachable "$(cat "$tmp/out")" "another user is not answered, whatever the mode of the socket"
	chmod 600 "$dir"/*
else
	skip "another user is not answered, whatever the mode of the socket" "setpriv cannot change the user"
fi
ask() {
	timeout 60 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() * int(sys.argv[3]))
print(s.makefile().read(5))' "$dir"/* "$1" "$2"
}
newline='
'
expect_eq error "$(ask "reboot$newline" 1)" "a request that nobody knows is an error"
expect_eq error "$(ask x 4096)" "a request without end is an error"
expect_eq error "$(ask "reboot$newline" 20 | head -n 1)" "many requests at once do no harm"
cat >"$tmp/hold.py" <<'END'
import socket, sys, time
held = []
for i in range(40):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
        held.append(s)
    except BlockingIOError:
        break
open(sys.argv[2], "w").close()
time.sleep(60)
END
spawn python3 "$tmp/hold.py" "$dir"/* "$tmp/held"
holder=$spawned
check "more clients than there is room for can be had" wait_for 30 test -e "$tmp/held"
expect_eq "ok ok ok bytes" "$(fdo open wct "$mnt/beside" write 100 close) $(cat "$mnt/read")" \
	"files are written and read while clients hold the socket"
kill "$holder"
ctl_answers() { ctl status "$mnt"; }
check "ckptctl is answered again when they are gone" wait_for 60 ctl_answers

# A daemon at its limit of open files can take nobody.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$mount_pid/stat"; }
if prlimit --pid "$mount_pid" --nofile=12:1024 2>/dev/null; then
	timeout 30 "$builddir/ckptctl" -o "control_dir=$dir" list >"$tmp/out" 2>&1 &
	asking=$!
	before=$(ticks)
	sleep 2
	expect_eq yes "$([ $(($(ticks) - before)) -lt 5 ] && echo yes)" "a client who cannot be taken for want of descriptors costs nothing"
	prlimit --pid "$mount_pid" --nofile=1024:1024
	wait "$asking"
	check "ckptctl is answered again when there are descriptors" ctl_answers
else
	skip "a client who cannot be taken for want of descriptors costs nothing" "no prlimit"
	skip "ckptctl is answered again when there are descriptors" "no prlimit"
fi

freeze "$mount_pid"
ctl status "$mnt" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(grep -c 'does not reply' "$tmp/err")" "a daemon that is stopped is told in one line"
thaw "$mount_pid"
umount_ckptfs
expect_eq 0 "$(sockets)" "the socket goes with the mount"

mount_ckptfs "control_dir=$dir"
kill -KILL "$mount_pid"
wait "$mount_pid" 2>/dev/null
mount_pid=''
expect_eq unreachable "$(ctl list | grep -F "$mnt" | cut -f 3)" "a mount whose daemon died shows as one that cannot be reached"
umount -l "$mnt"
ln "$dir"/*-* "$dir/foreign"
echo bytes >"$dir/1-2"
mount_ckptfs "control_dir=$dir"
expect_eq "1 1" "$(find "$dir" -name '*-*' -type s | wc -l) $(find "$dir" -name "$mount_pid-*" | wc -l)" \
	"the next mount removes the socket of one that died"
expect_eq "bytes 1" "$(cat "$dir/1-2") $(find "$dir" -name foreign | wc -l)" \
	"the next mount removes nothing else from the directory of the sockets"
umount_ckptfs

rm -r "$dir"
mount_ckptfs control_dir=none
check_fails "control_dir=none makes no socket" ctl status "$mnt"
umount_ckptfs
