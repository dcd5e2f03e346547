#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# running.sh: nobody changes a program that runs.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 16
start_store
mount_ckptfs
cp /bin/cat "$mnt/program"
chmod 755 "$mnt/program"
size=$(stat -c %s /bin/cat)
mkfifo "$tmp/in"

started() { [ "$(readlink "/proc/$1/exe")" = "$2" ]; }
program=''
begin() { # PATH: runs it
	: >"$tmp/out"
	"$1" <"$tmp/in" >"$tmp/out" &
	program=$!
	exec 9>"$tmp/in"
	wait_for 10 started "$program" "$1"
}
end() {
	exec 9>&-
	wait "$program"
	ended=$?
	program=''
	return $ended
}
at_exit '[ -z "$program" ] || kill -KILL "$program"'
said() { [ "$(tail -n 1 "$tmp/out")" = "$1" ]; }
goes_on() {
	echo "$1" >&9
	wait_for 10 said "$1"
}

check "a program runs" begin "$mnt/program"
check "the program does what it is for" goes_on before
expect_eq ETXTBSY "$(fdo open rt "$mnt/program")" "an open that empties what it only reads is refused"
check "the program goes on after a refusal" goes_on after
expect_eq "ok ok $size ok" "$(fdo open r "$mnt/program" fsync fsize close)" "the program is as it was in the mount"
expect_eq "$size" "$(objects size program)" "the program is as it was at the store"
expect_eq "ETXTBSY ETXTBSY" "$(fdo open wt "$mnt/program" truncate 0 "$mnt/program")" "others that would empty it are refused"
mv "$mnt/program" "$mnt/renamed"
expect_eq ETXTBSY "$(fdo open rt "$mnt/renamed")" "an open by the new name of a program that runs is refused"
cp /bin/cat "$mnt/program"
expect_eq "ok ok 0" "$(fdo open rt "$mnt/program" close size "$mnt/program")" "another file of its old name is emptied"
check "the program goes on to its end" goes_on last
check "the program ends well" end
emptied() { [ "$(fdo open rt "$mnt/renamed" close size "$mnt/renamed")" = "ok ok 0" ]; }
check "a program that has ended can be emptied" wait_for 10 emptied

# The kernel opens the file that runs, and what another host has put in its place is what would be emptied.
cp /bin/cat "$mnt/replaced"
chmod 755 "$mnt/replaced"
check "a program runs that is to be replaced" begin "$mnt/replaced"
printf 'of another host' | store_put replaced
expect_eq ETXTBSY "$(fdo open rt "/proc/$program/exe")" "an open by which the kernel knows a program that runs is refused"
expect_eq "of another host" "$(store_cat replaced)" "what another host has put in the place of a program is not emptied"
kill -KILL "$program"
end 2>"$tmp/killed"
umount_ckptfs
