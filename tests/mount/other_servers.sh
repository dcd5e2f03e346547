#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# other_servers.sh: what a mount promises between hosts, at a store that refuses what Swift's middleware and S3Proxy
# refuse: If-Match in what writes an object, headers that S3 has not, and the ETags of objects that are deleted together.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 22
big=24000000
start_store --if-match refuse --strict-headers --key-tokens --fill 'my dir+%/f=1500'
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s

expect_eq "ok ok ok ok ok ok" "$(fdo open wct "$mnt/small" write 3 close open wa "$mnt/small" write 5 close)" \
	"a small file is written and appended to"
expect_eq "8 8" "$(store_cat small | wc -c) $(wc -c <"$mnt/small")" "what was appended is the object"
for turn in first second; do
	fdo_begin open wa "$mnt/small" write 3 pause close
	printf %s "$turn" | store_put small
	fdo_ends "ok ok ok ESTALE" "a small file that another host replaced is not written over: the $turn time"
	expect_eq "$turn" "$(store_cat small)" "what another host made of a small file stays: the $turn time"
done
fdo_begin open wcx "$mnt/new" write 3 pause close
printf theirs | store_put new
fdo_ends "ok ok ok EEXIST" "O_EXCL refuses a small file of a name that another host has taken"

# A reply is lost, and the put is sent again: what it put before is ours, and what another host has put since stays.
set_rules '{"op": "PutObject", "key": "small", "times": 1, "do": "reset_after"}'
expect_eq "ok ok ok" "$(fdo open wa "$mnt/small" write 2 close)" "a small file is written whose reply was lost"
expect_eq "8 8" "$(store_cat small | wc -c) $(wc -c <"$mnt/small")" "a small file whose reply was lost is written once"
fdo_begin open wa "$mnt/small" write 2 pause close
set_rules '{"op": "PutObject", "key": "small", "times": 1, "do": "reset"}' "$(held_once HeadObject small 1 hold)"
: >"$tmp/fdo/go"
wait_held HeadObject
printf theirs | store_put small
set_faults
fdo_ends "ok ok ok ESTALE" "a put that is sent again looks at the name again"
expect_eq theirs "$(store_cat small)" "what another host put before a put was sent again stays"

head -c $big /dev/urandom >"$tmp/ours"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/big" src "$tmp/ours" write $big close | sed 's/ok //')" "a large file is written"
printf more >>"$mnt/big"
{ cat "$tmp/ours" && printf more; } >"$tmp/more"
same "a large file is appended to" "$tmp/more" big
fdo_begin open w "$mnt/big" pwrite 1000 12000000 pause close
store_put big <"$tmp/ours"
fdo_ends "ok ok ok ESTALE" "a large file that another host replaced is not written over"

printf one >"$mnt/from"
chmod 640 "$mnt/from"
expect_eq 640 "$(stat -c %a "$mnt/from")" "a mode is kept"
expect_eq "ok one ENOENT" "$(fdo rename "$mnt/from" "$mnt/to") $(store_cat to) $(fdo size "$mnt/from")" "a file is renamed"
expect_eq 640 "$(stat -c %a "$mnt/to")" "a renamed file has its mode"
expect_eq "ok one" "$(fdo rename2 n "$mnt/to" "$mnt/free") $(store_cat free)" "a free name is taken by RENAME_NOREPLACE"

expect_eq 1500 "$(ls "$mnt/my dir+%" | sort -u | wc -l)" "a listing of two pages has all names"
mkdir "$mnt/run 1" "$mnt/run 1/sub"
printf in >"$mnt/run 1/sub/file"
set_rules '{"op": "DeleteObjects", "times": 2, "do": "status", "status": 500, "code": "InternalError"}'
expect_eq "ok in " "$(fdo rename "$mnt/run 1" "$mnt/run+2") $(cat "$mnt/run+2/sub/file") $(store_ls 'run 1')" \
	"a directory is renamed with what is in it"
set_faults
for said in 'If-Match in a put' 'the ETags of objects'; do
	expect_eq 1 "$(grep -c "does not.* $said" "$mount_log")" "the log says once: $said"
done
