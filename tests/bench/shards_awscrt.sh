#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards_awscrt.sh: shards through the vendor's C client: parts, ranges, faults, a signal.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
. "$srcdir/tests/lib/sdk.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
need_storage awscrt HAVE_AWSCRT
plan $((sdk_planned + 6))
cd "$tmp" || exit 1
store_start storesim --log "$tmp/requests"
sdk_cases
check "uploads were multipart" grep -q CompleteMultipartUpload requests

AWS_SECRET_ACCESS_KEY=wrong bench shards storage=awscrt s3.endpoint="$CKPTFS_TEST_ENDPOINT" \
	s3.uri="s3://$CKPTFS_TEST_BUCKET/p" >secret.out 2>&1
check "a wrong key is said in one line" grep -q "$CKPTFS_TEST_BUCKET: Permission denied" secret.out

sdk_denied '[{"op": "UploadPart", "do": "status", "status": 403, "code": "AccessDenied"}]'
sdk_stopped
