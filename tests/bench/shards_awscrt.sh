#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards_awscrt.sh: shards through the vendor's C client: parts, ranges, faults, a signal.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
. "$srcdir/tests/lib/sdk.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
need_storage awscrt HAVE_AWSCRT
plan $((sdk_planned + 13))
cd "$tmp" || exit 1
store_start storesim --log "$tmp/requests"
sdk_cases
# Memory is handed over both ways, and a device copies to and from the client's own parts.
sdk_copied "0 0 0" "0 0 0" hold=on
sdk_copied "0 0 0" "0 0 0" hold=off device=host
sdk_copied "0 0 0" "0 0 0" hold=on s3.part_size=64M s3.connections=1
sdk_copied "0 1 0" "0 1 0" device=emulated
sdk_copied "0 1 0" "0 1 0" device=emulated s3.part_size=64M s3.read_size=8M s3.connections=2
sdk_copied "0 0 1" "0 0 1" device=emulated device.staging=pageable
check "uploads were multipart" grep -q CompleteMultipartUpload requests

AWS_SECRET_ACCESS_KEY=wrong bench shards storage=awscrt s3.endpoint="$CKPTFS_TEST_ENDPOINT" \
	s3.uri="s3://$CKPTFS_TEST_BUCKET/p" >secret.out 2>&1
check "a wrong key is said in one line" grep -q "$CKPTFS_TEST_BUCKET: Permission denied" secret.out
(
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	export AWS_EC2_METADATA_DISABLED=true
	bench shards storage=awscrt s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri="s3://$CKPTFS_TEST_BUCKET/p" >none.out 2>&1
)
check "no key is said with what helps" grep -q "$CKPTFS_TEST_BUCKET: Permission denied .*: give a key" none.out

sdk_denied '[{"op": "UploadPart", "do": "status", "status": 403, "code": "AccessDenied"}]'
sdk_stopped
