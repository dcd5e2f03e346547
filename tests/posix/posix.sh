# SPDX-License-Identifier: Apache-2.0
# posix.sh: a test that runs a public suite on the mount; source it instead of mount.sh.
#
#   need_tool NAME     its path in $tool; skips the whole test (or fails it) without it
#
# Suites are on PATH (Debian's fio, stress-ng) or in $CKPTFS_PEERS/bin, where setup.sh puts them.
# CKPTFS_REQUIRE=posix turns the skip into a failure.
. "$srcdir/tests/lib/mount.sh"

need_tool() {
	tool=$(command -v "$1") || tool=$CKPTFS_PEERS/bin/$1
	[ -x "$tool" ] || lacks posix "$1 is neither on PATH nor in $CKPTFS_PEERS/bin: tests/posix/setup.sh"
}
