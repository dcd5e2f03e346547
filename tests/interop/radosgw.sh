#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against the gateway of Ceph.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
need_store radosgw
store_start radosgw
"$builddir/tests/store/test_store"
