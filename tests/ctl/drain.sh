#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# drain.sh: ckptctl drain brings a mount to where ending it loses nothing, and says what it waits for.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 26
start_store
dir=$tmp/control
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" "$@"; }
mount_ckptfs "control_dir=$dir" part_size=5M attr_ttl=1h
printf bytes | store_put old

expect_eq "0 drained" "$(ctl drain >"$tmp/out"; echo "$? $(cat "$tmp/out")")" "a mount without writers is drained at once"
expect_eq "draining" "$(ctl list | grep -F "$mnt" | cut -f 3)" "the list shows that it drains"
expect_eq "EROFS" "$(fdo open wc "$mnt/new")" "no file is made any more"
expect_eq "EROFS" "$(fdo open w "$mnt/old")" "no file is opened for writing any more"
expect_eq "EROFS" "$(fdo open rt "$mnt/old")" "no file is cut any more"
expect_eq "EROFS" "$(fdo truncate 2 "$mnt/old")" "no file is cut by its name any more"
expect_eq "bytes" "$(cat "$mnt/old")" "files are read as before"
expect_eq "0 ok ok" "$(ctl drain --undo; echo "$?") $(fdo open wc "$mnt/new" close)" "files are opened for writing again when it is undone"

# A writer, who saves as trainers do: under another name, which the file gets in the end.
fdo_begin open wct "$mnt/temporary" write 6000000 pause write 100 close rename "$mnt/temporary" "$mnt/final"
ctl drain --timeout 1s >"$tmp/out" 2>"$tmp/err"
expect_eq "2 1 1" "$? $(grep -c 'waiting	1 open for writing' "$tmp/out") $(grep -c 'not drained yet' "$tmp/err")" \
	"a file that is open is waited for, and --timeout ends that"
check "the file is named" grep -q '^file	dirty: temporary$' "$tmp/out"
spawn timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" drain
drainer=$spawned
fdo_ends "ok ok ok ok ok ok" "who writes writes on, and gives the file its name"
wait "$drainer"
expect_eq 0 "$?" "the mount is drained when the file is published"
expect_eq 6000100 "$(store_cat final | wc -c)" "the store has the whole file"

# It is undone while somebody waits for it.
ctl drain --undo
fdo_begin open wct "$mnt/written" write 100 pause close
ctl drain >"$tmp/out" 2>"$tmp/err" &
drainer=$!
wait_for 30 grep -q '^waiting' "$tmp/out"
ctl drain --undo
wait "$drainer"
expect_eq "1 0 1" "$? $(grep -c drained "$tmp/out") $(grep -c 'was undone' "$tmp/err")" "who waits for a drain that is undone is told so"
fdo_ends "ok ok ok ok" "who was waited for closes the file"

# A store that does not reply.
fdo_begin open wct "$mnt/frozen" write 100 pause close
freeze "$store_pid"
: >"$tmp/fdo/go"
ctl drain --timeout 1s >"$tmp/out" 2>/dev/null
expect_eq 2 "$?" "a close that waits for the store is waited for"
thaw "$store_pid"
wait "$fdo_pid"

# Opens that are under way when it begins. Who waits for the store is not counted yet.
late() { # NAME VERB...
	late_name=$1; shift
	ctl drain --undo >/dev/null
	stat "$mnt/old" >"$tmp/out" # the kernel need not look it up
	freeze "$store_pid"
	: >"$tmp/late"
	"$tools/tests/lib/fdo" "$@" >"$tmp/late" 2>&1 &
	late_pid=$!
	wait_for 30 waits "$late_pid"
	expect_eq "0 drained" "$(ctl drain >"$tmp/out"; echo "$? $(tail -n 1 "$tmp/out")")" "$late_name that waits for the store is not waited for"
	thaw "$store_pid"
	wait "$late_pid"
	expect_eq "EROFS" "$(cat "$tmp/late")" "$late_name that was under way when the drain began is refused"
}
waits() { [ "$(cat "/proc/$1/comm")" = fdo ] && grep -q '^State:.[SD]' "/proc/$1/status"; }
late "an open for writing" open w "$mnt/old"
late "a change of size by name" truncate 1 "$mnt/old"

# More files than are listed.
ctl drain --undo >/dev/null
python3 - "$mnt/many" "$tmp" <<'PY' &
import os, signal, sys, time
os.mkdir(sys.argv[1])
files = [open(f"{sys.argv[1]}/{i}", "xb") for i in range(1010)]
open(f"{sys.argv[2]}/opened", "w").close()
time.sleep(600)
PY
many=$!
at_exit "kill -9 $many 2>/dev/null"
wait_for 120 test -e "$tmp/opened"
ctl drain --timeout 1ms >"$tmp/out" 2>/dev/null
check "of very many files each one is waited for" grep -q '^waiting	1010 open for writing, 1010 dirty' "$tmp/out"
expect_log 'warning: many/[0-9]*: not published, the version before it stands'
kill -9 "$many"
wait "$many"
expect_eq "0 drained" "$(ctl drain >"$tmp/out"; echo "$? $(tail -n 1 "$tmp/out")")" "the mount is drained when their writer was killed"

# The end is no drain that can be undone: who begins files would hold it up.
ctl drain --undo >/dev/null
set_rules "$(held_once PutObject last)"
fdo open wct "$mnt/last" write 10 close >"$tmp/last" &
last=$!
wait_held PutObject
kill -TERM "$mount_pid"
ends() { ctl list | grep -F "$mnt" | cut -f 3 | grep -q ending; }
wait_for 30 ends
ctl drain --undo >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(grep -c 'the mount ends' "$tmp/err")" "the end of a mount is not undone"
expect_eq "EROFS" "$(fdo open wc "$mnt/another")" "no file is made while the mount ends, whoever undoes a drain"
set_faults
wait "$last"
expect_eq "ok ok ok" "$(cat "$tmp/last")" "what is closed when the mount ends is published"
mount_ended
