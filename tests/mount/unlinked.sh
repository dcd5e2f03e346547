#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unlinked.sh: what has lost its name is used on by those who have it open.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 27
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

# Who has it open to read opens it to write, by what /proc leads to.
printf 'to be written' >w
exec 3<w
rm w
printf 'another one' >w
exec 4<>/dev/fd/3
printf TO >&4
expect_eq "TO be written" "$(cat /dev/fd/3)" "what is open to be read is written on after its name has gone"
exec 5>>/dev/fd/3
printf ' twice' >&5
exec 4>&- 5>&-
expect_eq "TO be written twice" "$(cat /dev/fd/3)" "what was written without a name is read after the writer's close"
expect_eq ok "$(fdo truncate 5 /dev/fd/3)" "what has no name is cut by /proc"
expect_eq "5 TO be" "$(stat -L -c %s /dev/fd/3) $(cat <&3)" "what has no name is as long as it was made"
: >/dev/fd/3
expect_eq "0 another one" "$(stat -L -c %s /dev/fd/3) $(cat w)" "what has no name is emptied, and the file that has its name is not"
exec 3<&-
expect_eq "another one" "$(store_cat w)" "nothing of what was written without a name is at the store by that name"
check "nothing is left at the store after the last close" wait_for 20 none_orphaned
# What another file has replaced, and is larger than a part.
head -c 6000000 /dev/zero >w
exec 3<w
printf new >w.tmp
mv w.tmp w
fdo open r /dev/fd/3 slot 1 open + /dev/fd/3 pwrite 10 5999995 close slot 0 fsize >"$tmp/said"
expect_eq "ok ok ok ok ok ok 6000005" "$(cat "$tmp/said")" "a large file that was replaced is written on, and none of it published"
exec 3<&-

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
expect_eq "d/ d/x f v w" "$(store_ls | xargs)" "nothing is at the store but a name that was made again and again"
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

# Parts of it were sent, and are nowhere any more.
mount_ckptfs part_size=5M memory=64M
expect_eq "ok ok ok ok 20971520 ok ok" \
	"$(fdo open wct "$mnt/cut" write 31000000 unlink "$mnt/cut" ftruncate 20971520 fsize write 6000000 close)" \
	"a file that lost its name after parts of it were sent is cut where one of them begins"
printf new >"$mnt/new"
expect_eq "ok ok ok ok 5242880 ok" \
	"$(fdo open wct "$mnt/cut" write 31000000 rename "$mnt/new" "$mnt/cut" ftruncate 5242880 fsize close)" \
	"a file that was replaced after parts of it were sent is cut so, too"
expect_eq "new " "$(cat "$mnt/cut") $(store_uploads)" "nothing of what was cut without a name is at the store"
rm "$mnt/cut"
umount_ckptfs
