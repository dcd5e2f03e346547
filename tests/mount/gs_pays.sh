#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_pays.sh: a bucket of Google's whose requesters pay is told the project in each request (Cloud Storage, "Requester
# Pays"): of the JSON API, the XML API, and those inside a batch.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 16
CKPTFS_TEST_BUCKET=bkt
head -c 12000000 /dev/urandom >"$tmp/data"
mkdir -p "$mnt"
for kind in flat hns; do
	[ $kind = flat ] && hns= || hns=--hns
	sim_start --data "$tmp/$kind" --protocol gs --requester-pays $hns
	export CKPTFS_TEST_ENDPOINT="$url"
	expect_eq "400 200" "$(req GET /storage/v1/b/bkt/o) $(req GET '/storage/v1/b/bkt/o?userProject=p')" "a bucket of kind $kind wants a project that pays"
	expect_eq "400 UserProjectMissing 200" "$(req GET /bkt) $(element Code) $(req GET /bkt -H 'x-goog-user-project: p')" "the XML API of kind $kind wants one, too"
	timeout 20 "$builddir/ckptfs" -f -o "endpoint=$url" gs://bkt "$mnt" >"$tmp/said" 2>&1
	check "a mount without a project is told to name one ($kind)" grep -q 'has its requesters pay: set billing_project' "$tmp/said"
	: >"$tmp/requests"
	mount_ckptfs part_size=5M billing_project=p attr_ttl=0
	cp "$tmp/data" "$mnt/large"
	mkdir "$mnt/dir"
	for n in 1 2 3; do echo $n >"$mnt/dir/$n"; done
	echo tail >>"$mnt/large"
	expect_eq "ok ok" "$(fdo rename "$mnt/large" "$mnt/moved") $(fdo rename "$mnt/dir" "$mnt/dir2")" "a file and a directory are renamed ($kind)"
	chmod 600 "$mnt/moved"
	{ cat "$tmp/data" && echo tail; } >"$tmp/longer"
	check "a file of several parts is read ($kind)" cmp "$tmp/longer" "$mnt/moved"
	expect_eq "1 2 3 dir2 moved" "$(cat "$mnt/dir2/1" "$mnt/dir2/2" "$mnt/dir2/3" | xargs) $(ls "$mnt" | xargs)" "files are listed and read ($kind)"
	rm -r "$mnt/dir2" "$mnt/moved"
	umount_ckptfs
	expect_eq 0 "$(awk '$6 == 400' "$tmp/requests" | wc -l)" "no request of the mount with a project lacked it ($kind)"
	sim_stop
done
