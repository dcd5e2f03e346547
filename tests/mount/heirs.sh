#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# heirs.sh: who opens a file while another takes its place gets that one as if it were opened after.
. "$srcdir/tests/lib/mount.sh"
need_fuse
as() { setpriv --reuid "$1" --regid "$1" --clear-groups sh -c "$2" sh "$mnt" "$tmp"; }
as 1001 true 2>/dev/null || skip_all "setpriv cannot change the user"
plan 7
chmod 755 "$tmp"
start_store
mount_ckptfs allow_other stall_timeout=120s
for i in map link first second; do
	printf old >"$mnt/$i"
	printf newer >"$mnt/$i.new"
	cat "$mnt/$i" >/dev/null
done
ln -sf first "$mnt/link.new"
chmod 600 "$mnt/first.new" "$mnt/second.new"

# replacing NAME: it is being replaced when this returns, and until others are told to.
taken() { [ "$(store_cat "$1" 2>/dev/null)" != old ]; }
replacing() {
	set_rules "$(held_once MoveObject "$1*")"
	fdo rename "$mnt/$1.new" "$mnt/$1" >"$tmp/said" &
	renames=$!
	wait_held MoveObject
	wait_for 20 taken "$1"
}
# replaced PID: now that this process waits for it
replaced() {
	wait_in_call "$1"
	set_faults
	wait $renames
}

replacing map
"$tools/tests/lib/fdo" open r "$mnt/map" fsize mmapr 5 close >"$tmp/mapped" &
maps=$!
replaced $maps
wait $maps
expect_eq "ok 5 ok ok" "$(cat "$tmp/mapped")" "a file that was replaced once can be mapped"
replacing link
sed s/old/newer/ "$mnt/link" >"$tmp/followed" &
follows=$!
replaced $follows
wait $follows
expect_eq newer "$(cat "$tmp/followed")" "where a link takes the place of a file it is followed"

# One thread, which is told to look anew at the first and may get the heir of the second.
touch "$tmp/opens-first" "$tmp/opens-second"
chown 1001 "$tmp/opens-first" "$tmp/opens-second"
as 1001 'for i in first second; do
	until [ -e "$2/go-$i" ]; do sleep 0.1; done
	echo $$ >"$2/opens-$i"
	read -r x <"$1/$i"
	echo "$? $x" >&3
done' 3>"$tmp/got" 2>"$tmp/errors" &
reader=$!
replacing first
: >"$tmp/go-first"
wait_for 20 test -s "$tmp/opens-first"
replaced "$(cat "$tmp/opens-first")"
check "a user opens a file that becomes somebody else's" wait_for 20 test -s "$tmp/got"
replacing second
: >"$tmp/go-second"
wait_for 20 test -s "$tmp/opens-second"
replaced "$(cat "$tmp/opens-second")"
check "a user opens another file that becomes somebody else's" wait $reader
expect_eq "" "$(grep newer "$tmp/got")" "what the modes keep from them is not read"
expect_eq "2 600 newer" "$(wc -l <"$tmp/errors") $(stat -c %a "$mnt/second") $(cat "$mnt/second")" "bytes that the modes keep from a user are not read both times"
umount_ckptfs
