#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# anyop.sh: random operations on a file, compared with an array after each; also when memory is
# short.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 10
start_store
try() {
	said=$(timeout 200 "$tools/tests/mount/anyop" "$mnt/f$1" "$1" "$2" "$3")
	case $said in
	"ok "*) ok "$2 operations on $3 bytes give what a local file gives" ;;
	*) not_ok "$2 operations on $3 bytes give what a local file gives"; diag "$said" ;;
	esac
	expect_eq "${said#ok }" "$(objects size "f$1")" "the store has the size after $2 operations on $3 bytes"
}
mount_ckptfs part_size=5M attr_ttl=0
try 1 150 24000000
try 2 300 3000000
umount_ckptfs
mount_ckptfs part_size=5M memory=64M
try 3 80 24000000
try 4 40 90000000
umount_ckptfs
