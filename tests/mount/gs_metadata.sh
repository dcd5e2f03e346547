#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_metadata.sh: metadata that other programs gave an object in JSON, where names have a case and values any
# characters, stay through all that a mount does; of what cannot be kept, nothing is lost.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v jq >/dev/null || skip_all "jq is not installed"
plan 29
start_store
bucket=storage/v1/b/$CKPTFS_TEST_BUCKET/o
give() {
	printf '%s\r\n' --b 'Content-Type: application/json' '' "{\"name\":\"$1\",\"metadata\":$2}" \
		--b 'Content-Type: text/plain' '' bytes --b-- >"$tmp/related"
	curl -s -o "$tmp/out" -H 'Content-Type: multipart/related; boundary=b' --data-binary "@$tmp/related" \
		"$CKPTFS_TEST_ENDPOINT/upload/$bucket?uploadType=multipart"
}
theirs() { curl -s "$CKPTFS_TEST_ENDPOINT/$bucket/$1" | jq -cS '.metadata | del(.mode, .uid, .gid, .mtime, .ctime)'; }
refused() { LC_ALL=C "$@" 2>&1 | grep -c 'not permitted'; }
append() { sh -c 'echo more >>"$1"' sh "$1"; }
head -c 12000000 /dev/urandom >"$tmp/data"
kept='{"Owner":"Zoë","bell":"\u0007","two words":" x "}'

give f "$kept"
mount_ckptfs part_size=5M
chmod 640 "$mnt/f"
# promise: gs.attrs
expect_eq "640 $kept" "$(stat -c %a "$mnt/f") $(theirs f)" "a change of mode leaves the metadata of others"
append "$mnt/f"
expect_eq "bytesmore $kept" "$(store_cat f) $(theirs f)" "an append to a small file leaves the metadata of others"
requests_mark
cat "$tmp/data" >"$mnt/f"
same "a file of several parts takes the place of another" "$tmp/data" f
# promise: gs.metadata
expect_eq "$kept" "$(theirs f)" "a file of several parts has the metadata of others that its predecessor had"
expect_requests "what no header carries is not sent in one" CreateMultipartUpload=0 objects.compose=1
cp "$tmp/data" "$tmp/longer"
append "$tmp/longer"
append "$mnt/f"
same "an append composes" "$tmp/longer" f
expect_eq "$kept" "$(theirs f)" "an append to a large file leaves the metadata of others"
mv "$mnt/f" "$mnt/g"
expect_eq "$kept" "$(theirs g)" "a rename takes the metadata of others along"

# A custom time is of the object, whatever bytes it has.
at=2031-02-03T04:05:06Z
timed() { curl -s "$CKPTFS_TEST_ENDPOINT/$bucket/$1" | jq -r .customTime; }
cp "$tmp/data" "$mnt/timed"
curl -s -o "$tmp/out" -X PATCH -H 'Content-Type: application/json' -d "{\"customTime\":\"$at\"}" \
	"$CKPTFS_TEST_ENDPOINT/$bucket/timed"
expect_eq $at "$(timed timed)" "another program gives an object its own time"
append "$mnt/timed"
expect_eq $at "$(timed timed)" "an append leaves that time"
chmod 600 "$mnt/timed"
expect_eq $at "$(timed timed)" "a change of mode leaves that time"
echo whole >"$mnt/timed"
expect_eq $at "$(timed timed)" "a file that is written anew has that time"
umount_ckptfs
mount_ckptfs part_size=5M upload=resumable
cat "$tmp/data" >"$mnt/g"
expect_eq "$kept" "$(theirs g)" "a file that is sent through a session has the metadata of others"
umount_ckptfs

# A name that would be a header's, and more than a mount holds of one file.
large=$(printf '%03000d' 0)
for metadata in '{":public":"yes","seen":"1"}' "{\"large\":\"$large\",\"seen\":\"1\"}"; do
	give h "$metadata"
	mount_ckptfs
	expect_log "metadata that cannot be kept here"
	chmod 640 "$mnt/h"
	expect_eq "640 $metadata" "$(stat -c %a "$mnt/h") $(theirs h)" "a change of mode leaves even what cannot be kept"
	# promise: attrs.hidden
	expect_eq 1 "$(refused append "$mnt/h")" "a write that would drop metadata is refused"
	mv "$mnt/h" "$mnt/i"
	umount_ckptfs
	mount_ckptfs attr_ttl=60s
	expect_log "metadata that cannot be kept here"
	expect_eq "-rw-r-----" "$(ls -l "$mnt" | awk '$NF == "i" { print $1 }')" "a listing shows the mode beside what cannot be kept"
	expect_eq "1 $metadata" "$(refused append "$mnt/i") $(theirs i)" "a write is refused, too, of a file that was only listed"
	umount_ckptfs
done

# What is packed is read as it is stored, never unpacked on the way.
gzip -c "$tmp/data" >"$tmp/packed"
curl -s -X PUT -H 'Content-Encoding: gzip' -T "$tmp/packed" "$CKPTFS_TEST_ENDPOINT/$CKPTFS_TEST_BUCKET/packed"
mount_ckptfs
check "a file that is kept with gzip encoding is read as it is" cmp "$tmp/packed" "$mnt/packed"
umount_ckptfs
