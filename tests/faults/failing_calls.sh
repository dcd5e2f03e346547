#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# failing_calls.sh: one call of the mount fails, once: of what allocates, opens, reads, writes or begins
# a thread. There is a mount for each of some places that make such calls; CKPTFS_PLACES=0: for all.
. "$srcdir/tests/lib/mount.sh"
need_fuse
! sanitized || skip_all "sanitizers have an allocator of their own"
plan 1
start_store
mkdir "$tmp/runs"
places() {
	# shellcheck disable=SC2086 # a number, and ids of places
	timeout 1100 python3 "$srcdir/tests/faults/failing_calls.py" "$builddir" "$tmp/runs" ${CKPTFS_PLACES:-15}
}
# promise: errno.ENOMEM
check "a call that fails once costs no byte that was promised, hangs nothing and is told" places
sed 's/^/# /' "$tmp/check.out"
