#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against fake-gcs-server, which has the JSON API without moveTo.
. "${srcdir:?}/tests/lib/tap.sh"
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/store.sh"
need_store fake-gcs-server
store_start fake-gcs-server
"$builddir/tests/store/test_store"
