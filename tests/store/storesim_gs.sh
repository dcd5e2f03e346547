#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against storesim that speaks Google Cloud Storage.
. "${srcdir:?}/tests/lib/tap.sh"
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/store.sh"
need_store storesim
store_start storesim
"$builddir/tests/store/test_store"
