#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# model.sh: random operations on the mount and on a local directory at the same time agree at each step,
# and again after the bucket was mounted anew. So they do when nobody reads what is written for a while. What differed
# once is kept in *.script and done again.
#
# CKPTFS_SEEDS="1 2 3" and CKPTFS_STEPS=5000 choose others; `tests/posix/model replay MOUNT DIR SCRIPT`
# does one script by hand.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
seeds=${CKPTFS_SEEDS:-11 12 13}
scripts=$(ls "$srcdir"/tests/posix/*.script 2>/dev/null)
plan $(($(echo $seeds $scripts | wc -w) + 7))
start_store
mount_ckptfs part_size=5M
mkdir "$tmp/local"

model() { timeout -k 5 "${CKPTFS_MODEL_LIMIT:-120}" "$builddir/tests/posix/model" "$@"; }

# agree NAME MODE ARGUMENT...: in directories of their own
agree() {
	name=$1 mode=$2 turn=$((${turn:-0} + 1))
	shift 2
	mkdir "$mnt/$turn" "$tmp/local/$turn"
	if model "$mode" "$mnt/$turn" "$tmp/local/$turn" "$@" >"$tmp/model" 2>&1; then ok "$name"; else
		not_ok "$name"
		diag "$(tail -n 5 "$tmp/model")"
		[ $mode = replay ] || diag "$(grep -v '^#' "$tmp/script" | tail -n 60)"
	fi
}
for seed in $seeds; do
	# promise: bytes.any
	agree "seed $seed does the same as in a local directory" run "$seed" "${CKPTFS_STEPS:-300}" "$tmp/script"
done
agree "a seed does the same where its files are compared now and then" run 18 "${CKPTFS_STEPS:-300}" "$tmp/script" 20
umount_ckptfs
# What is written and read by one handle bypasses the page cache by default.
mount_ckptfs part_size=5M read_cache=always
agree "a seed does the same through the page cache as in a local directory" run 14 "${CKPTFS_STEPS:-300}" "$tmp/script"
umount_ckptfs
mount_ckptfs part_size=5M
for script in $scripts; do
	agree "${script##*/} does the same as in a local directory" replay "$script"
done
umount_ckptfs

mount_ckptfs part_size=5M
for n in $(seq "$turn"); do
	model compare "$mnt/$n" "$tmp/local/$n" || echo "in $n"
done >"$tmp/compared" 2>&1
expect_eq "" "$(cat "$tmp/compared")" "another mount shows the same trees"
umount_ckptfs
