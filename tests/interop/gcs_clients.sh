#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gcs_clients.sh: Google's client library and dataflux beside a mount, on storesim.
CKPTFS_TEST_SCHEME=gs
server=storesim clients="google-cloud-storage dataflux" script=tests/interop/gcs_clients.py
. "$srcdir/tests/lib/clients.sh"
