#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# archived.sh: objects in an archive can be seen, replaced and removed; what needs their bytes fails, says what to do,
# and changes nothing.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 25
CKPTFS_TEST_BUCKET=bkt
head -c 12000000 /dev/urandom >"$tmp/data"
sim_start --data "$tmp/objects"
CKPTFS_TEST_ENDPOINT=$url

put() { req PUT "/bkt/$1" -T "$2" ${3:+-H "x-amz-storage-class: $3"} >/dev/null; }
put cold "$tmp/data" GLACIER
put frozen "$tmp/data" DEEP_ARCHIVE
put dir/a "$tmp/data"
put dir/b "$tmp/data" GLACIER
put dir/c "$tmp/data"
put old "$tmp/data" GLACIER
put gone "$tmp/data" GLACIER
objects_now() { req GET '/bkt?list-type=2' >/dev/null; tr '<' '\n' <"$tmp/body" | sed -n 's/^\(Key\|ETag\|StorageClass\)>//p' | xargs; }
before=$(objects_now)

mount_ckptfs part_size=5M attr_ttl=0
expect_eq 12000000 "$(stat -c %s "$mnt/cold")" "an object in an archive has its size"
# fails NAME COMMAND: the command fails with EACCES, and every object is as it was
fails() {
	name=$1
	shift
	"$@" >"$tmp/said" 2>&1
	check "$name fails while the object is in an archive" grep -qE 'Permission denied|EACCES' "$tmp/said"
	expect_eq "$before" "$(objects_now)" "$name changes nothing"
}
expect_log 'get bkt/(cold|frozen).* 403 InvalidObjectState: .* restore it first'
expect_log 'copy bkt/.* 403 InvalidObjectState: .* restore it first'
expect_log 'set-metadata bkt/cold.* 403 InvalidObjectState: .* restore it first'
expect_log '(cold|frozen|copied): not published, .*: Permission denied'
expect_log 'part-copy bkt/.* 403 InvalidObjectState: .* restore it first'
# promise: limits.archive
fails "reading" cat "$mnt/cold"
expect_eq 1 "$(grep -c 'store: get bkt/cold' "$mount_log")" "the log has one line on all ranges of a file"
fails "a rename" mv "$mnt/cold" "$mnt/warm"
expect_eq "cold dir frozen gone old" "$(ls "$mnt" | xargs)" "a rename that failed shows in no name"
fails "a rename of its directory" mv "$mnt/dir" "$mnt/there"
expect_eq "a b c" "$(ls "$mnt/dir" | xargs)" "a directory that is not renamed has all its files"
fails "a change of its mode" chmod 600 "$mnt/cold"
fails "an append" fdo open wa "$mnt/cold" write 5 close
fails "a change in its middle" fdo open w "$mnt/frozen" pwrite 100 6000000 close
fails "a copy" fdo open r "$mnt/frozen" slot 1 open wct "$mnt/copied" copyrange 0 0 0 12000000 close
expect_eq 0 "$(ls "$mnt" | grep -c copied)" "a copy that failed leaves no file"
fails "a truncation" truncate -s 6000000 "$mnt/cold"

# promise: limits.archive
echo new >"$mnt/old"
rm "$mnt/gone"
expect_eq "new 200 404" "$(cat "$mnt/old") $(req GET /bkt/old) $(req HEAD /bkt/gone)" "an object in an archive is replaced and removed"
for key in cold dir/b; do req POST "/bkt/$key?restore" -d '<RestoreRequest><Days>1</Days></RestoreRequest>' >/dev/null; done
check "what was restored is read" cmp "$tmp/data" "$mnt/cold"
mv "$mnt/dir" "$mnt/there"
check "what was restored is renamed with its directory" cmp "$tmp/data" "$mnt/there/b"
umount_ckptfs
