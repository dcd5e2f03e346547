#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# truncate.sh: a file is cut to nothing, by name or while it is open.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 42
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
printf 0123456789 >"$mnt/f"

expect_eq "ok 0" "$(fdo truncate 0 "$mnt/f" size "$mnt/f")" "truncate() by name succeeds"
# promise: bytes.truncate
expect_eq 0 "$(objects size f)" "truncate() by name is at the store when it returns"
expect_eq "ok" "$(fdo truncate 0 "$mnt/f")" "truncate() by name may be repeated"
printf 0123456789 >"$mnt/f"
expect_eq "ok ok 0" "$(fdo open wt "$mnt/f" close size "$mnt/f")" "an open with O_TRUNC and a close succeed"
expect_eq 0 "$(objects size f)" "O_TRUNC publishes an empty file"
expect_eq "ok ok ok" "$(fdo open w "$mnt/f" write 7 close)" "an empty file is written without O_TRUNC"
expect_eq 7 "$(objects size f)" "an empty file without O_TRUNC is published"

fdo_begin src "$tmp/data" open wct "$mnt/big" write 12000000 ftruncate 0 fsize pause pwrite 100 0 close
expect_eq 0 "$(stat -c %s "$mnt/big")" "ftruncate() succeeds while a file is written"
fdo_ends "ok ok ok ok 0 ok ok ok" "ftruncate() lets a file begin anew"
head -c 100 "$tmp/data" >"$tmp/head"
same "a file that began anew has the new bytes" "$tmp/head" big
no_upload() { [ -z "$(store_uploads)" ]; }
check "what had been sent of a file is forgotten" wait_for 10 no_upload

# Cut so short that the upload is not needed any more.
sent() { [ -n "$(store_uploads)" ]; }
fdo_begin src "$tmp/data" open wct "$mnt/cut" write 12000000 pause ftruncate 3000000 close
check "an upload is begun" wait_for 20 sent
fdo_ends "ok ok ok ok ok ok" "ftruncate() below the size of a part succeeds"
head -c 3000000 "$tmp/data" >"$tmp/want"
same "ftruncate() below the size of a part publishes what is left" "$tmp/want" cut
check "ftruncate() below the size of a part publishes nothing else" wait_for 10 no_upload

# S3 copies no range of an object of 5 MiB and less.
for size in 4194304 5242880; do
	head -c $size "$tmp/data" | store_put small
	expect_eq ok "$(fdo truncate 3000000 "$mnt/small")" "a file of $size bytes is cut"
	same "a file of $size bytes that was cut has its first bytes" "$tmp/want" small
done

expect_eq "ok ok ok" "$(fdo open wt "$mnt/big" ftruncate 0 close)" "ftruncate() of an empty file succeeds"
expect_eq 0 "$(objects size big)" "ftruncate() of an empty file publishes an empty file"
printf 0123456789 >"$mnt/f"
expect_eq "ok ok ok" "$(fdo open w "$mnt/f" ftruncate 0 close)" "ftruncate() of a file with bytes succeeds"
expect_eq "0 0" "$(objects size f) $(stat -c %s "$mnt/f")" "ftruncate() empties a file with bytes"

# The kernel is still to release what was closed: a message or a mapping keeps it.
printf 0123456789 >"$mnt/g"
fdo_begin open w "$mnt/g" inmessage write 8 close truncate 3 "$mnt/g" pause
expect_eq 3 "$(objects size g)" "truncate() after a close publishes before it returns"
fdo_ends "ok ok ok ok ok ok" "a file is cut by name after its close"
fdo_begin open + "$mnt/g" mmapw 3 close truncate 2 "$mnt/g" pause
expect_eq 2 "$(objects size g)" "truncate() of a mapped file publishes before it returns"
fdo_ends "ok ok ok ok ok" "a mapped file is cut by name"
fdo_begin open w "$mnt/g" slot 1 open r "$mnt/g" slot 0 write 8 pause close
expect_eq ok "$(fdo truncate 5 "$mnt/g")" "a file that another process has open is cut by name"
# promise: bytes.truncate
expect_eq 2 "$(objects size g)" "truncate() publishes nothing of a file that another process writes"
fdo_ends "ok ok ok ok ok ok ok" "the process goes on after its file was cut by name"
expect_eq 5 "$(objects size g)" "the close publishes what truncate() has left"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/none" truncate 4 "$mnt/none" close)" "a new file is cut by name while it is written"
expect_eq 4 "$(objects size none)" "the close publishes a new file that truncate() made longer"

# The kernel knows of the new size when the call has returned, and takes a short read before that for a hole.
for left in 4 0; do
	printf 0123456789 | store_put seen
	set_rules "$(held_once PutObject seen 0 hold)"
	fdo truncate $left "$mnt/seen" >"$tmp/cut" &
	cutter=$!
	wait_held PutObject
	cat "$mnt/seen" >"$tmp/seen"
	set_faults
	# promise: bytes.any
	expect_eq 0123456789 "$(tr '\0' z <"$tmp/seen")" "who reads a file that is being cut by name to $left bytes finds it whole"
	wait $cutter
	expect_eq "ok $left" "$(cat "$tmp/cut") $(objects size seen)" "a file that is read meanwhile is cut by name to $left bytes"
done

most=$((5 << 40))
on_gs || most=$((10000 * (5 << 30)))
# promise: limits.size, errno.EFBIG
expect_eq "ok EFBIG EFBIG ok" "$(fdo open w "$mnt/f" ftruncate $((most + 1)) pwrite 1 $most close)" \
	"no file gets longer than the store takes"
expect_eq 0 "$(objects size f)" "a file that would get too long stays as it was"
touch -d @5 "$mnt/f"
fdo_begin open w "$mnt/f" pwrite 1 $most pause close
expect_eq 5 "$(stat -c %Y "$mnt/f")" "a write that is refused does not move mtime"
fdo_ends "ok EFBIG ok ok" "a file can be closed after a refused write"
umount_ckptfs
