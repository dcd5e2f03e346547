#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stat_beside_chmod.sh: what another host publishes is seen by who looks at a file while its mode is changed here, however
# long the store takes to say that it has been.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 11
start_store

# published WAY OPTION...
published() {
	way=$1
	shift
	mount_ckptfs stall_timeout=120s "$@"
	printf old | store_put file
	stat "$mnt/file" >/dev/null
	set_rules "$(held_once SetMeta file)"
	chmod 600 "$mnt/file" &
	changing=$!
	wait_held SetMeta
	printf 'by another' | store_put file
	sleep "${age-0}"
	stat -c %s "$mnt/file" >"$tmp/size" &
	looking=$!
	check "a look waits for a change of mode ($way)" wait_in_call $looking
	set_faults
	check "a change of mode ends ($way)" wait $changing
	wait $looking
	# promise: fresh.age
	expect_eq 10 "$(cat "$tmp/size")" "a look during a change of mode sees another host's file ($way)"
	umount_ckptfs
	: >"$mount_log"
}
published strict consistency=strict
age=1 published 'attr_ttl is over' attr_ttl=500ms

# Nothing is changed here: who is overtaken by another look has what that was told.
mount_ckptfs stall_timeout=120s attr_ttl=0
stat "$mnt/file" >/dev/null # else the kernel has the second wait for the first
set_rules "$(held_once HeadObject file)"
requests_mark
stat "$mnt/file" >/dev/null &
looking=$!
wait_held HeadObject
stat "$mnt/file" >/dev/null
set_faults
wait $looking
expect_requests "a look that another overtakes is not repeated" HeadObject=5

# No end of changes: a look waits for a few of them.
set_rules '{"op": "SetMeta", "do": "delay", "stall": "50ms"}'
changes_on() { until [ -e "$tmp/enough" ]; do chmod "$1" "$mnt/file"; done; }
pids=
for mode in 600 640 644 660; do changes_on $mode & pids="$pids $!"; done
check "a look ends though the mode is changed again and again" timeout 120 stat "$mnt/file"
: >"$tmp/enough"
wait $pids
set_faults
umount_ckptfs
