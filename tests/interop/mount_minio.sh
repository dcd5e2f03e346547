#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mount_minio.sh: a sharded set of files through a mount of minio.
server=minio
. "$srcdir/tests/lib/mount_interop.sh"
