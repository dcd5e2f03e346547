#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same on Google Cloud Storage: tokens of the metadata server, and those of a service account's key.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/creds/expires_in_upload.sh"
