#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# consistency.sh: what another host published is seen at the next open, and with consistency=strict
# at the next look.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 22
start_store

mount_ckptfs attr_ttl=600s
for round in 1 2 3 4 5; do
	printf 'round %s%s' $round "$(head -c $((round * 100)) /dev/zero | tr '\0' x)" | store_put file
	stat "$mnt/file" >/dev/null
	expect_eq "$(store_cat file)" "$(cat "$mnt/file")" "an open sees version $round"
done
exec 9<"$mnt/file"
printf 'the next one' | store_put file
expect_eq "the next one" "$(cat "$mnt/file")" "an open sees version $round while an older one is open"
expect_eq "round 5" "$(cat <&9 | head -c 7)" "an open file stays the version that it was"
exec 9<&-
objects rm file
# promise: fresh.open
expect_eq ENOENT "$(fdo open r "$mnt/file")" "an open sees that a file went"
printf there | store_put there
stat "$mnt/there" >/dev/null # after names in vain a listing would be asked for instead
requests_mark
stat "$mnt" >/dev/null
ls "$mnt/none" 2>/dev/null
ls "$mnt/none" 2>/dev/null
expect_requests "a name that is not there is remembered for attr_ttl" HeadObject=1
expect_eq ENOENT "$(fdo size "$mnt/log")" "a log is not there"
printf theirs | store_put log
# promise: fresh.open
expect_eq "ok ok ok theirsxx" "$(fdo open wca "$mnt/log" write 2 close) $(store_cat log)" \
	"who appends to a name that was not there finds what another host made"
expect_eq "ENOENT ENOENT ENOENT" "$(fdo size "$mnt/late" size "$mnt/step" open r "$mnt/sent")" "files and a directory are not there"
printf theirs | store_put late
printf theirs | store_put step/file
printf theirs | store_put sent
# promise: fresh.open
expect_eq "theirs theirs theirs" "$(cat "$mnt/late") $(cat "$mnt/step/file") $(cat "$mnt/sent")" \
	"an open finds what another host made where there was no such name, nor a directory"
fdo size "$mnt/claim" size "$mnt/anew" >/dev/null
printf theirs | store_put claim
expect_eq "EEXIST EBADF EBADF" "$(fdo open wcx "$mnt/claim" write 2 close)" "who wants to be the first finds that another host was"
requests_mark
fdo open wct "$mnt/anew" write 2 close >/dev/null
expect_requests "a name that was missing is made anew, and not asked for again" HeadObject=0 ListObjectsV2=0 PutObject=1
for key in late step/file sent claim anew; do objects rm $key; done
requests_mark
fdo open wca "$mnt/own" write 2 close >/dev/null
expect_requests "who makes a file asks for its name once" HeadObject=1 ListObjectsV2=1 PutObject=1
objects rm log
objects rm own
umount_ckptfs

mount_ckptfs attr_ttl=600s consistency=strict
printf 12345 | store_put file
expect_eq 5 "$(stat -c %s "$mnt/file")" "strict: a stat of a file finds it"
printf 123456789 | store_put file
# promise: fresh.age
expect_eq 9 "$(stat -c %s "$mnt/file")" "strict: a size is that of the object now"
objects mark file mode=33152
expect_eq "0 600" "$(stat -c '%s %a' "$mnt/file")" "strict: a mode is that of the object now"
objects rm file
expect_eq ENOENT "$(fdo size "$mnt/file")" "strict: a stat says whether there is an object"
umount_ckptfs
