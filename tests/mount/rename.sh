#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename.sh: files get other names, at the store and at once.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 26
start_store
mount_ckptfs
cd "$mnt" || exit 1

printf one >0
fdo rename 0 a >/dev/null # the first one finds out whether the server's deletes mind conditions
requests_mark
expect_eq "ok ENOENT 3" "$(fdo rename a b size a size b)" "a file gets another name"
# promise: rename.file
expect_eq "b one" "$(store_ls) $(store_cat b)" "a file gets another name at the store, too"
if on_gs; then set -- objects.move=1; else set -- CopyObject=1 DeleteObject=1; fi
expect_requests "a rename is one copy and one delete, or one move" "$@"
mkdir d
expect_eq "ok one" "$(fdo rename b d/c) $(cat d/c)" "a file moves to another directory"
printf other >e
requests_mark
expect_eq "ok one" "$(fdo rename d/c e) $(cat e)" "a file takes the place of another"
# promise: rename.copy
expect_eq "d/ e" "$(store_ls | xargs)" "the old name of a file is gone"
expect_eq "one:e" "$(cat e):$(ls | grep -v d)" "the kernel knows a rename at once"

ino=$(stat -c %i e)
fdo rename e f >/dev/null
# promise: inode.stays
expect_eq "$ino" "$(stat -c %i f)" "a renamed file keeps its inode number"
printf new >e
expect_eq 1 "$([ "$(stat -c %i e)" != "$ino" ] && echo 1)" "a new file of the old name has its own inode number"
touched=$(stat -c %Y f)
fdo rename f g >/dev/null
expect_eq "$touched" "$(stat -c %Y g)" "a renamed file keeps its time"

expect_eq "EEXIST EEXIST" "$(fdo rename2 n g e rename2 n g d)" "NOREPLACE replaces nothing"
expect_eq "ok one" "$(fdo rename2 n g h) $(cat h)" "NOREPLACE renames onto a free name"
# promise: rename.exchange
expect_eq "EINVAL EINVAL" "$(fdo rename2 x h e rename2 x h d)" "nothing can be exchanged"
expect_eq "EISDIR ENOTDIR ENOENT" "$(fdo rename h d rename d h rename no b)" "a file is not renamed over a directory, nor a directory over a file"
expect_eq "ok ok" "$(fdo rename h h) $(fdo rename2 n e e2)" "a name is renamed to itself"

# Created elsewhere: the kernel believes that there is none.
fdo size new1 size new2 >/dev/null
printf elsewhere | store_put new1
expect_eq "EEXIST elsewhere" "$(fdo rename2 n h new1) $(store_cat new1)" \
	"NOREPLACE sees what another host created"
printf changed | store_put h
expect_eq "ok changed" "$(fdo rename h new2) $(store_cat new2)" \
	"a file is renamed as another host made it"
expect_eq changed "$(cat new2)" "a file that another host made is shown"

name=$(printf '%0250d' 0)
expect_eq "ENAMETOOLONG" "$(fdo rename new2 "${name}123456")" "a name that is too long is refused"
weird=$(printf 'a b+%%\303\274&=?#')
expect_eq "ok changed" "$(fdo rename new2 "$weird") $(cat "$weird")" "a file is renamed to any name"
expect_eq changed "$(store_cat "$weird")" "the store has any name as well"
rm -f "$weird" new1 e2
i=0
while [ $i -lt 20 ]; do
	printf 'version %d' $i >state.tmp && mv state.tmp state && [ "$(cat state)" = "version $i" ] || break
	i=$((i + 1))
done
expect_eq "20 version 19" "$i $(cat state)" "a file is replaced again and again"
expect_eq "d/ state" "$(store_ls | xargs)" "nothing is left over when a file is replaced again and again"

seq 100 | while read -r n; do : >"many$n"; done
seq 100 | xargs -P 8 -I N mv manyN d/manyN
expect_eq "100 1" "$(ls d | wc -l) $(ls | grep -c state)" "a hundred files that are renamed at once all arrive"
expect_eq 100 "$(store_ls d/many | wc -l)" "many files are renamed at the store, too"
cd /
umount_ckptfs
