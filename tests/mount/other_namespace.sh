#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# other_namespace.sh: a mount ends with its umount, although a test that began since then runs in a mount namespace of
# its own.
. "$srcdir/tests/lib/mount.sh"
need_fuse
unshare -m --propagation private true 2>/dev/null || skip_all "no mount namespace can be made"
plan 2
start_store
mount_limit=60 # and no longer for a daemon that does not end
mount_ckptfs

cat >"$tmp/other.sh" <<'END'
. "${srcdir:?}/tests/lib/namespace.sh"
echo "${CKPTFS_IN_NAMESPACE-}" >"$OTHER.begins"
mv "$OTHER.begins" "$OTHER.runs"
while [ ! -e "$OTHER.ends" ]; do sleep 0.1; done
END
spawn env -u CKPTFS_IN_NAMESPACE srcdir="$srcdir" OTHER="$tmp/other" sh "$tmp/other.sh"
wait_for 30 test -e "$tmp/other.runs"
expect_eq yes "$(cat "$tmp/other.runs")" "another test runs in a mount namespace of its own"
umount_ckptfs "a mount ends although another test has begun in a mount namespace of its own"
: >"$tmp/other.ends"
