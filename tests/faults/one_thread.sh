#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# one_thread.sh: of the threads that take requests only one can be begun. It reads no name out of a program, which may lie
# in a page of the mount that nobody else would bring.
. "$srcdir/tests/lib/mount.sh"
need_fuse
! sanitized || skip_all "a sanitizer wants to be the first library that is loaded"
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 2
start_store
export LD_PRELOAD="$builddir/tests/lib/one_taker.so"
mount_ckptfs threads=2
unset LD_PRELOAD
expect_log '1 of 2 threads'
made() { timeout -k 5 120 python3 "$srcdir/tests/mount/names_in_pages.py" "$mnt" 2>&1; }
expect_eq "300 300" "$(made)" "files are made by the only thread whose names are read from the mount itself"
umount_ckptfs
