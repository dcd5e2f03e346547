#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against MinIO.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
need_store minio
store_start minio
"$builddir/tests/store/test_store"
