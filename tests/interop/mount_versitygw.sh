#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mount_versitygw.sh: a sharded set of files through a mount of versitygw.
server=versitygw
. "$srcdir/tests/lib/mount_interop.sh"
