#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against storesim, over HTTP and TLS.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
need_store storesim
store_start storesim
store_tls_twin
"$builddir/tests/store/test_store"
