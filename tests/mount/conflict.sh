#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conflict.sh: two mounts change one file. A change that was made on a version that is gone is not
# published: the other's object stands, and the bytes are kept. Whole rewrites go by the last close.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 38
start_store
mount_ckptfs part_size=5M attr_ttl=0
mkdir "$tmp/mnt2"
"$builddir/ckptfs" -f -o "$mount_options" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$tmp/mnt2" \
	2>"$tmp/mount2.log" &
second=$!
at_exit 'umount -l "$tmp/mnt2" 2>/dev/null; kill -KILL $second 2>/dev/null'
check "two mounts of one bucket stand" wait_for 60 grep -q " $tmp/mnt2 fuse.ckptfs " /proc/self/mounts
other=$tmp/mnt2
head -c 12000000 /dev/urandom >"$tmp/data"
ctl() { "$builddir/ckptctl" recover -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$@"; }
fields() { cut -f 1,3,5 | tr '\t' ' ' | sort; }
kept_line() { grep -c "error: $1: its version .* is kept as" "$mount_log"; }

# Every byte of it was sent before the other came.
head -c 12000000 /dev/zero | store_put large
fdo_begin src "$tmp/data" open w "$mnt/large" write 12000000 pause close
printf theirs >"$other/large"
# promise: change.version, errno.ESTALE
fdo_ends "ok ok ok ok ESTALE" "an overwritten file that another mount replaced: close says ESTALE"
expect_eq "theirs theirs theirs" "$(store_cat large) $(cat "$mnt/large") $(cat "$other/large")" \
	"the other's object stands, here and there, instead of an overwrite"
expect_eq large "$(store_uploads)" "the upload of a file that was replaced is kept"
expect_eq 1 "$(kept_line large)" "the log has one line that says so"

# A small one, of which all is here.
fdo_begin src "$tmp/data" open wct "$mnt/small" write 100 fsync write 50 pause fsync close
printf theirs >"$other/small"
# promise: change.version
fdo_ends "ok ok ok ok ok ok ESTALE ESTALE" "a small file that another replaced: fsync and close say ESTALE"
expect_eq "theirs theirs" "$(store_cat small) $(cat "$mnt/small")" "the other's object stands instead of a small file"
expect_eq 1 "$(kept_line small)" "the log has one line about a small file"
ctl >"$tmp/out"
expect_eq 2 $? "ckptctl says that changes are kept"
expect_eq "kept 12000000 large
kept 150 small" "$(fields <"$tmp/out")" "ckptctl names the changes that are kept"
expect_eq "large small" "$(ls "$mnt" | xargs)" "the mount shows nothing of changes that are kept"
ctl --force >"$tmp/out"
expect_eq "0 published 12000000 large
published 150 small" "$? $(fields <"$tmp/out")" "ckptctl publishes changes that are kept"
same "the large file that ckptctl published is what was written" "$tmp/data" large
expect_eq "$(head -c 150 "$tmp/data" | cksum)" "$(store_cat small | cksum)" "the small file that ckptctl published is what was written"
expect_eq "$(cksum <"$tmp/data")" "$(cksum <"$mnt/large")" "the mount shows what ckptctl published"
expect_eq " " "$(store_ls .ckptfs/) $(store_uploads)" "nothing is left over after ckptctl published"

store_put deleted <"$tmp/data"
fdo_begin src "$tmp/data" open w "$mnt/deleted" write 12000000 pause close
rm "$other/deleted"
fdo_ends "ok ok ok ok ESTALE" "an overwritten file that another mount deleted: close says ESTALE"
expect_eq "" "$(store_ls deleted)" "a file that another mount deleted stays deleted"
ctl --discard >"$tmp/out"
expect_eq "0 discarded 12000000 deleted" "$? $(fields <"$tmp/out")" "ckptctl discards what was kept"
expect_eq " " "$(store_ls .ckptfs/) $(store_uploads)" "nothing is left over after ckptctl discarded"

# An empty version is one, too.
for change in "write 5" "ftruncate 9"; do
	: >"$mnt/empty"
	# shellcheck disable=SC2086 # two words
	fdo_begin open wa "$mnt/empty" $change pause close
	printf theirs >"$other/empty"
	# promise: change.version
	fdo_ends "ok ok ok ESTALE" "an empty file that another mount replaced: close says ESTALE"
	expect_eq theirs "$(store_cat empty)" "$change: the other's object stands instead of an empty file's"
done
: >"$mnt/gone"
fdo_begin open wa "$mnt/gone" write 5 pause close
rm "$other/gone"
fdo_ends "ok ok ok ESTALE" "an empty file that another mount deleted: close says ESTALE"
expect_eq "" "$(store_ls gone)" "an empty file that another mount deleted stays deleted"
ctl --discard >"$tmp/out"

# An upload is found by the name that it was begun with.
: >"$mnt/before"
fdo_begin src "$tmp/data" open wa "$mnt/before" write 12000000 pause close
expect_eq ok "$(fdo rename "$mnt/before" "$mnt/after")" "a file is renamed after parts of it were sent"
printf theirs >"$other/after"
# promise: change.version
fdo_ends "ok ok ok ok ESTALE" "a renamed file that another mount replaced: close says ESTALE"
ctl --force >"$tmp/out"
expect_eq "0 published 12000000 before" "$? $(fields <"$tmp/out")" "ckptctl publishes a change that is kept of a renamed file"
same "the renamed file that ckptctl published is what was written" "$tmp/data" before

# Whole rewrites: the last close wins.
printf old | store_put whole
fdo_begin open wt "$mnt/whole" write 7000000 pause close
printf theirs >"$other/whole"
fdo_ends "ok ok ok ok" "a file that both rewrite: both closes succeed"
# promise: change.anew
expect_eq 7000000 "$(objects size whole)" "the last of two rewrites is there"
fdo_begin open wct "$mnt/created" write 10 pause close
printf theirs >"$other/created"
fdo_ends "ok ok ok ok" "a file that both create: both closes succeed"
# promise: change.anew
expect_eq xxxxxxxxxx "$(store_cat created)" "the last of two creations is there"
fdo_begin open wcx "$mnt/once" write 10 pause close
printf theirs >"$other/once"
fdo_ends "ok ok ok EEXIST" "the exclusive creation that came later fails"
expect_eq theirs "$(store_cat once)" "the first creation is there after an exclusive one failed"
expect_log '(large|small|deleted|empty|gone|after): its version .* is kept as'
expect_log '(tail|once): not published'
umount "$other"
wait $second
expect_eq 0 $? "the other daemon ends well"
umount_ckptfs
