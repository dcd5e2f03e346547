#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# top.sh: ckptctl top fills the screen of a terminal, whatever its size, and gives it back.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 17
start_store
dir=$tmp/control
mount_ckptfs "control_dir=$dir" part_size=5M
terminal() { timeout 120 python3 "$srcdir/tests/ctl/top.py" "$tmp" "$@" "$builddir/ckptctl" -o "control_dir=$dir" top --interval "$interval"; }
interval=200ms
lines() { awk 'END { print NR }' "$tmp/screen$1"; }
widest() { awk '{ n = length($0); if (n > most) most = n } END { print most }' "$tmp/screen$1"; }

printf '0123456789' | store_put read
fdo_begin open wct "$mnt/a-long-name-of-a-file-that-does-not-fit-into-a-narrow-terminal-with-its-figures-beside" \
	write 6000000 slot 1 open wct "$mnt/b" write 100 slot 2 open r "$mnt/read" pause
expect_eq "0 4 restored" "$(terminal 24x80 "s,s,=10x40,q")" "top ends with q, and gives the terminal back"
expect_eq "24 10" "$(lines 0) $(lines 3)" "a screen has as many lines as the terminal, also after that was resized"
check "no line is wider than the terminal" test "$(widest 0)" -le 80
check "no line is wider than a terminal that was resized" test "$(widest 3)" -le 40
check "the first line names the mount" grep -q "^$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET on $mnt, serving" "$tmp/screen0"
check "the screen counts files that are open, written and dirty" grep -q '^files    3 open, 2 for writing: 2 dirty' "$tmp/screen0"
check "each open file has a line" grep -q '^dirty  *100 B .* b$' "$tmp/screen0"
check "a file that is only read sends nothing, and is not 0 % sent" grep -q '^durable  *10 B  *-  *-  read$' "$tmp/screen0"
check "the head of the list alone stands out" sh -c 'tr "\033" "@" <"$1" | grep -q "^@\[7mstate .*file *@\[0m@\[K"' sh "$tmp/screen0.raw"
check "the last line has the keys" sh -c 'tail -n 1 "$1" | grep -q "^q quit"' sh "$tmp/screen0"
expect_eq "rate size name" "$(cd "$tmp" && awk -F 'order: ' 'NF > 1 { split($2, w, " "); print w[1] }' screen0 screen1 screen2 | xargs)" \
	"s changes the order"
expect_eq "b 10" "$(sed -n '9p' "$tmp/screen2" | awk '{ print $NF }') $(grep -c . "$tmp/screen3")" "files are shown in their order"
expect_eq "0 5 restored" "$(terminal 24x80 "+,+,-,-,q")" "top takes + and -"
expect_eq "0.2 0.4 0.8 0.4 0.2" "$(cd "$tmp" && awk -F ' each ' 'NF > 1 { print $2 + 0 }' screen0 screen1 screen2 screen3 screen4 | xargs)" \
	"+ doubles the interval, and - halves it"
interval=1h
expect_eq "0 3 restored" "$(terminal 24x80 " , ,q")" "the space bar looks at once"
timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" top </dev/null >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(grep -c 'needs a terminal' "$tmp/err")" "top without a terminal is refused in one line"
: >"$tmp/fdo/go"
wait "$fdo_pid"
umount_ckptfs
