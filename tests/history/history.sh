#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# history.sh: processes of three hosts (three mounts of one bucket) make random calls. Each call's begin, end and
# result are recorded, and a checker proves the history: an order of all calls, each within its time, explains
# everything that was read. Writers and daemons are killed, and the store has faults.
#
# With s3_ttl and gs_ttl, and with attributes that change (CKPTFS_ATTRIBUTES=yes), defects are known that show now and
# then (docs/testing.md): they run by hand.
#
# CKPTFS_SEEDS="1 2 3", CKPTFS_CALLS=10000 and CKPTFS_WAYS="s3_strict gs_ttl" choose others; CKPTFS_KEEP=DIR keeps the
# histories that are broken.
. "${srcdir:?}/tests/history/lib.sh"
need_fuse
ways=${CKPTFS_WAYS:-s3_strict gs_strict}
seeds=${CKPTFS_SEEDS:-1}
calls=${CKPTFS_CALLS:-1500}
plan $(($(echo $ways | wc -w) * $(echo $seeds | wc -w) * 2))

for way in $ways; do
	use_mount "$way"
	history_store "${way%_*}" --ttfb 1ms
	for seed in $seeds; do
		set_faults
		# promise: fresh.age
		history_one "$way: seed $seed keeps the promises" "$way" "$seed" "$calls"
		history_faults
		# promise: rename.whole
		history_one "$way: seed $seed keeps the promises although the store has faults" "$way" "1$seed" "$calls" -f
	done
done
