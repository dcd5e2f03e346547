#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_listing.sh: listings of Google's carry metadata, so nothing that is listed is asked for.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 15
start_store
mount_ckptfs
mkdir "$mnt/d"
objects fill d/f 1500
echo link >"$mnt/d/a"
chmod 4751 "$mnt/d/a"
chown 12:34 "$mnt/d/a"
touch -d @1000000000 "$mnt/d/a"
ln -s a "$mnt/d/b"
mkfifo "$mnt/d/c"
mkdir "$mnt/dirs"
(cd "$mnt/dirs" && mkdir a b c d e f g h && chmod 2750 a && touch -d @1000000000 a)
for name in implicit/x a/x a/y/z; do store_put "dirs/$name" </dev/null; done
umount_ckptfs

mount_ckptfs attr_ttl=60s
stat "$mnt" >/dev/null
requests_mark
expect_eq "1503 1500" "$(ls -l "$mnt/d" >"$tmp/ls"; awk 'NR > 1' "$tmp/ls" | wc -l) $(grep -c '^-rw-r--r--.* f[0-9]*$' "$tmp/ls")" \
	"files are listed with their attributes"
expect_eq "-rwxr-x--x 12 34 1000000000|lrwxrwxrwx|prw-r--r--" \
	"$(stat -c '%A %u %g %Y' "$mnt/d/a")|$(stat -c %A "$mnt/d/b")|$(stat -c %A "$mnt/d/c")" "files of all kinds are listed with their attributes"
# promise: list.gs
expect_eq 0 "$(requests_of HeadObject | sed 's/^[12]$/0/')" "files are listed without a request for each of them"
requests_mark
expect_eq 1503 "$(cd "$mnt/d" && stat -c %a -- * | wc -l)" "files are looked at one by one"
expect_requests "looks after a listing ask for nothing" HeadObject=0
expect_eq "p l f" "$(find "$mnt/d" -name '[cb]' -printf '%y\n' | sort -r | xargs) $(find "$mnt/d" -name f00000 -printf %y)" \
	"files are listed with their types"

stat "$mnt/dirs" >/dev/null
requests_mark
expect_eq "9 drwxr-s--- drwxr-xr-x" \
	"$(ls -l "$mnt/dirs" | awk 'NR > 1 { n++; if ($NF == "a") a = $1; if ($NF == "implicit") i = $1 } END { print n, a, i }')" \
	"directories are listed with a marker or without"
expect_requests "looks at directories cost nothing but the listing" HeadObject=0
expect_eq "1000000000 x y" "$(stat -c %Y "$mnt/dirs/a") $(ls "$mnt/dirs/a" | xargs)" "directories are what they were"
expect_eq "ok ENOTEMPTY" "$(fdo rmdir "$mnt/dirs/b" rmdir "$mnt/dirs/a")" "directories can be removed when they are empty"

chmod 600 "$mnt/d/a"
expect_eq "600" "$(ls -l "$mnt/d" >"$tmp/ls"; stat -c %a "$mnt/d/a")" "a change that was made here stands"
umount_ckptfs
mount_ckptfs attr_ttl=0
expect_eq "-rw-------" "$(ls -l "$mnt/d" | awk '$NF == "a" && /^-/ { print $1 }')" "a change that was made here is told by the next listing"
umount_ckptfs
