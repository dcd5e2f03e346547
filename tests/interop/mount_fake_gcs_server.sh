#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mount_fake_gcs_server.sh: a sharded set of files through a mount of fake-gcs-server.
server=fake-gcs-server uploads=resumable
. "$srcdir/tests/lib/mount_interop.sh"
