#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_sent_held.sh: a file is renamed while parts of it are at the store, and its close takes long to give the object
# the new name. Meanwhile the old one has it at the store, but not in the mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 35; else plan 41; fi
start_store
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
head -c 12000000 /dev/urandom >"$tmp/data"
mkdir "$mnt/dir"

# holding NAME OP [TO]: the close of NAME, which is NAME.1 by now or TO, is under way, and the store holds back a reply to
# OP. Google Cloud Storage has no more than one step in which the old name could be seen.
holding() {
	fdo_begin src "$tmp/data" open wct "$mnt/$1" write 12000000 pause close
	expect_eq "ok" "$(fdo rename "$mnt/$1" "$mnt/${3:-$1.1}")" "$1: a file of which parts were sent is renamed"
	if on_gs; then op=MoveObject; else op=$2; fi
	set_rules "$(held_once "$op" "*${1##*/}*")"
	: >"$tmp/fdo/go"
	wait_held "$op"
	calls=''
}
# during FILE COMMAND...: a call while the reply is held back, for which it may have to wait; what it says is in FILE
during() {
	said=$1; shift
	"$@" >"$tmp/$said" 2>&1 &
	calls="$calls $!"
	wait_begun $!
}
# over NAME: the close has ended, so have the calls, and both names are right
over() {
	set_faults
	fdo_ends "ok ok ok ok ok" "$1: the close that took long publishes"
	# shellcheck disable=SC2086 # several
	wait $calls
	same "$1: the new name has all bytes" "$tmp/data" "${2:-$1.1}"
}
fdo=$tools/tests/lib/fdo

# promise: rename.sent
holding looked HeadObject
during calls "$fdo" size "$mnt/looked" open r "$mnt/looked" truncate "$mnt/looked" 5 unlink "$mnt/looked"
during names ls "$mnt"
during attributes ls -l "$mnt"
over looked
expect_eq "ENOENT ENOENT ENOENT ENOENT" "$(cat "$tmp/calls")" "no call finds a file by its old name while the close moves it"
expect_eq "dir looked.1" "$(xargs <"$tmp/names")" "a listing has no old name while the close moves the file"
expect_eq "dir looked.1" "$(awk 'NR > 1 { print $NF }' "$tmp/attributes" | xargs)" "a listing with attributes has no old name while the close moves the file"
expect_eq "dir looked.1" "$(ls "$mnt" | xargs)" "a listing has no old name when the close has moved the file"

# The store has completed the object, but not said so yet: who finds it waits for that.
holding late CompleteMultipartUpload
during calls "$fdo" size "$mnt/late"
over late
expect_eq "ENOENT" "$(cat "$tmp/calls")" "no look finds an old name while the store completes the file"
holding listed CompleteMultipartUpload
during names ls "$mnt"
over listed
expect_eq "dir late.1 listed.1 looked.1" "$(xargs <"$tmp/names")" "a listing has no old name while the store completes the file"

# promise: rename.sent
holding made HeadObject
during calls "$fdo" open wcx "$mnt/made" write 5 close
over made
expect_eq "ok ok ok" "$(cat "$tmp/calls")" "a new file gets a name that another is leaving, with O_EXCL"
expect_eq "xxxxx" "$(store_cat made)" "a new file is whole at a name that another was leaving"
holding taken HeadObject
during calls "$fdo" open wc "$mnt/other" write 7 close rename2 n "$mnt/other" "$mnt/taken"
over taken
expect_eq "ok ok ok ok" "$(cat "$tmp/calls")" "a file is renamed, with RENAME_NOREPLACE, to a name that another is leaving"
expect_eq "xxxxxxx" "$(store_cat taken)" "a renamed file is whole at a name that another was leaving"

# A directory of which the file is no longer
mkdir "$mnt/dir/gone" "$mnt/dir/moved"
printf kept >"$mnt/dir/moved/kept"
holding dir/gone/file HeadObject dir/a
during calls "$fdo" rmdir "$mnt/dir/gone"
over dir/gone/file dir/a
expect_eq "ok" "$(cat "$tmp/calls")" "a directory is removed while a file that left it is moved"
holding dir/moved/file HeadObject dir/b
during calls "$fdo" rename "$mnt/dir/moved" "$mnt/dir/new"
over dir/moved/file dir/b
expect_eq "ok" "$(cat "$tmp/calls")" "a directory is renamed while a file that left it is moved"
expect_eq "dir/ dir/a dir/b dir/new/ dir/new/kept" "$(store_ls dir | xargs)" "nothing is left or copied of a file that has left its directory"

# What another host puts there is seen.
if ! on_gs; then
	holding shared HeadObject
	printf theirs | store_put shared
	during calls "$fdo" size "$mnt/shared"
	during bytes cat "$mnt/shared"
	over shared
	expect_eq "6" "$(cat "$tmp/calls")" "what another host put at the old name is found while the close moves the file"
	expect_eq "theirs" "$(cat "$tmp/bytes")" "what another host put at the old name is read while the close moves the file"
	expect_eq "theirs theirs" "$(store_cat shared) $(cat "$mnt/shared")" "what another host put at the old name stays"
fi
umount_ckptfs
