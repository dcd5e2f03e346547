#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_dir.sh: directories get other names with all that is in them.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 31
start_store
mount_ckptfs
cd "$mnt" || exit 1

mkdir -p ckpt.tmp/a/b ckpt.tmp/empty
chmod 2750 ckpt.tmp/a/b
printf 1 >ckpt.tmp/one
printf 2 >ckpt.tmp/a/two
printf 3 >ckpt.tmp/a/b/three
inos=$(stat -c %i ckpt.tmp ckpt.tmp/a/two)
# promise: rename.dir
expect_eq "ok ENOENT" "$(fdo rename ckpt.tmp ckpt-1 size ckpt.tmp)" "a directory gets another name"
expect_eq "ckpt-1/ ckpt-1/a/ ckpt-1/a/b/ ckpt-1/a/b/three ckpt-1/a/two ckpt-1/empty/ ckpt-1/one" \
	"$(store_ls | xargs)" "a renamed directory has all that is in it"
expect_eq "123" "$(cat ckpt-1/one ckpt-1/a/two ckpt-1/a/b/three)" "a renamed directory is whole"
expect_eq "$inos" "$(stat -c %i ckpt-1 ckpt-1/a/two)" "a renamed directory keeps inode numbers"
expect_eq "ckpt-1" "$(ls)" "the kernel knows at once that a directory is renamed"
mkdir ckpt.tmp
expect_eq "" "$(ls -A ckpt.tmp)" "a new directory of the old name is empty"

printf x >ckpt.tmp/x
expect_eq "ENOTEMPTY ENOTEMPTY" "$(fdo rename ckpt.tmp ckpt-1 rename ckpt-1 ckpt.tmp)" \
	"a directory takes the place of no directory with files"
rm ckpt.tmp/x
expect_eq "EEXIST" "$(fdo rename2 n ckpt-1 ckpt.tmp)" "a directory with NOREPLACE takes the place of none at all"
requests_mark
expect_eq "ok 2" "$(fdo rename ckpt-1 ckpt.tmp) $(cat ckpt.tmp/a/two)" "a directory takes the place of an empty one"
if on_gs; then set -- objects.move=7 CopyObject=0 PutObject=1 DeleteObjects=0 DeleteObject=1
else set -- CopyObject=3 PutObject=6 DeleteObjects=1 DeleteObject=1; fi
expect_requests "a rename goes in batches, and markers are made anew, or by moves" "$@"
expect_eq "EINVAL EINVAL" "$(fdo rename ckpt.tmp ckpt.tmp/x rename ckpt.tmp ckpt.tmp/a/b/x)" "a directory is not renamed into itself"
expect_eq "ENOTEMPTY" "$(fdo rename ckpt.tmp/a ckpt.tmp)" "a directory is not renamed over one that it is in"
printf f >file
expect_eq "ENOTDIR EISDIR" "$(fdo rename ckpt.tmp file rename file ckpt.tmp)" "a file is not renamed over a directory"
mkdir deep
expect_eq "ok 3" "$(fdo rename ckpt.tmp/a deep/a) $(cat deep/a/b/three)" "a directory moves to another directory"
expect_eq "ENOENT" "$(fdo size ckpt.tmp/a)" "a directory moves out of another directory"
mkdir e1
requests_mark
expect_eq "ok ok" "$(fdo rename e1 e2 rmdir e2)" "an empty directory is renamed"
if on_gs; then set -- PutObject=0 objects.move=1; else set -- PutObject=1 CopyObject=0; fi
expect_requests "an empty directory is renamed without a record" "$@"

# What another host made.
fdo size other >/dev/null
printf y | store_put other/y
expect_eq "ENOTEMPTY y" "$(fdo rename deep other) $(store_cat other/y)" "a directory that another host made is in the way"
printf i | store_put implicit/sub/i
expect_eq "ok i" "$(fdo rename implicit explicit) $(cat explicit/sub/i)" "an implicit directory is renamed"

# A reader, and a program that is in there.
head -c 30000000 /dev/urandom >"$tmp/data"
mkdir big
cp "$tmp/data" big/data
forget_pages big/data
(cd big && mkfifo "$tmp/go" && exec 3<data && : >"$tmp/ready" && read -r _ <"$tmp/go" && cksum <&3 &&
	cat ../big2/name && ls) >"$tmp/inside" 2>&1 &
inside=$!
wait_for 20 test -e "$tmp/ready"
printf name >big/name
expect_eq "ok" "$(fdo rename big big2)" "a directory in use is renamed"
echo >"$tmp/go"
wait $inside
expect_eq "$(cksum <"$tmp/data") namedata name " "$(tr -s ' \n' ' ' <"$tmp/inside")" "a process in a renamed directory stays, and reads on"

many=2500 # pages enough; under a sanitizer each takes its time
! sanitized || many=1100
objects fill many/f $many
mkdir many/sub
expect_eq "ok" "$(fdo rename many lots)" "a directory of many pages is renamed"
# promise: rename.dir-steps
expect_eq "$((many + 1)) 0" "$(store_ls lots/ | wc -l) $(store_ls many | wc -l)" "a renamed directory of many pages has all files"
expect_eq "$((many + 1)) 1099" "$(ls lots | wc -l) $(cat lots/f01099)" "a renamed directory of many pages is shown"
expect_eq "ok $((many + 1))" "$(fdo rename lots many) $(ls many | wc -l)" "a directory of many pages is renamed back"
expect_eq "" "$(store_ls .ckptfs)" "no record is left"

# promise: names.own
expect_eq "EPERM ENOENT" "$(fdo rename many .ckptfs) $(fdo size .ckptfs)" "the mount's own name is refused"
cd /
umount_ckptfs
mount_ckptfs
expect_eq "big2 ckpt.tmp deep explicit file many other" "$(ls "$mnt" | xargs)" "a later mount shows the same directories"
expect_eq 2750 "$(stat -c %a "$mnt/deep/a/b")" "a later mount shows the directories' permissions"
umount_ckptfs
