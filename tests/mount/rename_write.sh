#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_write.sh: what is being written is published under the name that it has then.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 36
start_store
mount_ckptfs part_size=5M
no_upload() { [ -z "$(store_uploads)" ]; }
nothing_else() { [ "$(store_ls | xargs)" = "$1" ]; }

requests_mark
fdo_begin open wct "$mnt/tmp" write 100 pause write 100 close
expect_eq "ok ENOENT 100" "$(fdo rename "$mnt/tmp" "$mnt/name" size "$mnt/tmp" size "$mnt/name")" \
	"a file that is not published yet is renamed"
fdo_ends "ok ok ok ok ok" "a writer goes on after its new file is renamed"
# promise: rename.open
expect_eq "name 200" "$(store_ls | xargs) $(objects size name)" "a writer publishes under the new name"
# promise: rename.unpublished
expect_requests "a rename of a file that is not published asks for nothing" CopyObject=0 PutObject=1

printf old | store_put final
fdo_begin open wcx "$mnt/tmp" write 100 pause close
expect_eq "ok old" "$(fdo rename "$mnt/tmp" "$mnt/final") $(store_cat final)" "a file that is not published takes the place of another"
fdo_ends "ok ok ok ok" "a renamed file takes a place though it was to be new"
expect_eq "100 100" "$(objects size final) $(stat -c %s "$mnt/final")" "a renamed file is in its new place when it is published"

fdo_begin open wct "$mnt/big" write 12000000 pause write 12000000 close
expect_eq "ok" "$(fdo rename "$mnt/big" "$mnt/large")" "a file that is being sent in parts is renamed"
fdo_ends "ok ok ok ok ok" "a renamed file goes on to be sent"
expect_eq "24000000" "$(objects size large)" "a renamed file that was sent in parts is whole"
check "nothing is left over of a file sent in parts" wait_for 20 nothing_else "final large name"
check "no upload is left of a file sent in parts" wait_for 20 no_upload

fdo_begin open wct "$mnt/log" write 1000 fsync write 500 pause write 500 fsync close
expect_eq "ok 1000" "$(fdo rename "$mnt/log" "$mnt/log.1") $(objects size log.1)" "a file that is published and goes on is renamed"
echo other >"$mnt/log"
fdo_ends "ok ok ok ok ok ok ok ok" "a renamed published file is written on"
expect_eq "2000 other" "$(objects size log.1) $(cat "$mnt/log")" "a renamed published file is written under its new name"

# What a commit copies keeps its name and version meanwhile.
late=UploadPartCopy renamed_early=''
! on_gs || late=PutObject renamed_early=ok # there an append sends a piece and copies nothing
tried() { [ "$(requests_of $late)" -ge 2 ]; }
head -c 26000000 /dev/urandom >"$tmp/data"
# meanwhile NAME SAID FILE COMMAND...: while an append to the file is closed; an fsync would keep the kernel
# from it. SAID: what the command has said before the copies succeed.
meanwhile() {
	name=$1 early=$2 file=$3
	shift 3
	fdo_begin open wa "$mnt/$file" write 1000 pause close
	set_faults parts_late
	requests_mark
	: >"$tmp/fdo/go"
	wait_for 30 tried
	rm -f "$tmp/said"
	"$tools/tests/lib/fdo" "$@" >"$tmp/said" &
	fdo_other=$!
	if [ -n "$early" ]; then wait_for 20 test -s "$tmp/said"; else wait_in_call $fdo_other; fi
	expect_eq "$early" "$(cat "$tmp/said")" "a name waits for what is copied from it, and nothing else does: $name"
	set_faults
	wait $fdo_other
	expect_eq ok "$(cat "$tmp/said")" "$name while parts of it are copied"
	fdo_ends "ok ok ok ok" "all that was written is published where $name"
	head -c 1000 /dev/zero | tr '\0' x >>"$tmp/data"
}
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/part" write 26000000 close)" "a large file is renamed while it is written"
meanwhile "a file is renamed" "$renamed_early" part rename "$mnt/part" "$mnt/part.1"
same "a large file is published by the new name" "$tmp/data" part.1
meanwhile "a file gets another mode" ok part.1 chmod 600 "$mnt/part.1"
same "a large file has all that was written" "$tmp/data" part.1

mkdir -p "$mnt/ckpt.tmp/sub"
printf done >"$mnt/ckpt.tmp/done"
fdo_begin open wct "$mnt/ckpt.tmp/sub/new" write 100 slot 1 open wct "$mnt/ckpt.tmp/sub/half" write 100 fsync write 7 \
	pause close slot 0 write 5 close
expect_eq "ok" "$(fdo rename "$mnt/ckpt.tmp" "$mnt/ckpt")" "a directory with files that are written is renamed"
# promise: rename.open
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok ok" "a renamed directory takes its open files with it"
expect_eq "105 107" "$(objects size ckpt/sub/new) $(objects size ckpt/sub/half)" "files of a renamed directory have all that was written"
expect_eq "" "$(store_ls ckpt.tmp)" "a renamed directory leaves nothing by the old name"
expect_eq "done" "$(cat "$mnt/ckpt/done")" "a renamed directory has all its other files"

# What a file replaced before it was published does not come back when the file goes on to another name, though a
# copied directory has given it another version meanwhile.
mkdir "$mnt/before"
head -c 6000000 /dev/zero >"$mnt/before/name"
fdo_begin open wct "$mnt/before/tmp" write 100 pause close
expect_eq "ok ok ok" "$(fdo rename "$mnt/before/tmp" "$mnt/before/name" rename "$mnt/before" "$mnt/after" \
	rename "$mnt/after/name" "$mnt/after/other")" "a file that is not published is renamed with its directory and alone"
expect_eq "after/" "$(store_ls after/ | xargs)" "what it replaced is gone from the name that it left"
fdo_ends "ok ok ok ok" "a file that was renamed three times is published"

fdo_begin open wct "$mnt/target" write 100 pause write 1 fsync close
printf new >"$mnt/source"
expect_eq "ok new" "$(fdo rename "$mnt/source" "$mnt/target") $(cat "$mnt/target")" "what is written is replaced"
fdo_ends "ok ok ok ok ok ok" "a writer sees no error when its file is replaced"
expect_eq "new" "$(store_cat target)" "a file that was replaced does not come back"
umount_ckptfs
