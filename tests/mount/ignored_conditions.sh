#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ignored_conditions.sh: what a mount promises between hosts, at a store that ignores the conditions of what writes an
# object, as Garage does.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 14
big=24000000
start_store --if-match ignore --if-none-match ignore
mount_ckptfs part_size=5M attr_ttl=0
expect_eq "" "$(store_ls)" "what finds out the server's ways leaves nothing behind"

printf four >"$mnt/small"
# promise: change.looked
fdo_begin open w "$mnt/small" write 4 pause close
printf theirs | store_put small
fdo_ends "ok ok ok ESTALE" "a small file that another host replaced is not written over"
expect_eq theirs "$(store_cat small)" "what another host made of a small file stays"
expect_eq "ok ok ok" "$(fdo open w "$mnt/small" write 6 close)" "a small file is written over that nobody replaced"
for size in 3 $big; do
	fdo_begin open wcx "$mnt/new $size" write $size pause close
	printf theirs | store_put "new $size"
	fdo_ends "ok ok ok EEXIST" "O_EXCL refuses a name that another host has taken: $size bytes"
	expect_eq theirs "$(store_cat "new $size")" "what another host made by that name stays: $size bytes"
	expect_eq "ok ok ok" "$(fdo open wcx "$mnt/free $size" write $size close)" "O_EXCL makes a file of a free name: $size bytes"
done

# A put whose reply is lost looks at the name again before it is sent again, and finds what it has put.
set_rules '{"op": "PutObject", "key": "lost", "times": 1, "do": "reset_after"}'
expect_eq "ok ok ok" "$(fdo open wcx "$mnt/lost" write 5 close)" "O_EXCL makes a file whose reply was lost"
expect_eq 5 "$(store_cat lost | wc -c)" "a file whose reply was lost is the object"
set_faults
for said in 'If-Match in a put' 'If-None-Match in a put'; do
	expect_eq 1 "$(grep -c "does not honor $said" "$mount_log")" "the log says once: $said"
done
