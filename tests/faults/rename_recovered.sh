#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_recovered.sh: ckptctl recover may come while the mount is still at a directory's rename: both finish it, or the
# mount takes it back, and nothing is lost.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/hundred_files.sh"
need_fuse
plan 18
hundred_files
came_to() { [ "$(store_ls "$1/" | wc -l)" -ge "$2" ]; }

# One object of the mount's comes late: ckptctl brings it, and it stands in the way of the mount while the old names are
# still there. (On Google Cloud Storage no name stays that was left.)
set_faults rename_one_held
fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
renames=$!
check "a rename waits for one of its files" wait_held MoveObject
wait_for 60 came_to e 99
recover >"$tmp/out" 2>"$tmp/err" &
recovers=$!
if ! on_gs; then
	wait_held DeleteObjects
	set_rules "$(still_held DeleteObjects '*' hold)"
	wait_for 60 looks_at_record
	set_faults
fi
wait $recovers
expect_eq "0 " "$? $(cat "$tmp/err")" "ckptctl finishes a rename that its mount is at"
set_faults
wait $renames
expect_eq ok "$(cat "$tmp/renamed")" "a rename that ckptctl has finished meanwhile succeeds"
# promise: rename.dir
check "all files are at the new name" all_in e
expect_eq "" "$(store_ls d)$(store_ls .ckptfs)" "nothing is at the old name, and no record is left"
expect_eq "e 100 42" "$(ls "$mnt") $(ls "$mnt/e" | wc -l) $(cat "$mnt/e/f00042")" "the mount shows the files at the new name"

# One object is refused, and the mount deletes what it has copied, or moves it back: ckptctl does so as well.
if on_gs; then set_faults rename_moved_back; else set_faults rename_taken_back; fi
fdo rename "$mnt/e" "$mnt/d" >"$tmp/renamed" &
renames=$!
on_gs && back=MoveObject || back=DeleteObjects
check "a rename that fails is taken back" wait_held $back
recover >"$tmp/out" 2>"$tmp/err"
expect_eq "0 undone e/ d/ " "$? $(cut -f 1,4,5 "$tmp/out" | tr '\t' ' ') $(cat "$tmp/err")" "ckptctl takes back what its mount takes back"
set_faults
wait $renames
expect_eq EACCES "$(cat "$tmp/renamed")" "the rename says why it failed"
# promise: rename.dir-fails
check "all files are where they were when ckptctl came meanwhile" all_in e
expect_eq "" "$(store_ls d)$(store_ls .ckptfs)" "no copy is left, and no record"
expect_log 'store: (copy|rename) .* 403 '

# Two at once, after the daemon died.
set_faults rename_slow
fdo rename "$mnt/e" "$mnt/k" >"$tmp/said" 2>&1 &
renames=$!
check "a rename is under way" wait_held MoveObject
wait_for 60 came_to k 10
kill -KILL "$mount_pid"
wait "$mount_pid" 2>/dev/null
umount -l "$mnt"
wait $renames
: >"$mount_log"
allowed=''
# held_recover RULE...: the bucket's recovery, which is held up at objects
held_recover() {
	set_rules "$@"
	"$builddir/ckptctl" recover "$url" -o "endpoint=$CKPTFS_TEST_ENDPOINT,stall_timeout=120s" >"$tmp/held" 2>&1 &
	held=$!
	wait_held MoveObject
}
held_recover '{"op": "MoveObject", "do": "delay", "until": "reload"}'
kill -KILL $held
wait $held 2>/dev/null
held_recover "$(held_once MoveObject '*')" "$(held_once DeleteObjects '*' 0 hold)"
recover >"$tmp/out" 2>&1 &
recovers=$!
if ! on_gs; then
	wait_held DeleteObjects
	set_faults
fi
wait $recovers
expect_eq 0 $? "ckptctl finishes a rename while another does, and after a third was killed"
set_faults
wait $held
expect_eq 0 $? "the other one does as well"
check "all files are at the new name after several have brought them there" all_in k
expect_eq "" "$(store_ls e)$(store_ls .ckptfs)" "nothing is at the old name after several have deleted it"
expect_eq "0 0" "$(recover >"$tmp/out"; echo $?) $(wc -l <"$tmp/out")" "nothing is left to finish"
mount_ckptfs
umount_ckptfs
