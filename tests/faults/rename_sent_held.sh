#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_sent_held.sh: a file is renamed while parts of it are at the store, and its close takes long to give the object
# the new name. Meanwhile the old one has it at the store, but not in the mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 35; else plan 41; fi
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
mkdir "$mnt/dir"

# holding NAME OP [TIME]: the close of NAME, which is NAME.1 by now, is under way, and the store is late with a reply to
# OP. Google Cloud Storage has no more than one step in which the old name could be seen.
holding() {
	fdo_begin src "$tmp/data" open wct "$mnt/$1" write 12000000 pause close
	expect_eq "ok" "$(fdo rename "$mnt/$1" "$mnt/${3:-$1.1}")" "$1: a file of which parts were sent is renamed"
	if on_gs; then op=MoveObject; else op=$2; fi
	printf '[{"op": "%s", "key": "*%s*", "times": 1, "do": "delay", "stall": "3s"}]\n' "$op" "${1##*/}" >"$tmp/held.json"
	set_faults "$tmp/held.json"
	requests_mark
	: >"$tmp/fdo/go"
	if on_gs || [ "$2" = CompleteMultipartUpload ]; then
		sleep 0.7
	else
		wait_for 20 at_store "$1"
	fi
}
at_store() { store_ls "$1" | grep -qx "$1"; }
# over NAME: the close has ended, and both names are right
over() {
	fdo_ends "ok ok ok ok ok" "$1: the close that took long publishes"
	set_faults
	same "$1: the new name has all bytes" "$tmp/data" "${2:-$1.1}"
}

# promise: rename.sent
holding looked HeadObject
expect_eq "ENOENT ENOENT ENOENT ENOENT" \
	"$(fdo size "$mnt/looked" open r "$mnt/looked" truncate "$mnt/looked" 5 unlink "$mnt/looked")" \
	"no call finds a file by its old name while the close moves it"
expect_eq "dir looked.1" "$(ls "$mnt" | xargs)" "a listing has no old name while the close moves the file"
expect_eq "dir looked.1" "$(ls -l "$mnt" | awk 'NR > 1 { print $NF }' | xargs)" "a listing with attributes has no old name while the close moves the file"
over looked
expect_eq "dir looked.1" "$(ls "$mnt" | xargs)" "a listing has no old name when the close has moved the file"

# The store has completed the object, but not said so yet: who finds it waits for that.
holding late CompleteMultipartUpload
expect_eq "ENOENT" "$(fdo size "$mnt/late")" "no look finds an old name while the store completes the file"
over late
holding listed CompleteMultipartUpload
expect_eq "dir late.1 listed.1 looked.1" "$(ls "$mnt" | xargs)" "a listing has no old name while the store completes the file"
over listed

# promise: rename.sent
holding made HeadObject
expect_eq "ok ok ok" "$(fdo open wcx "$mnt/made" write 5 close)" "a new file gets a name that another is leaving, with O_EXCL"
over made
expect_eq "xxxxx" "$(store_cat made)" "a new file is whole at a name that another was leaving"
holding taken HeadObject
expect_eq "ok ok ok ok" "$(fdo open wc "$mnt/other" write 7 close rename2 n "$mnt/other" "$mnt/taken")" \
	"a file is renamed, with RENAME_NOREPLACE, to a name that another is leaving"
over taken
expect_eq "xxxxxxx" "$(store_cat taken)" "a renamed file is whole at a name that another was leaving"

# A directory of which the file is no longer
mkdir "$mnt/dir/gone" "$mnt/dir/moved"
printf kept >"$mnt/dir/moved/kept"
holding dir/gone/file HeadObject dir/a
expect_eq "ok" "$(fdo rmdir "$mnt/dir/gone")" "a directory is removed while a file that left it is moved"
over dir/gone/file dir/a
holding dir/moved/file HeadObject dir/b
expect_eq "ok" "$(fdo rename "$mnt/dir/moved" "$mnt/dir/new")" "a directory is renamed while a file that left it is moved"
over dir/moved/file dir/b
expect_eq "dir/ dir/a dir/b dir/new/ dir/new/kept" "$(store_ls dir | xargs)" "nothing is left or copied of a file that has left its directory"

# What another host puts there is seen.
if ! on_gs; then
	holding shared HeadObject
	printf theirs | store_put shared
	expect_eq "6" "$(fdo size "$mnt/shared")" "what another host put at the old name is found while the close moves the file"
	expect_eq "theirs" "$(cat "$mnt/shared")" "what another host put at the old name is read while the close moves the file"
	over shared
	expect_eq "theirs theirs" "$(store_cat shared) $(cat "$mnt/shared")" "what another host put at the old name stays"
fi
umount_ckptfs
