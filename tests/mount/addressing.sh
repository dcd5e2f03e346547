#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# addressing.sh: buckets in the host's name, below a base path, and behind an access point. A name below
# localhost is this machine wherever it is looked up (RFC 6761).
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 28
export CKPTFS_TEST_ENDPOINT
head -c 12000000 /dev/urandom >"$tmp/data"
keys="--access-key $AWS_ACCESS_KEY_ID --secret-key $AWS_SECRET_ACCESS_KEY"
port() { echo "${url##*:}"; }

# works NAME: what a mount does with objects, seen past it by the path of the bucket
works() {
	cp "$tmp/data" "$mnt/large"
	echo small >"$mnt/small"
	echo tail >>"$mnt/large"
	mv "$mnt/small" "$mnt/moved"
	chmod 600 "$mnt/moved"
	mkdir "$mnt/dir"
	expect_eq "dir large moved" "$(ls "$mnt" | paste -sd' ')" "files are listed $1"
	{ cat "$tmp/data" && echo tail; } >"$tmp/longer"
	check "a file of several parts is read $1" cmp "$tmp/longer" "$mnt/large"
	expect_eq "small 600" "$(cat "$mnt/moved") $(stat -c %a "$mnt/moved")" "a file is renamed and changed $1"
	rm -r "$mnt/large" "$mnt/moved" "$mnt/dir"
	expect_eq "" "$(ls -A "$mnt")" "files are deleted $1"
}

# shellcheck disable=SC2086 # words
{
	sim_start --data "$tmp/objects" --domain localhost --base-path /gate/s3 --access-point ap=bkt \
		--bucket dir--az1--x-s3 --bucket ap--az1--xa-s3 $keys
}
CKPTFS_TEST_ENDPOINT=http://localhost:$(port)/gate/s3 CKPTFS_TEST_BUCKET=bkt
mount_ckptfs part_size=5M addressing_style=virtual
works "by the host of the bucket"
umount_ckptfs
mount_ckptfs part_size=5M
works "in the path"
umount_ckptfs
CKPTFS_TEST_BUCKET=dir--az1--x-s3
mount_ckptfs part_size=5M addressing_style=virtual
works "by the host of a directory bucket"
umount_ckptfs
CKPTFS_TEST_BUCKET=ap--az1--xa-s3
mount_ckptfs part_size=5M addressing_style=virtual
works "by the host of an access point of a directory bucket"
umount_ckptfs
: >"$tmp/requests"
CKPTFS_TEST_BUCKET=arn:aws:s3:eu-west-1:123456789012:accesspoint/ap
mount_ckptfs part_size=5M
works "behind an access point"
umount_ckptfs
CKPTFS_TEST_BUCKET=arn:aws:s3:eu-west-1:123456789012:accesspoint:ap/runs/one
mount_ckptfs
echo below >"$mnt/below"
umount_ckptfs
expect_eq 1 "$(grep -c 'PutObject bkt runs/one/below ' "$tmp/requests")" "a prefix behind an access point is that of the keys"

refused() { timeout 20 "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT" "s3://$1" "$mnt" 2>&1 | grep -c "$2"; }
expect_eq "1 1" "$(refused arn:aws:s3::123456789012:accesspoint/x.mrap 'several regions wants SigV4A') $(refused \
	arn:aws:s3-outposts:eu-west-1:123456789012:outpost/op-1/accesspoint/x 'give the ARN of an access point')" \
	"access points of other kinds are refused with the reason"
