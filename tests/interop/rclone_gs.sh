#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rclone_gs.sh: rclone.sh on Google Cloud Storage.
CKPTFS_TEST_SCHEME=gs
. "${srcdir:?}/tests/interop/rclone.sh"
