#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mount_localstack.sh: a sharded set of files through a mount of LocalStack's S3.
server=localstack-s3
. "$srcdir/tests/lib/mount_interop.sh"
