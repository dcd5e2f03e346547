#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# short_uploads.sh: unfinished uploads are listed page by page, in a directory bucket by its key marker alone.
. "$srcdir/tests/lib/mount.sh"
plan 4
for CKPTFS_TEST_BUCKET in test-bucket dir--az1--x-s3; do
	start_store
	for key in a a b/c d e; do printf x | objects begin $key; done
	set_faults short_uploads
	expect_eq "a a b/c d e" "$(store_uploads | sort | xargs)" "all uploads of $CKPTFS_TEST_BUCKET are listed"
	objects abort
	expect_eq "" "$(store_uploads)" "all uploads of $CKPTFS_TEST_BUCKET are aborted"
	set_faults
	store_stop
done
