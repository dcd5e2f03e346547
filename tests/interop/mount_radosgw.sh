#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mount_radosgw.sh: a sharded set of files through a mount of Ceph's gateway.
server=radosgw
. "$srcdir/tests/lib/mount_interop.sh"
