#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All of store.h against storesim that speaks Google Cloud Storage and takes HMAC keys alone: no
# request may be of the JSON API.
. "${srcdir:?}/tests/lib/tap.sh"
CKPTFS_TEST_SCHEME=gs CKPTFS_TEST_KEYS=yes
. "$srcdir/tests/lib/store.sh"
need_store storesim
store_start storesim
"$builddir/tests/store/test_store"
