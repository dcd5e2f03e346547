#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clock.sh: a clock that goes wrong while the bucket is mounted is corrected by what the store says,
# whatever is asked first, also where a reply has no room for a reason.
[ "${CKPTFS_TEST_SCHEME:-s3}" = s3 ] || CKPTFS_TEST_KEYS=yes # tokens carry no time
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6
start_store
mount_ckptfs attr_ttl=0
printf old >"$mnt/file"

# clock_is AHEAD: the store's, from now on
clock_is() {
	kill "$store_pid"
	wait "$store_pid" 2>/dev/null
	store_port=${CKPTFS_TEST_ENDPOINT##*:}
	start_store --clock-skew "$1"
}
clock_is 2h
expect_eq 3 "$(stat -c %s "$mnt/file")" "a file is found though the clock is off"
expect_eq old "$(cat "$mnt/file")" "a file is read though the clock is off"
expect_eq 1 "$(grep -c 'this clock is -72[0-9]* s off' "$mount_log")" "the log says once that the clock is off"
clock_is 0s
printf new >"$mnt/file"
expect_eq new "$(cat "$mnt/file")" "a file is written when it is right again"
clock_is 30h
expect_eq file "$(ls "$mnt")" "a directory is listed"
umount_ckptfs
