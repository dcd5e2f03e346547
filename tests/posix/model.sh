#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# model.sh: random operations on the mount and on a local directory at the same time agree at each step,
# and again after the bucket was mounted anew. So they do when other processes open, read, sync and list the same
# files in this mount and in another one, and when nobody reads what is written for a while. What differed once is
# kept in *.script and done again.
#
# CKPTFS_SEEDS="1 2 3", CKPTFS_NOISY="4 5" (beside other processes) and CKPTFS_STEPS=5000 choose others;
# `tests/posix/model replay MOUNT DIR SCRIPT` does one script by hand.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
seeds=${CKPTFS_SEEDS:-11 12 13}
scripts=$(ls "$srcdir"/tests/posix/*.script 2>/dev/null)
noisy=${CKPTFS_NOISY:-61 63 67}
plan $(($(echo $seeds $noisy $scripts | wc -w) + 9))
start_store
mount_ckptfs part_size=5M
mkdir "$tmp/local"

model() { timeout -k 5 "${CKPTFS_MODEL_LIMIT:-600}" "$builddir/tests/posix/model" "$@"; }

# agree NAME MODE ARGUMENT...: in directories of their own
agree() {
	name=$1 mode=$2 turn=$((${turn:-0} + 1))
	shift 2
	mkdir "$mnt/$turn" "$tmp/local/$turn"
	[ -z "$noise_in" ] || spawn "$builddir/tests/posix/noise" 6 "$mnt/$turn" "$noise_in/$turn" >>"$tmp/noise" 2>&1
	if model "$mode" "$mnt/$turn" "$tmp/local/$turn" "$@" >"$tmp/model" 2>&1; then ok "$name"; else
		not_ok "$name"
		diag "$(tail -n 5 "$tmp/model")"
		[ $mode = replay ] || diag "$(grep -v '^#' "$tmp/script" | tail -n 60)"
	fi
	[ -z "$noise_in" ] || { kill "$spawned" && wait "$spawned"; }
}
noise_in=''
for seed in $seeds; do
	# promise: bytes.any
	agree "seed $seed does the same as in a local directory" run "$seed" "${CKPTFS_STEPS:-300}" "$tmp/script"
done
agree "a seed does the same where its files are compared now and then" run 18 "${CKPTFS_STEPS:-300}" "$tmp/script" 20
use_mount other
mount_ckptfs consistency=strict
noise_in=$mnt
use_mount first
# A change that the store has made is seen for a while before its reply.
cat >"$tmp/rules.json" <<-END
[{"op": "SetMeta", "do": "delay", "stall": "50ms"}, {"probability": 0.01, "do": "delay", "stall": "10ms"}]
END
set_faults "$tmp/rules.json"
for seed in $noisy; do
	agree "seed $seed does the same while others read and sync its files" \
		run "$seed" "${CKPTFS_STEPS:-300}" "$tmp/script" $((1 + seed % 2 * 6))
done
noise_in=''
set_faults
expect_eq "" "$(sort "$tmp/noise" | uniq -c)" "none of the others meets an error"
use_mount other
umount_ckptfs
use_mount first
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
