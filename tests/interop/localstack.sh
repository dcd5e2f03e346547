#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against LocalStack's S3, which takes its time for each request.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
need_store localstack-s3
store_start localstack-s3
CK_TIMEOUT_MULTIPLIER=10 "$builddir/tests/store/test_store"
