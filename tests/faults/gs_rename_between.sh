#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_rename_between.sh: rename_between.sh with HMAC keys, where the store renames no object either.
CKPTFS_TEST_SCHEME=gs CKPTFS_TEST_KEYS=yes
. "$srcdir/tests/faults/rename_between.sh"
