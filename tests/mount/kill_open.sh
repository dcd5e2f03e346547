#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill_open.sh: a writer that is killed within the open of a new file publishes nothing, at whatever moment.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6
start_store
mount_ckptfs consistency=strict
mkdir "$mnt/new"

check "1200 writers are killed" sh -c '"$1" "$2" 1200 >"$3"' sh "$tools/tests/mount/kill_open" "$mnt/new" "$tmp/within"
check "some of them are killed within their open" [ "$(cat "$tmp/within")" -gt 100 ]
fdo open wct "$mnt/closed" close open wct "$mnt/exits" exit 0 >/dev/null
expect_log "not published, the version before it stands: Operation canceled"
umount_ckptfs
# promise: kill.nothing
expect_eq "" "$(store_ls new/ | grep '[0-9]')" "nothing of a writer that was killed within its open is at the store"
expect_eq 0 "$(objects size closed)" "an empty file that was closed is published"
expect_eq 0 "$(objects size exits)" "an empty file of a process that exits without close is published"
