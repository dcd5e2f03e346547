#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_dir_between.sh: what another host replaces in a directory after it was copied to its new name stays by the
# old one, whatever time it has: what is uploaded in parts has that of its beginning ("For multipart uploads, the
# object creation date is the date of initiation of the multipart upload", AWS, Working with object metadata).
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 17
start_store --content-etags # "an MD5 digest of their object data": AWS, API reference, Object
mount_ckptfs attr_ttl=0 stall_timeout=120s
mkfifo "$tmp/fifo"
uploading() { [ -n "$(store_uploads)" ]; }

# replaced FAULTS OP [RULE]: renames d to e; d/big is replaced when it has been copied and OP is held back, by an upload
# that began before. What RULE says stays in force.
replaced() {
	objects fill d/f 3
	printf old | store_put d/big
	objects send d/big <"$tmp/fifo" &
	puts=$!
	exec 4>"$tmp/fifo"
	head -c 9000000 /dev/zero >&4
	wait_for 20 uploading
	sleep 1.1
	set_faults "$1"
	# By the program: a shell that runs a function keeps the end of the upload.
	"$tools/tests/lib/fdo" rename "$mnt/d" "$mnt/e" >"$tmp/renamed" 4>&- &
	renames=$!
	wait_held "$2"
	exec 4>&-
	wait $puts
	if [ $# -gt 2 ]; then echo "[$3]" >"$tmp/stays.json" && set_faults "$tmp/stays.json"; else set_faults; fi
	wait $renames
	set_faults
}
replaced rename_dir_copied_late PutObject
expect_eq "ok" "$(cat "$tmp/renamed")" "a directory is renamed while one of its files is replaced"
# promise: rename.dir-others
expect_eq "d/big e/big e/f00000 e/f00001 e/f00002" "$({ store_ls d; store_ls e; } | grep -v '/$' | xargs)" \
	"a file that was replaced stays by the old name"
expect_eq "9000000 old" "$(objects size d/big) $(store_cat e/big)" "a replaced file has its bytes, and renamed ones are by the new name"
objects rm d/big
rm -r "$mnt/e"
expect_eq "" "$(store_ls d)$(store_ls e)" "all files can be deleted after the rename"

replaced rename_dir_refused_late CopyObject '{"op": "PutObject", "key": ".ckptfs/intent/*", "do": "status", "status": 403, "code": "AccessDenied"}'
expect_eq "EACCES" "$(cat "$tmp/renamed")" "a rename that fails at its end leaves a replaced file alone"
expect_eq "9000000" "$(objects size d/big)" "the new file is there after a rename that failed"
# promise: rename.dir-fails
expect_eq "" "$(store_ls e | grep -v '/$')" "no copy is left of a rename that failed"
expect_log 'store: put .* 403 AccessDenied'
umount_ckptfs
mount_ckptfs stall_timeout=120s
expect_eq "d/big d/f00000 d/f00001 d/f00002" "$(store_ls | grep '^d/[a-z]' | xargs)" "no file is lost by a rename that failed"

# What is replaced between the look at the old names and their delete stays, too.
rm -r "$mnt/d"
objects fill d/f 3
printf old | store_put d/big
set_faults rename_dir_copied_late
fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
renames=$!
wait_held PutObject
set_faults rename_dir_listed_late
wait_held ListObjectsV2
printf theirs | store_put d/big
set_faults
wait $renames
expect_eq "ok" "$(cat "$tmp/renamed")" "a file is replaced after the old names were listed"
expect_eq "d/big e/big e/f00000 e/f00001 e/f00002" "$({ store_ls d; store_ls e; } | grep -v '/$' | xargs)" \
	"a file replaced after the listing stays by the old name"
expect_eq "theirs old" "$(store_cat d/big) $(store_cat e/big)" "a file replaced after the listing has its bytes, others the new name"
umount_ckptfs

# What another host does with the copies before the old names are deleted. By bytes alone a file that was moved back
# is not to be told from the one that was copied.
mount_ckptfs attr_ttl=0 stall_timeout=120s
objects rm d/big
rm -r "$mnt/e"
objects fill d/f 1005 # more than a page
sleep 3 # times of the store have seconds
set_faults rename_dir_copied_late
fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
renames=$!
wait_held PutObject
objects rm e/f00001
objects rm e/f01001
for file in f00002 f01002; do # moved back
	store_cat e/$file | store_put d/$file
	objects rm e/$file
done
printf 3 | store_put d/f00003
set_faults
wait $renames
expect_eq "ok" "$(cat "$tmp/renamed")" "a directory is renamed while another host takes its files away"
expect_eq "d/f00002 d/f00003 d/f01002" "$(store_ls d | grep -v '/$' | xargs)" \
	"an old name goes though its copy was taken away, and what was put there since stays"
expect_eq "1001 3" "$(store_ls e | grep -c /f) $(store_cat e/f00003)" "what another host did not touch is by the new name"
umount_ckptfs
