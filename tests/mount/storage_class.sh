#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# storage_class.sh: the storage class, the tags and the bucket key of what a mount writes, however.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 26
CKPTFS_TEST_BUCKET=bkt
head -c 12000000 /dev/urandom >"$tmp/data"
sim_start --data "$tmp/objects"
CKPTFS_TEST_ENDPOINT=$url

# of NAME: class, number of tags, bucket key
of() {
	req HEAD "/bkt/$1" >/dev/null
	echo "$(field x-amz-storage-class):$(field x-amz-tagging-count):$(field x-amz-server-side-encryption-bucket-key-enabled)"
}
req PUT /bkt/theirs -d x -H 'x-amz-storage-class: STANDARD_IA' -H 'x-amz-tagging: a=b' >/dev/null
mount_ckptfs part_size=5M storage_class=INTELLIGENT_TIERING 'tags=team=ml&run=7%2F1' sse=aws:kms sse_kms_key=k bucket_key=on
echo small >"$mnt/small"
cp "$tmp/data" "$mnt/large"
cp "$mnt/large" "$mnt/copied"
echo tail >>"$mnt/large"
for object in small large copied; do
	expect_eq "INTELLIGENT_TIERING:2:true" "$(of $object)" "$object has what was asked for"
done
mv "$mnt/small" "$mnt/moved"
expect_eq "INTELLIGENT_TIERING:2:true" "$(of moved)" "a renamed file has what was asked for"
chmod 600 "$mnt/moved" "$mnt/theirs"
expect_eq "INTELLIGENT_TIERING:2:true" "$(of moved)" "a file with other attributes has what was asked for"
expect_eq "STANDARD_IA:1:true" "$(of theirs)" "what others wrote keeps its class and tags"
mv "$mnt/theirs" "$mnt/ours"
expect_eq "INTELLIGENT_TIERING:1:true" "$(of ours)" "a file of others has the class when it is copied"
echo more >>"$mnt/ours"
expect_eq "INTELLIGENT_TIERING:2:true" "$(of ours)" "a file of others has class and tags when it is written anew"
umount_ckptfs

# Without options: the class is that of the object, which a copy is told.
put() { req PUT "/bkt/$1" -d x -H "x-amz-storage-class: $2" -H 'x-amz-tagging: a=b' >/dev/null; }
mount_ckptfs attr_ttl=0
mkdir "$mnt/dir"
put file STANDARD_IA
put dir/below GLACIER_IR
mv "$mnt/file" "$mnt/dir/file"
expect_eq "STANDARD_IA:1:" "$(of dir/file)" "a file of others keeps its class when it is renamed"
req PUT /bkt/dir/ -d '' -H 'x-amz-tagging: a=b&c=d' -H 'x-amz-meta-mode: 16832' >/dev/null
mv "$mnt/dir" "$mnt/there"
# promise: attrs.metadata
expect_eq ":2: 700" "$(of there/) $(stat -c %a "$mnt/there")" "a directory of others keeps its tags and its mode when it is renamed"
chmod 750 "$mnt/there"
expect_eq ":2: 750" "$(of there/) $(stat -c %a "$mnt/there")" "a directory of others keeps its tags with other attributes"
chmod 755 "$mnt/there"
renamed_plain() { mkdir "$mnt/plain" && mv "$mnt/plain" "$mnt/named" && of named/; }
expect_eq "::" "$(renamed_plain)" "a directory without tags has none when it is renamed"
expect_eq "STANDARD_IA:1: GLACIER_IR:1:" "$(of there/file) $(of there/below)" \
	"files of others keep their classes when their directory is renamed"
chmod 600 "$mnt/there/file"
expect_eq "STANDARD_IA:1:" "$(of there/file)" "a file of others keeps its class with other attributes"
echo more >>"$mnt/there/file"
expect_eq "STANDARD_IA::" "$(of there/file)" "a file of others keeps its class when it is written"
# Such a file could be read, since it was restored; a copy in its class could not.
put cold GLACIER
put frozen DEEP_ARCHIVE
for key in cold frozen; do req POST "/bkt/$key?restore" -d '<RestoreRequest><Days>1</Days></RestoreRequest>' >/dev/null; done
mv "$mnt/cold" "$mnt/warm"
chmod 600 "$mnt/frozen"
expect_eq ":1: :1:" "$(of warm) $(of frozen)" "what was restored from an archive can still be read when it was changed"
umount_ckptfs

refused() { "$builddir/ckptctl" uploads list -o "endpoint=$url,$2" "s3://${3:-bkt}" 2>&1 | grep -c "$1"; }
expect_eq 1 "$(refused 'give one that can' storage_class=DEEP_ARCHIVE)" "a class that cannot be read back is refused"
expect_eq 1 "$(refused 'give at most 10' 'tags=a=b&&c=d')" "tags that are no tags are refused"
expect_eq 1 "$(refused 'add sse=aws:kms' bucket_key=on)" "a bucket key without a key is refused"
expect_eq 1 "$(refused 'a directory bucket has no tags' tags=a=b dir--az1--x-s3)" "tags of a directory bucket are refused"

# What is copied in parts: bodies are forgotten, so that it takes no room.
sim_stop
echo '[{"op": "GetObjectTagging", "key": "secret", "do": "status", "status": 403, "code": "AccessDenied"}]' >"$tmp/rules"
sim_start --null --faults "$tmp/rules"
CKPTFS_TEST_ENDPOINT=$url
head -c 600M /dev/zero | req PUT /bkt/source -T - >/dev/null
for object in big secret; do
	req POST "/bkt/$object?uploads" -H 'x-amz-tagging: a=b&c=d&e=f' -H 'x-amz-storage-class: STANDARD_IA' >/dev/null
	upload=$(element UploadId)
	req PUT "/bkt/$object?partNumber=1&uploadId=$upload" -d '' -H 'x-amz-copy-source: /bkt/source' >/dev/null
	echo "1 $(element ETag)" | part_list >"$tmp/list"
	req POST "/bkt/$object?uploadId=$upload" --data-binary "@$tmp/list" >/dev/null
done
mount_ckptfs tags=team=ml
mv "$mnt/big" "$mnt/moved"
expect_eq "STANDARD_IA:3:" "$(of moved)" "a file that is renamed in parts keeps its class and its tags"
expect_log 'the tags of secret cannot be read .*allow s3:GetObjectTagging'
mv "$mnt/secret" "$mnt/known"
expect_eq "STANDARD_IA::" "$(of known)" "a file whose tags cannot be read is renamed without"
expect_eq 2 "$(served GetObjectTagging)" "the store is asked for tags when it copies in parts"
umount_ckptfs
