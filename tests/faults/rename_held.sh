#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_held.sh: what changes in a directory while it is renamed is so under the new name.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 14
start_store
mount_ckptfs attr_ttl=0 stall_timeout=120s
mkdir "$mnt/d" "$mnt/d/empty"
(cd "$mnt/d" && for i in 1 2 3 4 5 6; do echo $i >f$i; done && echo slow >slow && ls -l) >/dev/null
head -c 30000000 /dev/urandom >"$tmp/data"
store_put d/big <"$tmp/data"
exec 3<"$mnt/d/big"
head -c 1000 <&3 >"$tmp/begin"
set_faults rename_held

# change NAME COMMAND [first]: one that begins while the rename is under way, from inside the directory
# whose name is changing.
changes=''
change() {
	(cd "$mnt/d" && : >"$tmp/in-$1" && wait_for 60 test -e "$tmp/go${3:+-$3}" &&
		: >"$tmp/at-$1" && eval "exec $2" >"$tmp/said-$1" 2>&1) &
	changes="$changes $!"
	eval "change_$1=$!"
	wait_for 20 test -e "$tmp/in-$1"
}
# begun NAME...: they wait for the rename
begun() {
	for name; do
		wait_for 20 test -e "$tmp/at-$name"
		eval "wait_begun \$change_$name"
	done
}
change unlink 'rm f1'
change mkdir 'mkdir made'
change rmdir 'rmdir empty'
change create 'echo new >created'
change rename 'mv f2 moved'
change rewrite 'echo more >>f3' first
change chmod 'chmod 640 f4'
change symlink 'ln -s f4 link'
change read 'cat f5' first
change truncate 'truncate -s 1 f6'

fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
changes="$changes $!"
half() { [ "$(store_ls e/ | grep -c 'f[1-6]$')" -eq 6 ]; }
check "a rename is under way" wait_for 60 half
wait_held MoveObject
# A change holds the directory in the kernel until it is done: names are asked for before.
: >"$tmp/go-first"
cat <&3 >"$tmp/rest" &
changes="$changes $!"
wait_begun $!
begun rewrite read
: >"$tmp/go"
begun unlink mkdir rmdir create rename chmod symlink truncate
set_faults
failed=0
for pid in $changes; do wait "$pid" || failed=$((failed + 1)); done
expect_eq "ok 0" "$(cat "$tmp/renamed") $failed" "a rename ends, and so do changes inside the directory"
expect_eq "" "$(store_ls d)" "no object is left by the old name"
expect_eq "e/ e/big e/created e/f3 e/f4 e/f5 e/f6 e/link e/made/ e/moved e/slow" "$(store_ls e | xargs)" \
	"what was removed, made and renamed inside is so by the new name"
expect_eq "new 2 3 more 5" "$(cat "$mnt/e/created" "$mnt/e/moved" "$mnt/e/f3" "$mnt/e/f5" | xargs)" "files that were changed meanwhile have their bytes"
expect_eq 5 "$(cat "$tmp/said-read")" "a file that was opened during the rename is read"
check "a file that was open before the rename is read on" sh -c 'cat "$1/begin" "$1/rest" | cmp - "$1/data"' sh "$tmp"
exec 3<&-
expect_eq "640 1 f4" "$(stat -c %a "$mnt/e/f4") $(objects size e/f6) $(readlink "$mnt/e/link")" "attributes and sizes are those from before the rename"
expect_eq "" "$(store_ls .ckptfs)" "no record is left"
umount_ckptfs
mount_ckptfs attr_ttl=0 stall_timeout=120s
expect_eq 640 "$(stat -c %a "$mnt/e/f4")" "a later mount shows the same directory"

# A read that waits for a rename is answered when its process is killed, and goes on when the handle is released.
echo old >"$mnt/read"
fdo_begin open d "$mnt/read" pread 4 0 pause pread 4 0 pause
echo new >"$mnt/read" # by another version than the one that is open
set_faults reader_killed
fdo rename "$mnt/read" "$mnt/moved" >"$tmp/said" &
mover=$!
wait_held MoveObject
fdo_call
kill -KILL "$fdo_pid"
wait "$fdo_pid" 2>/dev/null
expect_eq 1 "$(kill -0 $mover && echo 1)" "a process that reads what is being renamed is killed before that is done"
set_faults
wait $mover
rm "$mnt/moved" # with all that the mount knows of it
for i in 1 2 3; do cat "$mnt/e/f3" "$mnt/e/f4" "$mnt/e/f5"; done >"$tmp/read"
expect_eq "3 more 4 5 3 more 4 5 3 more 4 5" "$(xargs <"$tmp/read")" "files are opened and read after a reader was killed in a rename"
umount_ckptfs
