#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# parts.sh: random changes of files of many small parts in little memory, on both kinds of store, are the same on a local
# directory. The mount checks that parts have consecutive numbers and make the file; the store refuses numbers with a gap.
#
# CKPTFS_SEEDS="1 2 3" and CKPTFS_STEPS=5000 choose others, for so long a run with mount_limit=3600 seconds a mount.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
seeds=${CKPTFS_SEEDS:-21 22}
plan $((2 * ($(echo $seeds | wc -w) + 3)))
mkdir "$tmp/spill"
for scheme in s3 gs; do
	use_mount $scheme
	CKPTFS_TEST_SCHEME=$scheme
	start_store
	mount_ckptfs part_size=5M memory=96M spill_dir="$tmp/spill"
	for seed in $seeds; do
		mkdir -p "$mnt/$seed" "$tmp/$scheme.local/$seed"
		if timeout -k 5 "${CKPTFS_MODEL_LIMIT:-600}" "$builddir/tests/posix/parts" "$mnt/$seed" "$tmp/$scheme.local/$seed" \
			"$seed" "${CKPTFS_STEPS:-250}" >"$tmp/said" 2>&1; then
			# promise: bytes.any
			ok "$scheme: seed $seed does the same as in a local directory"
		else
			not_ok "$scheme: seed $seed does the same as in a local directory"
			diag "$(tail -n 5 "$tmp/said")"
		fi
	done
	umount_ckptfs
	mount_ckptfs
	check "$scheme: another mount shows the same files" diff -r "$mnt" "$tmp/$scheme.local"
	umount_ckptfs
done
