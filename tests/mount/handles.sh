#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# handles.sh: a file is changed in place, by several descriptors, and read while it is written.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 29
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 14000000 /dev/urandom >"$tmp/data"
f=$mnt/file
text() { store_cat "$1" | tr '\0' .; }

printf 0123456789 >"$f"
expect_eq "ok ok ok" "$(fdo open wa "$f" write 1 close)" "an append to what exists succeeds"
expect_eq "0123456789x" "$(text file)" "an append adds to what exists"
expect_eq "ok ok ok" "$(fdo open w "$f" pwrite 2 3 close)" "a write over a piece of a file succeeds"
expect_eq "012xx56789x" "$(text file)" "a write over a piece leaves the rest"
expect_eq "ok ok ok" "$(fdo open w "$f" pwrite 1 14 close)" "a write behind the end succeeds"
expect_eq "012xx56789x...x" "$(text file)" "a write behind the end leaves a hole of zeros"
expect_eq "ok ok 15 ok" "$(fdo open + "$f" pwrite 1 0 pread 100 0 close)" "a read-write descriptor writes a file"
expect_eq "x12xx56789x...x" "$(text file)" "a read-write descriptor changes the file"
expect_eq "ok ok ok ok" "$(fdo truncate 5 "$f" truncate 8 "$f" truncate 7 "$f" truncate 7 "$f")" \
	"a truncate by name succeeds"
expect_eq "x12xx.." "$(text file)" "a truncate by name cuts, and adds zeros"
expect_eq "ok ok ok ok ok" "$(fdo open w "$f" ftruncate 3 pwrite 1 4 ftruncate 6 close)" "ftruncate() of a file succeeds"
expect_eq "x12.x." "$(text file)" "ftruncate() cuts while a file is being written"

# what was written is seen at once, by whoever reads
fdo_begin src "$tmp/data" open wct "$mnt/large" write 12000000 pause write 2000000 close
head -c 12000000 "$tmp/data" >"$tmp/head"
expect_eq 12000000 "$(stat -c %s "$mnt/large")" "a file that is being written shows its size"
# promise: publish.local, bytes.kept
check "a file that is being written shows its bytes, also those that were sent" cmp "$tmp/head" "$mnt/large"
expect_eq "" "$(store_ls large)" "a file that is being written is not published"
fdo_ends "ok ok ok ok ok ok" "a writer goes on after its file was read"
same "a writer publishes its file after it was read" "$tmp/data" large
fdo_begin open wa "$mnt/large" write 1 pause close
{ cat "$tmp/data"; printf x; } >"$tmp/more"
check "an append shows over what is at the store" cmp "$tmp/more" "$mnt/large"
same "an append does not show at the store before close" "$tmp/data" large
fdo_ends "ok ok ok ok" "the store shows an append after close"
same "other mounts show an append after close" "$tmp/more" large

# two descriptors
fdo_begin slot 0 open wct "$mnt/two" slot 1 open w "$mnt/two" pwrite 3 3 slot 0 pwrite 3 0 slot 1 \
	close slot 2 open r "$mnt/two" pread 10 0 slot 0 pwrite 1 6 pause close
expect_eq 7 "$(stat -c %s "$mnt/two")" "two descriptors write one file"
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok 6 ok ok ok ok" "a third descriptor reads what two write"
expect_eq xxxxxxx "$(text two)" "a file that two descriptors wrote has what both wrote"

# unlinked
fdo_begin open +ct "$mnt/gone" write 100 pause pread 200 0 write 5 pread 200 0 close
rm "$mnt/gone"
fdo_ends "ok ok ok 100 ok 105 ok" "a file without a name is written and read"
expect_eq "" "$(store_ls gone)" "a file without a name is published nowhere"

expect_eq "ok ok ok EOPNOTSUPP ok" "$(fdo open wct "$mnt/alloc" write 10 fallocate 0 1000 \
	punch 0 10 close)" "fallocate() succeeds on a file"
expect_eq 1000 "$(objects size alloc)" "fallocate() makes a file longer"
umount_ckptfs
