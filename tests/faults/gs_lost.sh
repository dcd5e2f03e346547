#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_lost.sh: on Google Cloud Storage, changes whose reply is lost count as what they are; calls that a server
# lacks, or seems to lack, leave nothing behind.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 38
start_store
mount_ckptfs part_size=5M deadline=20s attr_ttl=0 upload=compose
head -c 12000000 /dev/urandom >"$tmp/data"
cp "$tmp/data" "$tmp/longer"
printf 1234567890 >>"$tmp/longer"
sent() { fdo src "$1" open "$2" "$mnt/$3" write "$4" close; }
tmp_is_empty() { [ -z "$(store_ls .ckptfs/)" ]; }

# What an append composes replaces its own source: the second try finds none.
cp "$tmp/data" "$mnt/f"
printf 1234567890 >"$tmp/tail"
for turn in one two; do
	set_faults gs_compose_lost
	expect_eq "ok ok ok ok" "$(sent "$tmp/tail" wa f 10)" "the reply to composition $turn of an append is lost: close returns 0"
	[ $turn = one ] || printf 1234567890 >>"$tmp/longer"
	same "what an append adds is there once though its reply was lost" "$tmp/longer" f
	expect_eq "" "$(store_ls .ckptfs/)" "nothing is kept of an append whose reply was lost"
done
set_faults gs_compose_lost
expect_eq "ok ok ok ok" "$(sent "$tmp/data" wcx new 12000000)" "a close of a new file returns 0 though the reply is lost"
same "a new file whose reply was lost is whole" "$tmp/data" new
cat >"$tmp/begin.json" <<-EOF
	[{"op": "objects.get", "key": ".ckptfs/tmp/c-*", "times": 1, "do": "status", "status": 503, "code": "backendError"}]
EOF
set_faults "$tmp/begin.json"
expect_eq "ok ok ok ok" "$(sent "$tmp/data" wct begun 12000000)" "a close returns 0 though the first look at its upload is refused"
same "a file is whole though the first look at its upload was refused" "$tmp/data" begun
rm "$mnt/begun"
set_faults gs_copy_lost
expect_eq "ok" "$(cp "$mnt/new" "$mnt/copy" && echo ok)" "a copy onto a new name succeeds though the reply is lost"
same "a copy whose reply was lost is whole" "$tmp/data" copy
set_faults

# moveTo that seems not to be there.
for turn in one two; do
	requests_mark
	set_faults gs_move_missed
	expect_eq ok "$(fdo rename "$mnt/copy" "$mnt/copy2")" "a server that once finds nothing to move is asked again"
	expect_requests "a server that once finds nothing to move is not taken for one without moveTo" objects.move=2 CopyObject=0
	set_faults
	mv "$mnt/copy2" "$mnt/copy"
done

# No batches: pieces go one by one, also those of what was refused.
set_faults gs_no_batch_denied
requests_mark
expect_eq "ok ok ok EACCES" "$(fdo src "$tmp/data" open wct "$mnt/refused" write 12000000 close)" "a close fails when the composition is refused"
check "the pieces of a refused composition go without batches" wait_for 20 tmp_is_empty
expect_requests "a store without batches is asked for one only once" batch=1
expect_eq "ok ok ok EACCES" "$(sent "$tmp/tail" wa f 10)" "an append fails when its composition is refused"
check "the piece of a refused append is deleted" wait_for 20 tmp_is_empty
set_faults # that there are no batches is remembered
expect_eq "ok ok ok ok" "$(sent "$tmp/data" wct new 12000000)" "a file is composed without batches"
expect_eq "" "$(store_ls .ckptfs/)" "a composed file leaves no pieces"
mkdir "$mnt/many"
for i in 1 2 3 4 5; do echo $i >"$mnt/many/$i"; done
mv "$mnt/many" "$mnt/others"
rm -r "$mnt/others"
expect_eq "copy f new" "$(store_ls | xargs)" "a directory is renamed and removed"
expect_log 'store: (rename|upload-complete) .* 403'
expect_log 'refused: not published, .*Permission denied'
expect_log ' f: not published, the version before it stands: Permission denied'
umount_ckptfs
store_stop

# Folders.
store_data=$tmp/folders
start_store --hns
mount_ckptfs deadline=20s attr_ttl=0
mkdir "$mnt/a" "$mnt/taken"
echo x >"$mnt/a/x"
echo x >"$mnt/taken/x"
set_faults gs_folder_lost
expect_eq ok "$(fdo rename "$mnt/a" "$mnt/b")" "a directory is renamed though the reply is lost"
expect_eq "b/x taken/x" "$(store_ls | xargs)" "a folder whose reply was lost has its new name"
set_faults gs_operation_forgotten
expect_eq ok "$(fdo rename "$mnt/b" "$mnt/c")" "a directory is renamed though the server forgets its operation"
expect_eq "x" "$(cat "$mnt/c/x")" "a folder whose operation was forgotten is at its new name"
set_faults
expect_eq "ENOTEMPTY" "$(fdo rename "$mnt/c" "$mnt/taken")" "a rename of a folder onto a name that is taken fails"
expect_eq "c taken" "$(ls "$mnt" | xargs)" "both folders stay after a rename that failed"
umount_ckptfs
store_stop

# No moveTo: what was copied is deleted, and is gone when that is asked for once more. There is a condition on the
# new name, too.
store_data=$tmp/copies
start_store --no-move
mount_ckptfs part_size=5M deadline=20s attr_ttl=0
cat >"$tmp/delete_lost.json" <<-EOF
	[{"op": "objects.delete", "times": 1, "do": "reset_after"}]
EOF
echo x >"$mnt/a"
set_faults "$tmp/delete_lost.json"
expect_eq ok "$(fdo rename2 n "$mnt/a" "$mnt/b")" "a free name is taken though the reply to the delete of the old one is lost"
expect_eq "b" "$(store_ls | xargs)" "a file whose old name was deleted twice has the new one"
set_faults "$tmp/delete_lost.json"
expect_eq "ok ok ok ok" "$(sent "$tmp/data" wcx new 12000000)" "a new file is written though the reply to the delete of its copy is lost"
same "a new file whose copy was deleted twice is whole" "$tmp/data" new
expect_eq "" "$(store_ls .ckptfs/)" "nothing is kept of a copy that was deleted twice"
set_faults
umount_ckptfs
