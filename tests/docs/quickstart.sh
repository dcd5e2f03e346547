#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quickstart refuses bad arguments in one line, and its demo leaves nothing behind, also on Ctrl-C.
. "${srcdir:?}/tests/lib/tap.sh"
plan 10

refused() {
	"$srcdir/quickstart" "$@" >"$tmp/out" 2>"$tmp/err" && return 1
	[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ]
}
check "a word that is no command is refused in one line" refused chek
check "a size without digits is refused in one line" refused GiB
check "a size without its unit is refused in one line" refused 256
check "a size of nothing is refused in one line" refused 0GiB
check "two arguments are refused in one line" refused check bench

why=''
[ -e /dev/fuse ] || why="/dev/fuse is missing"
for p in ckptfs storesim ckptbench; do
	[ -x "$builddir/$p" ] || why="$p is not built"
done
command -v mpirun >/dev/null || why="mpirun is not installed"
[ "$SANITIZERS" = no ] || why="sanitizers are on"

# Processes, mounts and files of a demo in $tmp: none may be there.
nothing_left() {
	! grep -q " $tmp/" /proc/self/mounts || return 1
	[ -z "$(find "$tmp" -maxdepth 1 -name 'ckptfs-demo.*')" ] || return 1
	for p in /proc/[0-9]*; do
		if tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -q "$tmp/ckptfs-demo"; then
			tr '\0' ' ' <"$p/cmdline"
			return 1
		fi
	done
}
demo() { TMPDIR=$tmp CKPTFS_OUT=$tmp/results CKPTFS_BUILD=$builddir "$srcdir/quickstart" 64MiB >"$tmp/said"; }
# The storages of each part of the table, in their order.
parts() {
	sed -n 's/^A store like a cloud.*/cloud/p; s/^This machine.*/machine/p
		s/^\(mount\|s3\|disk\)  *[0-9.]* .*/\1/p' "$tmp/said" | tr '\n' ' '
}

# A shell in the background ignores SIGINT unless told otherwise.
interrupted() {
	TMPDIR=$tmp CKPTFS_OUT=$tmp/results CKPTFS_BUILD=$builddir env --default-signal=INT \
		"$srcdir/quickstart" 1GiB >"$tmp/int.out" 2>&1 &
	pid=$!
	wait_for 30 grep -q " $tmp/ckptfs-demo" /proc/self/mounts
	sleep 0.3
	kill -INT "$pid"
	wait "$pid"
	[ $? -eq 130 ]
}

if [ -n "$why" ]; then
	skip "the demo runs" "$why"
	skip "the demo shows a store like a cloud's and this machine's limit" "$why"
	skip "no line of the demo's table has more than 80 columns" "$why"
	skip "the demo leaves nothing behind" "$why"
	skip "the demo leaves nothing behind on Ctrl-C" "$why"
else
	check "the demo runs" demo
	expect_eq "cloud mount s3 machine mount s3 disk " "$(parts)" "the demo shows a store like a cloud's and this machine's limit"
	expect_eq "" "$(sed '/^report of/d' "$tmp/said" | grep -E '.{81}')" "no line of the demo's table has more than 80 columns"
	check "the demo leaves nothing behind" nothing_left
	interrupted && nothing_left >"$tmp/left"
	expect_eq 0 $? "the demo leaves nothing behind on Ctrl-C"
fi
