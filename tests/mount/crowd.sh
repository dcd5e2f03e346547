#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crowd.sh: random families of processes share an open file, fork, execute, duplicate, end and are killed: what
# was written is published whole when its writers ended well, and not at all when the opener was killed.
# CKPTFS_SEEDS are other seeds.
. "$srcdir/tests/lib/mount.sh"
need_fuse
seeds=${CKPTFS_SEEDS:-$(seq 1 12)}
plan 5
start_store
mount_ckptfs attr_ttl=0

is_size() { [ "$(objects size "$1" 2>/dev/null)" = "$2" ]; }
gone() { [ ! -e "$mnt/$1" ]; }

# crowds KIND: what went wrong in the families of all seeds
crowds() {
	for seed in $seeds; do
		timeout -k 5 60 "$tools/tests/mount/crowd" "$mnt/$1$seed" "$seed" "$1" \
			>"$tmp/$1$seed" 2>&1 && [ -s "$tmp/$1$seed" ] || echo "seed $seed: $?"
	done
}
published() {
	for seed in $seeds; do
		wait_for 10 is_size "clean$seed" "$(cat "$tmp/clean$seed")" || {
			echo "seed $seed: $(objects size "clean$seed") bytes for $(cat "$tmp/clean$seed")"
			return 1
		}
	done
}
unpublished() {
	for seed in $seeds; do wait_for 10 gone "killed$seed" || { echo "seed $seed"; return 1; }; done
	[ -z "$(store_ls killed)" ]
}
expect_eq "" "$(crowds clean)" "families of which no writer is killed end, and each call succeeds"
check "all that families without a killed writer wrote is published" published
# promise: kill.writers
expect_eq "" "$(crowds killed)" "families whose opener is killed end, too"
# promise: kill.nothing
check "nothing of killed families is published" unpublished
expect_log 'killed[0-9]*: not published, the version before it stands: Operation canceled'
umount_ckptfs
