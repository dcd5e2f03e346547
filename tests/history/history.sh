#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# history.sh: processes of three hosts (three mounts of one bucket) make random calls. Each call's begin, end and
# result are recorded, and a checker proves the history: an order of all calls, each within its time, explains
# everything that was read. Writers and daemons are killed, and the store has faults.
#
# CKPTFS_SEEDS="1 2 3", CKPTFS_CALLS=10000 and CKPTFS_WAYS="s3_ttl gs_strict_attr" choose others; CKPTFS_TTFB=200us makes
# the store faster; CKPTFS_KEEP=DIR keeps the histories that are broken.
. "${srcdir:?}/tests/history/lib.sh"
need_fuse
ways=${CKPTFS_WAYS:-s3_strict gs_strict s3_ttl_attr gs_ttl_attr}
seeds=${CKPTFS_SEEDS:-1}
calls=${CKPTFS_CALLS:-1500}
plan $(($(echo $ways | wc -w) * $(echo $seeds | wc -w) * 2))

for way in $ways; do
	use_mount "$way"
	history_store "${way%%_*}" --ttfb "${CKPTFS_TTFB:-1ms}"
	for seed in $seeds; do
		set_faults
		# promise: fresh.age
		history_one "$way: seed $seed keeps the promises" "$way" "$seed" "$calls"
		history_faults
		# promise: rename.whole
		history_one "$way: seed $seed keeps the promises although the store has faults" "$way" "1$seed" "$calls" -f
	done
done
