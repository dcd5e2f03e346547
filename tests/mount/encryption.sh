#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# encryption.sh: whatever a mount writes, and however, is encrypted with the key that was named.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 36
CKPTFS_TEST_BUCKET=bkt
key=projects/p/locations/eu/keyRings/r/cryptoKeys/k
head -c 12000000 /dev/urandom >"$tmp/data"

# key_of NAME: the key that the store says an object is encrypted with.
key_of() {
	if on_gs; then
		req GET "/storage/v1/b/bkt/o/$1" >/dev/null
		sed -n 's/.*"kmsKeyName": *"\([^"]*\)".*/\1/p' "$tmp/body"
	else
		req GET "$at?session=" >/dev/null # of directory buckets
		req HEAD "$at/$1" -H "x-amz-s3session-token: $(element SessionToken)" >/dev/null
		field x-amz-server-side-encryption-aws-kms-key-id
	fi
}

# writes NAME SCHEME OPTION...: all ways to make an object with these options
writes() {
	name=$1 CKPTFS_TEST_SCHEME=$2
	shift 2
	sim_start --data "$tmp/objects.$name" --bucket "$CKPTFS_TEST_BUCKET" --protocol "$CKPTFS_TEST_SCHEME"
	at=/$CKPTFS_TEST_BUCKET
	CKPTFS_TEST_ENDPOINT=$url
	case $CKPTFS_TEST_BUCKET in *--x-s3) # which its host names, and no path
		CKPTFS_TEST_ENDPOINT=http://localhost:${url##*:}
		url=http://$CKPTFS_TEST_BUCKET.localhost:${url##*:} at='' ;;
	esac
	mount_ckptfs part_size=5M "$@"
	echo small >"$mnt/small"
	chmod 600 "$mnt/small"
	ln -s small "$mnt/link"
	mkdir "$mnt/dir"
	cp "$tmp/data" "$mnt/large"
	cp "$mnt/large" "$mnt/copied"
	cp "$tmp/data" "$mnt/longer"
	echo tail >>"$mnt/longer"
	cp "$tmp/data" "$mnt/first"
	mv "$mnt/first" "$mnt/moved"
	mkdir "$mnt/old"
	mv "$mnt/old" "$mnt/new"
	others=''
	for object in small link dir%2F new%2F large copied longer moved; do
		[ "$(key_of $object)" = "$key" ] || others="$others $object:$(key_of $object)"
	done
	expect_eq "" "$others" "$name: every object has the key"
	umount_ckptfs "$name: the daemon ends well and warned of nothing else"
	sim_stop
}

writes s3 s3 sse=aws:kms "sse_kms_key=$key"

# Of a directory bucket the session has the key, and copies, which it does not sign, have their own.
CKPTFS_TEST_BUCKET=dir--az1--x-s3
writes directory s3 sse=aws:kms "sse_kms_key=$key"
expect_eq 1 "$("$builddir/ckptctl" uploads list -o "endpoint=$url,sse=aws:kms" s3://dir--az1--x-s3 2>&1 |
	grep -c 'give sse_kms_key')" "a key that is needed has to be named"
expect_eq 1 "$("$builddir/ckptctl" uploads list -o "endpoint=$url,sse=aws:kms:dsse" s3://dir--az1--x-s3 2>&1 |
	grep -c 'directory bucket encrypts by')" "other ways to encrypt are refused"
CKPTFS_TEST_BUCKET=bkt
writes multipart gs "kms_key=$key"
writes compose gs "kms_key=$key" upload=compose
writes resumable gs "kms_key=$key" upload=resumable

# A bucket that wants objects encrypted otherwise says so with the status of a condition that does not hold.
CKPTFS_TEST_SCHEME=gs
for way in multipart compose resumable; do
	sim_start --data "$tmp/objects.forbids" --protocol gs
	head -c 6000000 "$tmp/data" | req PUT /bkt/there -T - >/dev/null
	sim_stop
	sim_start --data "$tmp/objects.forbids" --protocol gs --forbid-encryption google
	CKPTFS_TEST_ENDPOINT=$url
	mount_ckptfs part_size=5M upload=$way
	expect_eq "ok ok EACCES" "$(fdo open wcx "$mnt/new" write 5 close | xargs)" "$way: a new file that the bucket wants encrypted otherwise is EACCES"
	expect_eq EACCES "$(fdo open wct "$mnt/many" write 12000000 close | grep -o 'EACCES$')" "$way: so is a large one"
	expect_eq "ok ok EACCES EACCES" "$(fdo open wa "$mnt/there" write 5 close mkdir "$mnt/dir" | xargs)" "$way: so are an append and a directory"
	expect_eq 1 "$(cp "$mnt/there" "$mnt/copy" 2>&1 | grep -c 'Permission denied')" "$way: so is a copy"
	expect_log 'store: .*encryption enforcement configuration.*set kms_key or csek_file, or neither'
	expect_log '(new|many|there|copy): not published, .*: Permission denied'
	expect_eq there "$(ls "$mnt")" "$way: what was there stands"
	umount_ckptfs "$way: nothing else is warned of where objects are to be encrypted otherwise"
	mount_ckptfs part_size=5M upload=$way "kms_key=$key"
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/new" write 5 close | xargs)" "$way: a file that is encrypted as the bucket wants is saved"
	umount_ckptfs "$way: nothing is warned of where objects are encrypted as the bucket wants"
	sim_stop
	rm -r "$tmp/objects.forbids"
done
