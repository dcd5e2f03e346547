#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hns.sh: directories are folders in a bucket of Google's with a hierarchical namespace.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 35
start_store --hns
mount_ckptfs attr_ttl=0

requests_mark
mkdir "$mnt/d" "$mnt/d/e"
expect_requests "mkdir makes folders" folders.insert=2 PutObject=0
expect_eq "d" "$(ls "$mnt")" "empty folders are listed"
expect_eq "EEXIST" "$(fdo mkdir "$mnt/d")" "a folder is made only once"
printf one >"$mnt/d/a"
printf two >"$mnt/d/e/b"
expect_eq "ENOTEMPTY" "$(fdo rmdir "$mnt/d")" "rmdir refuses a folder that is not empty"
rm "$mnt/d/e/b"
expect_eq "ENOTEMPTY" "$(fdo rmdir "$mnt/d")" "rmdir refuses a folder that has an empty folder alone"
printf two >"$mnt/d/e/b"
exec 3<"$mnt/d/e/b"
requests_mark
expect_eq "ok" "$(fdo rename "$mnt/d" "$mnt/new")" "a directory is renamed"
# promise: rename.folder
expect_requests "a directory is renamed by one request, whatever is in it" folders.rename=1 objects.move=0 CopyObject=0
# promise: gs.folders
expect_eq "new/a new/e/b" "$(store_ls | xargs)" "a folder is renamed at the store"
expect_eq "one two" "$(cat "$mnt/new/a") $(cat "$mnt/new/e/b")" "a renamed folder has what is in it"
expect_eq "ENOENT" "$(fdo size "$mnt/d/a")" "the old name of a folder is gone"
expect_eq "two" "$(cat <&3)" "who had a file open in a renamed folder reads on"
exec 3<&-
mkdir "$mnt/empty"
expect_eq "ok one" "$(fdo rename "$mnt/new" "$mnt/empty") $(cat "$mnt/empty/a")" \
	"a directory is renamed over an empty one"
expect_eq "ENOTEMPTY" "$(mkdir "$mnt/x" && fdo rename "$mnt/x" "$mnt/empty")" "a directory is not renamed over one with files"
rm -r "$mnt/x"
mkdir "$mnt/gives_way"
printf '[{"op": "folders.rename", "do": "status", "status": 403}]\n' >"$tmp/refused.json"
set_faults "$tmp/refused.json"
expect_eq "EACCES" "$(fdo rename "$mnt/empty" "$mnt/gives_way")" "a rename over an empty directory that the store refuses says so"
set_faults
# promise: rename.dir-fails
expect_eq "empty gives_way" "$(ls "$mnt" | xargs)" "an empty directory that a refused rename should replace is there again"
expect_log 'store: .* 403'
rm -r "$mnt/empty" "$mnt/gives_way"

# promise: gs.folder-names
# "Folder name: [...] 512 bytes", "Base name: [...] 512 bytes" (Object name requirements), 50 slashes (About folders).
name=$(printf 'ü%.0s' $(seq 127)) # as part of another name, percent-encoded, it has 762 bytes
head -c 12000000 /dev/urandom >"$tmp/data"
cp "$tmp/data" "$mnt/$name"
same "a large file of a long name is written" "$tmp/data" "$name"
rm "$mnt/$name"
deep=$mnt/$name/$name
mkdir -p "$deep/a"
expect_eq "ENAMETOOLONG ENAMETOOLONG" "$(fdo mkdir "$deep/ab") $(fdo rename "$deep/a" "$deep/ab")" \
	"a folder has a name of at most 512 bytes"
expect_eq "ok ok ok" "$(fdo open wct "$deep/a/$name" write 10 close)" "a file in a folder of the longest name is written"
deep=$mnt$(printf '/d%.0s' $(seq 50))
mkdir -p "$deep"
expect_eq "ok ok ok ENAMETOOLONG" "$(fdo open wct "$deep/f" write 10 close) $(fdo mkdir "$deep/e")" "a file is in at most 50 folders"
rm -r "$mnt/$name" "$mnt/d"
expect_eq "0:" "$?:$(ls "$mnt")" "rm -r leaves nothing"
umount_ckptfs

# The store makes a folder for each object that is put below it, and keeps it when the object goes.
for way in multipart compose resumable; do
	mount_ckptfs attr_ttl=0 part_size=5M upload=$way
	mkdir "$mnt/writing"
	fdo_begin open wct "$mnt/writing/f" write 22000000 pause close
	fdo rename "$mnt/writing" "$mnt/$way" >/dev/null
	fdo_ends "ok ok ok ok" "a file of which parts were sent is published in a renamed folder with upload=$way"
	expect_eq "ENOENT 22000000" "$(fdo size "$mnt/writing") $(objects size "$way/f")" \
		"a folder that was renamed does not come again with upload=$way"
	umount_ckptfs
done

# The folder that records were in stays behind them.
mount_ckptfs attr_ttl=0
printf old | store_put lost
fdo_begin open wa "$mnt/lost" write 5 pause close
printf other | store_put lost
fdo_ends "ok ok ok ESTALE" "a change of a file that another host replaced is refused"
expect_log 'lost: its version .* was replaced by another host: the change made on it is kept'
recover() { "$builddir/ckptctl" recover "$@" -o "$mount_options" "gs://$CKPTFS_TEST_BUCKET" 2>"$tmp/err" | awk '{ print $1, $5 }'; }
expect_eq "discarded lost" "$(recover --discard)" "a change that lost is discarded"
: | store_put .ckptfs/intent/record
objects rm .ckptfs/intent/record
expect_eq " " "$(recover) $(cat "$tmp/err")" "recover finds nothing in the folder of what was discarded"
umount_ckptfs
mount_ckptfs
umount_ckptfs "a mount does not take the folder of records for a rename that was not finished"
