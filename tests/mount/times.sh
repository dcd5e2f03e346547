#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# times.sh: times are set to the nanosecond, kept by the tools that keep them, and survive a mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 22
start_store
mount_ckptfs part_size=5M
stamps() { (cd "$mnt" && stat -c '%.X %.Y %n' "$@"); }

echo x >"$mnt/f"
touch -d @1234567890.123456789 "$mnt/f"
expect_eq "1234567890.123456789 1234567890.123456789 f" "$(stamps f)" "touch sets both times to the nanosecond"
# promise: attrs.mtime
expect_eq "mtime=1234567890.123456789" "$(objects meta f | grep mtime)" "both times travel with the object"
touch -m -d @5.5 "$mnt/f"
touch -a -d @6.25 "$mnt/f"
expect_eq "6.250000000 5.500000000 f" "$(stamps f)" "one time is set and leaves the other alone"
touch -d '1960-01-02 UTC' "$mnt/f"
expect_eq -315532800 "$(stat -c %Y "$mnt/f")" "a time before 1970 is set"
before=$(stat -c %.Z "$mnt/f")
chmod 600 "$mnt/f"
check "a change of attributes moves ctime" test "$(stat -c %.Z "$mnt/f")" != "$before"
expect_eq -315532800 "$(stat -c %Y "$mnt/f")" "a change of attributes does not move mtime"
now=$(date +%s)
touch "$mnt/f"
check "touch sets the present time" test "$(stat -c %Y "$mnt/f")" -ge "$now"

mkdir "$tmp/from" "$tmp/from/d"
echo a >"$tmp/from/a"
head -c 12000000 /dev/urandom >"$tmp/from/large"
ln -s a "$tmp/from/link"
echo b >"$tmp/from/d/b"
chmod 640 "$tmp/from/a"
touch -d @1000000000.25 "$tmp/from/a" "$tmp/from/large" "$tmp/from/d/b"
touch -h -d @1000000001 "$tmp/from/link"
touch -d @1000000002 "$tmp/from/d" "$tmp/from"
tree() { (cd "$1" && find . -printf '%M %U %G %y %T@ %l %p\n' | LC_ALL=C sort -k7); }
tree "$tmp/from" >"$tmp/want"

cp -a "$tmp/from" "$mnt/cp"
tree "$mnt/cp" >"$tmp/got"
check "cp -a keeps times" diff "$tmp/want" "$tmp/got"
mkdir "$mnt/tar"
tar -C "$tmp/from" --format=posix -cf - . | tar -C "$mnt/tar" -xpf - 2>"$tmp/err"
tree "$mnt/tar" >"$tmp/got"
check "tar keeps times" diff "$tmp/want" "$tmp/got"
if command -v rsync >/dev/null; then
	rsync -a "$tmp/from/" "$mnt/rsync/"
	tree "$mnt/rsync" >"$tmp/got"
	check "rsync -a keeps times" diff "$tmp/want" "$tmp/got"
	expect_eq "" "$(rsync -ain "$tmp/from/" "$mnt/rsync/")" "rsync -a finds nothing to do afterwards"
else
	skip "rsync -a keeps times" "rsync is not installed"
	skip "rsync -a finds nothing to do afterwards" "rsync is not installed"
	cp -a "$tmp/from" "$mnt/rsync"
fi
check "copied files have the same bytes" cmp "$tmp/from/large" "$mnt/cp/large"
before=$(stat -c %.Y "$mnt/cp")
echo c >"$mnt/cp/c"
# promise: attrs.mtime
check "a new name moves its directory's mtime" test "$(stat -c %.Y "$mnt/cp")" != "$before"
mkdir "$mnt/cp/sub" "$mnt/other"
before=$(stat -c %.Y "$mnt/cp" "$mnt/other")
fdo rename "$mnt/cp/sub" "$mnt/other/sub" >/dev/null
check "a directory that moves moves the mtime of both directories" sh -c '
	set -- $1 $2; [ $# = 4 ] && [ "$1" != "$3" ] && [ "$2" != "$4" ]' sh "$before" "$(stat -c %.Y "$mnt/cp" "$mnt/other")"
rm "$mnt/cp/c"
stamps f cp/a cp/large cp/d/b tar/large rsync/a >"$tmp/before"
umount_ckptfs

mount_ckptfs
stamps f cp/a cp/large cp/d/b tar/large rsync/a >"$tmp/after"
# promise: attrs.kept
check "another mount shows the same times" diff "$tmp/before" "$tmp/after"
tree "$mnt/rsync" >"$tmp/got"
check "another mount shows the same links and modes" diff "$tmp/want" "$tmp/got"
objects mark odd mtime=1.5 mode=junk
expect_eq "1.500000000 644" "$(stat -c '%.Y %a' "$mnt/odd")" "a time that cannot be read is left out"
umount_ckptfs

# A listing may tell fractions of a second, and what tells of one object alone does not.
for name in 1 2 3; do printf x | store_put plain/$name; done
shown() { (cd "$mnt/plain" && stat -c %.Y 1 2 3 | xargs); }
mount_ckptfs
asked=$(shown)
umount_ckptfs
mount_ckptfs listed_attrs=assume
ls "$mnt/plain" >/dev/null
# promise: attrs.mtime
expect_eq "$asked" "$(shown)" "a mount that listed a file and one that asked for it show one time"
umount_ckptfs
