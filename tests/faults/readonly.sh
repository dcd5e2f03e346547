#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readonly.sh: a store that takes no change says EACCES to the program, and what was there stands.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 8
start_store
mount_ckptfs part_size=5M attr_ttl=0

# The last call fails so; a call before it may, too.
denied() {
	name=$1; shift
	said=$(fdo "$@")
	case $said in
	*EACCES) ok "a store that refuses writes is told to the caller: $name" ;;
	*) not_ok "a store that refuses writes is told to the caller: $name"; diag "$said" ;;
	esac
}

printf old | store_put standing
set_faults readonly
for size in 100 12000000; do
	denied "$size bytes to a store that is read-only: EACCES, at close the latest" \
		open wct "$mnt/new$size" write $size close
	expect_eq "" "$(store_ls new$size)" "nothing is left of a write that the store refused"
done
expect_eq "EACCES old" "$(fdo unlink "$mnt/standing") $(cat "$mnt/standing")" "no file is deleted where the store refuses it"
denied "an open to replace a file is EACCES" open wt "$mnt/standing" write 5 close
expect_eq "old old" "$(store_cat standing) $(cat "$mnt/standing")" "the old version stands where the store refuses writes"
expect_log '(put|upload-create|delete) .*AccessDenied'
expect_log '(new100|new12000000|standing): not published'
umount_ckptfs
