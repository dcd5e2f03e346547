#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_keys.sh: a mount with HMAC keys, where every request is one of the XML API.
CKPTFS_TEST_SCHEME=gs CKPTFS_TEST_KEYS=yes
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 18
start_store
mount_ckptfs part_size=5M attr_ttl=0 stall_timeout=120s
head -c 12000000 /dev/urandom >"$tmp/data"

mkdir "$mnt/d"
printf small >"$mnt/d/s"
chmod 640 "$mnt/d/s"
expect_eq "small 640 5" "$(cat "$mnt/d/s") $(stat -c '%a %s' "$mnt/d/s")" "a small file is written with keys"
requests_mark
cp "$tmp/data" "$mnt/d/large"
same "a large file is written with keys" "$tmp/data" d/large
expect_requests "a large file's parts are looked at before they get its name" CreateMultipartUpload=1 UploadPart=3 \
	CompleteMultipartUpload=1 CopyObject=1 DeleteObject=1
check "a large file that is written with keys reads back" cmp "$tmp/data" "$mnt/d/large"
expect_eq "EEXIST" "$(fdo open wcx "$mnt/d/s")" "a file is made only once"
printf theirs | store_put d/x
expect_eq "EEXIST" "$(fdo open wcx "$mnt/d/x")" "a file is made only once whoever made it"
cp "$tmp/data" "$tmp/longer"
echo tail >>"$tmp/longer"
echo tail >>"$mnt/d/large"
same "a file can grow by appends" "$tmp/longer" d/large
ln -s s "$mnt/d/link"
expect_eq "s" "$(readlink "$mnt/d/link")" "a link is made with keys"
expect_eq "large link s x" "$(ls "$mnt/d" | xargs)" "a listing shows files with keys"
expect_eq "ok" "$(fdo rename "$mnt/d" "$mnt/new")" "a directory is renamed"
expect_eq "small 640" "$(cat "$mnt/new/s") $(stat -c %a "$mnt/new/s")" "a renamed directory has what is in it"
rm -r "$mnt/new"

# "If you include VersionId, you target a specific version for deletion" (XML API, Delete multiple objects).
objects fill d/f 3
printf old | store_put d/big
set_faults rename_dir_copied_late
fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
renames=$!
wait_held PutObject
set_faults rename_dir_listed_late
wait_held ListObjectsV2
printf theirs | store_put d/big
set_faults
wait $renames
expect_eq "ok d/big theirs old" "$(cat "$tmp/renamed") $(store_ls d | grep -v '/$' | xargs) $(store_cat d/big) $(store_cat e/big)" \
	"what another host replaces in a directory that is renamed stays"
objects rm d/big
rm -r "$mnt/e"
# Each byte of it is three in a name that has it encoded.
deep=$(printf '%0100d' 0 | sed 's/0/ü/g')
deep=$deep/$deep/$deep/$deep
mkdir -p "$mnt/$deep"
check "a large file whose name is long is written" cp "$tmp/data" "$mnt/$deep/g"
same "a large file whose name is long is what was written" "$tmp/data" "$deep/g"
rm -r "$mnt/${deep%%/*}"
expect_eq "" "$(store_ls)$(store_uploads)" "rm -r leaves nothing"
expect_eq 0 "$(grep -cE ' (objects|folders|buckets)\.' "$requests")" "no request was of the JSON API"
umount_ckptfs

check "upload=compose is refused" sh -c '! "$1" -f -o "upload=compose,endpoint=$2" gs://b "$3" 2>"$4" &&
	grep -q "needs an OAuth token" "$4"' sh "$builddir/ckptfs" "$CKPTFS_TEST_ENDPOINT" "$mnt" "$tmp/err"
