#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unlinked.sh: what has lost its name is used on by those who have it open.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 15
start_store
mount_ckptfs
cd "$mnt" || exit 1
none_orphaned() { [ -z "$(store_ls .ckptfs/unlinked/)" ]; }

printf 'the first' >f
ino=$(stat -c %i f)
exec 3<f
rm f
expect_eq "0 9 $ino" "$(stat -L -c '%h %s %i' /dev/fd/3)" "an unlinked file has no link, but size and number"
printf 'another one' >f
expect_eq 1 "$([ "$(stat -c %i f)" != "$ino" ] && echo 1)" "a new file of an unlinked name is another file"
expect_eq "the first|another one" "$(cat <&3)|$(cat f)" "an unlinked file and the new one are both read"
exec 3<&-
# promise: unlink.kept
check "nothing is left at the store after the last close" wait_for 20 none_orphaned

printf 'version 1' >v
exec 3<v
printf 'version 2' >v.tmp
mv v.tmp v
printf 'version 3' >v.tmp
mv v.tmp v
expect_eq "version 1 version 3" "$(cat <&3) $(cat v)" "a file that was replaced twice is read on"
exec 3<&-
check "nothing is left at the store after the last close" wait_for 20 none_orphaned

mkdir d
exec 3<d
rmdir d
expect_eq "0 directory" "$(stat -L -c '%h %F' /dev/fd/3)" "a removed directory has no link"
expect_eq "" "$(ls -A /dev/fd/3/ 2>/dev/null)" "a removed directory lists nothing"
(cd / && fdo size "$mnt/d") >"$tmp/said"
expect_eq ENOENT "$(cat "$tmp/said")" "the name of a removed directory is gone"
mkdir d
printf x >d/x
expect_eq "x" "$(ls d)" "the name of a removed directory may be used again"
exec 3<&-

seq 20 | while read -r n; do
	echo "$n" >turn && [ "$(cat turn)" = "$n" ] && rm turn && [ ! -e turn ] || echo "$n"
done >"$tmp/wrong"
expect_eq "" "$(cat "$tmp/wrong")" "a name is made and deleted again and again"
expect_eq "d/ d/x f v" "$(store_ls | xargs)" "nothing is at the store but a name that was made again and again"
cd /
umount_ckptfs

# Where nothing is believed for long, the store is not asked for what it cannot know.
mount_ckptfs attr_ttl=0
mkdir -m 700 "$mnt/gone"
exec 3<"$mnt/gone"
rmdir "$mnt/gone"
expect_eq "700 0" "$(stat -L -c '%a %h' /dev/fd/3)" "a removed directory keeps its mode"
exec 3<&-
umount_ckptfs
