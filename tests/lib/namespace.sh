# SPDX-License-Identifier: Apache-2.0
# namespace.sh: the test that reads this, before all else, starts again in a mount namespace of its own, if one can be
# made: then $CKPTFS_IN_NAMESPACE is set.
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || ! unshare -m --propagation private true 2>/dev/null ||
	exec env CKPTFS_IN_NAMESPACE=yes unshare -m --propagation private sh "$srcdir/tests/lib/alone.sh" sh "$0"
