#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# content_type.sh: the media type of what a mount writes, however, on S3 and on Google Cloud Storage.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 21
CKPTFS_TEST_BUCKET=bkt
head -c 12000000 /dev/urandom >"$tmp/data"

type_of() {
	if [ "$CKPTFS_TEST_SCHEME" = gs ]; then
		req GET "/storage/v1/b/bkt/o/$1" >/dev/null
		sed -n 's/.*"contentType": *"\([^"]*\)".*/\1/p' "$tmp/body"
	else
		req HEAD "/bkt/$1" >/dev/null
		field content-type
	fi
}

for CKPTFS_TEST_SCHEME in s3 gs; do
	usual=binary/octet-stream
	[ $CKPTFS_TEST_SCHEME = s3 ] || usual=application/octet-stream
	on="on $CKPTFS_TEST_SCHEME"
	sim_start --data "$tmp/$CKPTFS_TEST_SCHEME" --protocol $CKPTFS_TEST_SCHEME
	CKPTFS_TEST_ENDPOINT=$url
	mount_ckptfs part_size=5M
	echo '{}' >"$mnt/config.json"
	cp "$tmp/data" "$mnt/large.csv"
	cp "$tmp/data" "$mnt/model.safetensors"
	mkdir "$mnt/dir.json"
	expect_eq "application/json text/csv" "$(type_of config.json) $(type_of large.csv)" "a file has the type of its suffix $on"
	expect_eq "$usual" "$(type_of model.safetensors)" "a file whose suffix means nothing has the usual type $on"
	chmod 600 "$mnt/config.json"
	echo tail >>"$mnt/large.csv"
	expect_eq "application/json text/csv" "$(type_of config.json) $(type_of large.csv)" "a file that is changed keeps its type $on"
	mv "$mnt/config.json" "$mnt/config.bak"
	chmod 640 "$mnt/config.bak"
	expect_eq "application/json" "$(type_of config.bak)" "a file that is renamed, and then changed, keeps its type $on"
	umount_ckptfs
	mount_ckptfs content_type=text/x-own
	echo a >"$mnt/a.json"
	expect_eq text/x-own "$(type_of a.json)" "a file has the type that was asked for $on"
	echo more >>"$mnt/config.bak"
	expect_eq application/json "$(type_of config.bak)" "a file that has a type keeps it $on"
	umount_ckptfs
	mount_ckptfs content_type=none
	echo b >"$mnt/b.json"
	expect_eq "$usual" "$(type_of b.json)" "a file has the usual type when none is to be given $on"
	umount_ckptfs
	sim_stop
done
expect_eq 1 "$("$builddir/ckptfs" -f -o "endpoint=$url,content_type=json" s3://bkt "$mnt" 2>&1 | grep -c 'is no media type')" \
	"what is no media type is refused"
