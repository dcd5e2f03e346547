#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# drain.sh: ckptctl drain brings a mount to where ending it loses nothing, and says what it waits for.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 14
start_store
dir=$tmp/control
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" "$@"; }
mount_ckptfs "control_dir=$dir" part_size=5M
printf bytes | store_put old

expect_eq "0 drained" "$(ctl drain >"$tmp/out"; echo "$? $(cat "$tmp/out")")" "a mount without writers is drained at once"
expect_eq "draining" "$(ctl list | grep -F "$mnt" | cut -f 3)" "the list shows that it drains"
expect_eq "EROFS" "$(fdo open wc "$mnt/new")" "no file is made any more"
expect_eq "EROFS" "$(fdo open w "$mnt/old")" "no file is opened for writing any more"
expect_eq "EROFS" "$(fdo open rt "$mnt/old")" "no file is cut any more"
expect_eq "bytes" "$(cat "$mnt/old")" "files are read as before"
expect_eq "0 ok" "$(ctl drain --undo; echo "$?") $(fdo open wc "$mnt/new" | head -c 2)" "files are opened for writing again when it is undone"

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

# A store that does not reply.
ctl drain --undo
fdo_begin open wct "$mnt/frozen" write 100 pause close
freeze "$store_pid"
: >"$tmp/fdo/go"
ctl drain --timeout 1s >"$tmp/out" 2>/dev/null
expect_eq 2 "$?" "a close that waits for the store is waited for"
thaw "$store_pid"
wait "$fdo_pid"
ctl drain >/dev/null
umount_ckptfs
