#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against storesim with the ways of Ceph's gateway.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
need_store storesim
store_start storesim --radosgw
CKPTFS_TEST_KIND=radosgw "$builddir/tests/store/test_store"
