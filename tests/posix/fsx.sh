#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fsx.sh: random reads, writes, mappings and cuts of one file, many seeds; a large file at last.
. "${srcdir:?}/tests/posix/posix.sh"
need_fuse
need_tool fsx
plan 8
start_store
mount_ckptfs part_size=5M

# seeds FIRST LAST OPERATIONS: those that fail
seeds() {
	for seed in $(seq "$1" "$2"); do
		timeout -k 5 600 "$tool" -f "$config" -S "$seed" -N "$3" -P "$tmp" "$mnt/fsx.$seed" \
			>"$tmp/fsx.out" 2>&1 && rm "$mnt/fsx.$seed" && continue
		echo "seed $seed: $(tail -n 4 "$tmp/fsx.out")"
	done
}
config=$srcdir/tests/posix/fsx.toml
check "fsx --version is the one that is pinned" grep -q "^fsx $("$tool" --version | sed 's/.* //')$" \
	"$srcdir/tests/posix/setup.sh"
expect_eq "" "$(seeds 1 "${CKPTFS_FSX_SEEDS:-20}" 300)" "each seed passes"
sed 's/^flen.*/flen = 16000000/; s/^max.*/max = 3000000/' "$config" >"$tmp/large.toml"
config=$tmp/large.toml
# promise: bytes.any
expect_eq "" "$(seeds 100 102 100)" "each seed passes with a file of several parts, too"
umount_ckptfs
mount_ckptfs part_size=5M read_cache=never
expect_eq "" "$(seeds 200 204 100)" "each seed passes past the page cache"
umount_ckptfs
mount_ckptfs part_size=5M read_cache=always
expect_eq "" "$(seeds 205 209 100)" "each seed passes through the page cache"
umount_ckptfs
