#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# copies.sh: a file that is copied inside the mount moves at the store alone, and is right however it
# is copied.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 36
start_store
head -c 22000000 /dev/urandom >"$tmp/data"
head -c 1000 "$tmp/data" >"$tmp/small"
store_put large <"$tmp/data"
store_put small <"$tmp/small"
mount_ckptfs part_size=5M attr_ttl=0
cd "$mnt" || exit 1

requests_mark
# promise: copy.range
check "cp copies a large file" timeout 60 cp --reflink=auto large copy
expect_requests "no byte of a large copy comes here" GetObject=0 UploadPart=0 PutObject=0
# promise: copy.range
same "a copied large file has all bytes" "$tmp/data" copy
check "cp copies a small file" timeout 60 cp --reflink=auto small small2
same "a copied small file is at the store byte for byte" "$tmp/small" small2
requests_mark
check "cp replaces a file" timeout 60 cp large small2
expect_requests "cp replaces a file by one request" CopyObject=1 GetObject=0 UploadPart=0
same "a file that cp replaced has all bytes" "$tmp/data" small2
check "the mount reads a file that cp replaced" cmp "$tmp/data" small2

# A part, and more behind it.
{ head -c 12000000 "$tmp/data"; printf xxxxx; } >"$tmp/part"
expect_eq "ok ok ok 12000000 ok ok" \
	"$(fdo open r large slot 1 open wct part copyrange 0 0 0 12000000 pwrite 5 12000000 close)" \
	"a copy of a file's beginning is written on"
same "a copy that is written on publishes both" "$tmp/part" part
expect_eq "ok ok ok 12000000 10000000 ok" \
	"$(fdo open r large slot 1 open wct pieces copyrange 0 0 0 12000000 \
		copyrange 0 12000000 12000000 10000000 close)" "a file is copied in two pieces"
same "a file that is copied in two pieces has all bytes" "$tmp/data" pieces
{ head -c 100 "$tmp/data"; printf xxxxx; tail -c +106 "$tmp/data"; } >"$tmp/changed"
expect_eq "ok ok ok 22000000 ok 22000000 5 ok" \
	"$(fdo open r large slot 1 open +ct changed copyrange 0 0 0 22000000 pwrite 5 100 fsize \
		pread 5 100 close)" "a copy is changed before it is published"
same "a change of a copy shows before it is published" "$tmp/changed" changed
same "a change of a copy is not in what it was copied from" "$tmp/data" large

# A file that is there and empty is a version, which another host replaces or removes meanwhile.
for change in "copyrange 0 0 0 22000000" "copyrange 0 0 0 12000000" "copyrange 0 0 0 1000"; do
	: >empty
	# shellcheck disable=SC2086 # several words
	fdo_begin open r large slot 1 open w empty $change pause close
	printf theirs | store_put empty
	# promise: change.version
	fdo_ends "ok ok ok ${change##* } ok ESTALE" "an empty file that another host replaced is no target of a copy: $change"
	expect_eq theirs "$(store_cat empty)" "what another host put there stands: $change"
done
: >empty
fdo_begin open r large slot 1 open w empty copyrange 0 0 0 22000000 pause close
objects rm empty
fdo_ends "ok ok ok 22000000 ok ESTALE" "an empty file that another host removed is no target of a copy"
expect_eq "" "$(store_ls empty)" "a file that another host removed stays removed when one was copied to it"
: >empty
cp small doomed
fdo_begin open r doomed slot 1 open w empty copyrange 0 0 0 1000 pause close
objects rm doomed
fdo_ends "ok ok ok 1000 ok ESTALE" "a copy of what is gone is none, whatever its target is"
"$builddir/ckptctl" recover --force -o "endpoint=$CKPTFS_TEST_ENDPOINT" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" | cut -f 1,3,5 >"$tmp/kept"
expect_eq "$(printf 'published\t%s\tempty\n' 1000 12000000 22000000 22000000)" \
	"$(sort -k 2n "$tmp/kept")" "copies that lost to another host's file are kept"

# What the store cannot copy, the kernel does.
head -c 3000 "$tmp/data" >"$tmp/fresh"
expect_eq "ok ok ok ok ok 3000 ok" \
	"$(fdo src "$tmp/data" open +ct fresh write 3000 slot 1 open wct of_fresh \
		copyrange 0 0 0 3000 close)" "a file that is not published is copied"
same "a copy of a file that is not published is at the store byte for byte" "$tmp/fresh" of_fresh
expect_eq "ok ok ok ok 1000 ok" \
	"$(fdo open r large slot 1 open wct middle write 0 copyrange 0 500 0 1000 close)" \
	"a piece of the middle is copied to the beginning"
expect_eq "$(tail -c +501 "$tmp/data" | head -c 1000 | cksum)" "$(store_cat middle | cksum)" \
	"a file whose middle was copied to its beginning is at the store byte for byte"

# The original is replaced by another host, or copies are refused.
fdo_begin open r large slot 1 open wt small2 copyrange 0 0 0 22000000 pause close
printf other | store_put large
# promise: copy.changed
fdo_ends "ok ok ok 22000000 ok ESTALE" "a copy of a file that is gone is an error at close"
same "the old version stands after a copy of a file that is gone" "$tmp/data" small2
printf gone | store_put whole
store_put pieces2 <"$tmp/data"
fdo_begin open r whole slot 1 open wct copy2 copyrange 0 0 0 4 slot 2 open r pieces2 slot 3 open wct copy3 \
	copyrange 2 0 0 22000000 pwrite 5 100 pause slot 1 close slot 3 close
objects rm whole
objects rm pieces2
fdo_ends "ok ok ok 4 ok ok ok ok 22000000 ok ok ok ESTALE ok ESTALE" "a copy of a file that was removed is an error at close"
set_faults copies_denied
expect_eq "ok ok ok 22000000 EACCES" \
	"$(fdo open r copy slot 1 open wt small2 copyrange 0 0 0 22000000 close)" \
	"a copy that is refused is an error at close"
same "the old version stands after a copy that is refused" "$tmp/data" small2
set_faults
cd /
expect_log 'empty: what it was to be a copy of, a version of doomed, is gone'
expect_log 'empty: (its version .* is kept as|not published)'
expect_log 'copy[23]: not published, the version before it stands: Stale file handle: copy it again'
expect_log 'small2: not published, the version before it stands: (Stale file handle|Permission denied)'
expect_log 'store: .*(AccessDenied)'
umount_ckptfs
