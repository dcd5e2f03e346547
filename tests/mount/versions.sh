#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# versions.sh: what other hosts publish, delete and make while a mount has files open or remembers their names.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 25
start_store
mount_ckptfs attr_ttl=600s part_size=5M stall_timeout=120s
letters() { head -c "$1" /dev/zero | tr '\0' "$2"; }

letters 1000 a | store_put file
stat "$mnt/file" >/dev/null
letters 100 b | store_put file
expect_eq "ok 100 100 0" "$(fdo open r "$mnt/file" fsize pread 1000 0 pread 1000 100)" "a shorter version is as long as it is"
letters 5000 c | store_put file
# promise: fresh.open
expect_eq "ok 5000 5000" "$(fdo open r "$mnt/file" fsize pread 9000 0)" "a longer version is as long as it is"

exec 3<"$mnt/file"
letters 6000 d | store_put file
cat "$mnt/file" >"$tmp/read"
# promise: fresh.inode
check "a version that another host made is another file than the one that is open" \
	test "$(stat -c %i "$mnt/file")" != "$(stat -L -c %i /dev/fd/3)"
exec 3<&-

# Of many that open a file at once after another host replaced it, all read the new version, whole.
bad=0
for i in $(seq 12); do
	letters $((i % 2 * 15000 + 3000 + i)) $i | store_put many
	want=$(store_cat many | cksum)
	set --
	for k in 1 2 3 4 5 6 7 8; do
		cksum <"$mnt/many" >"$tmp/sum$k" 2>&1 &
		set -- "$@" $!
	done
	for pid in "$@"; do wait "$pid"; done
	for k in 1 2 3 4 5 6 7 8; do [ "$(cat "$tmp/sum$k")" = "$want" ] || bad=$((bad + 1)); done
done
expect_eq 0 $bad "however many open a file at once, each reads what another host published before"

objects rm file
expect_eq "ok ok ok" "$(fdo open wc "$mnt/file" write 10 close)" "a file that another host deleted is made anew by O_CREAT"
expect_eq 10 "$(objects size file)" "a file that is made anew by O_CREAT is published"
objects rm file
expect_eq "ENOENT" "$(fdo open w "$mnt/file")" "a file that another host deleted is not there without O_CREAT"

# Who has a file open for writing and does not write hides nothing.
letters 1000 a | store_put idle
fdo_begin open w "$mnt/idle" pause close
letters 2000 b | store_put idle
expect_eq "bbbb 2000" "$(head -c 4 "$mnt/idle") $(stat -c %s "$mnt/idle")" "a version is seen while another one is open for writing"
expect_eq "ok ok ok" "$(fdo open wa "$mnt/idle" write 5 close)" "a version is appended to while another one is open"
expect_eq 2005 "$(objects size idle)" "an append to a new version is published"
fdo_ends "ok ok ok" "a writer of the version before publishes nothing"

# A change that lost leaves nothing in the way of others.
letters 1000 a | store_put lost
fdo_begin open wa "$mnt/lost" slot 1 open wa "$mnt/lost" write 10 pause close pause slot 0 close
letters 2000 b | store_put lost
fdo_next
expect_eq "ESTALE" "$(cut -d' ' -f6 "$tmp/fdo/out")" "a change of a version that is gone gets ESTALE"
# promise: publish.old-stands
expect_eq "bbbb 2000" "$(head -c 4 "$mnt/lost") $(stat -c %s "$mnt/lost")" "the version that stands is read while a writer stays"
expect_eq "ok ok ok" "$(fdo open w "$mnt/lost" pwrite 3 0 close)" "a version that stands is changed while a writer stays"
expect_eq "xxxb" "$(store_cat lost | head -c 4)" "a change of the version that stands is published"
fdo_ends "ok ok ok ok ok ESTALE ok ok ok" "a writer of the version before ends well"
expect_log 'lost: its version .* was replaced by another host'

fdo_begin open wcx "$mnt/first" write 10 pause close pause
letters 2000 b | store_put first
fdo_next
# promise: create.excl, errno.EEXIST
expect_eq "EEXIST" "$(cut -d' ' -f4 "$tmp/fdo/out")" "who is second with O_EXCL gets EEXIST"
expect_eq 2000 "$(head -c 4000 "$mnt/first" | wc -c)" "who is second with O_EXCL sees the first's file"
fdo_ends "ok ok ok EEXIST ok" "the first's file is seen until its end"
expect_log 'first: not published, the version before it stands: File exists'

# Attributes
letters 1000 a | store_put mode
fdo_begin open w "$mnt/mode" pause close
letters 2000 b | store_put mode
check "chmod of a version that is new, while the one before it is open" chmod 640 "$mnt/mode"
expect_eq "640 2000" "$(stat -c '%a %s' "$mnt/mode")" "chmod changes the version that is new"
fdo_ends "ok ok ok" "a version before the one with the new mode is closed"

# Reads of what is about to be published find the version it replaces gone.
letters 12000000 a | store_put both
reads=''
for at in 3 7 1 9 4 8 2 6 5 10 11; do reads="$reads pause pread 4096 ${at}000000"; done
letters 12000000 a | store_put learn # the first change of parts finds out what the server honors
fdo open w "$mnt/learn" pwrite 1000 0 close >"$tmp/learnt"
if on_gs; then ends=objects.move; else ends=CompleteMultipartUpload; fi
set_rules "$(held_once $ends '*both')"
fdo_begin open +d "$mnt/both" $reads close
fdo open w "$mnt/both" pwrite 1000 0 close >"$tmp/written" &
writes=$!
wait_held $ends
fdo_call
found_none() { tail -n "+$fault_from" "$requests" | grep -qE ' (GetObject|objects.media) [^ ]* both .* (404|412) '; }
wait_for 20 found_none
set_faults
wait_for 30 fdo_rests
while fdo_rests && [ -e "$tmp/fdo/paused" ]; do fdo_next; done
wait $writes
expect_eq "ok ok ok" "$(cat "$tmp/written")" "a version is published slowly"
fdo_ends "ok$(echo "$reads" | sed 's/ pause pread 4096 [0-9]*/ ok 4096/g') ok" "a file is read on through O_RDWR while it is published"
umount_ckptfs
