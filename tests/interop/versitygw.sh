#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against versitygw, over HTTP and TLS.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
need_store versitygw
store_start versitygw
store_tls_twin
"$builddir/tests/store/test_store"
