#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# many_open.sh: many processes have many files open at once, in little memory, and nothing stays of it.
# CKPTFS_PROCESSES=1024 CKPTFS_EACH=100 are a node full of loaders.
. "$srcdir/tests/lib/mount.sh"
need_fuse
processes=${CKPTFS_PROCESSES:-64} each=${CKPTFS_EACH:-40}
files=$((processes * each))
plan 7
start_store --null --fill "many/f=$files,1M"
mount_ckptfs memory=64M attr_ttl=60s
resident() { awk '/VmRSS/ { print $2 }' "/proc/$mount_pid/status"; }
no_handles() { [ "$(figure handles)" = 0 ]; }
before=$(resident)
mkfifo "$tmp/end"
"$tools/tests/mount/many_open" "$mnt/many" "$processes" "$each" <"$tmp/end" >"$tmp/said" 2>"$tmp/errors" &
opener=$!
exec 3>"$tmp/end"
wait_for 200 grep -q open "$tmp/said"
expect_eq "$processes processes have their files open, 0 do not $(cat "$tmp/errors")" "$(cat "$tmp/said") " \
	"$processes processes open $each files each, and write one"
expect_eq "$((files + processes)) $processes" "$(figure handles) $(figure dirty_files)" "all of them are open at once"
diag "$before KiB before, $(resident) KiB while $files files are open"
small="an open file takes less than 16 KiB of memory beside memory= and 16 MiB of requests"
if sanitized; then skip "$small" "a sanitizer needs memory of its own"; else
	check "$small" test "$(resident)" -lt $((before + 80 * 1024 + files * 16))
fi
check "a file is opened while so many are open" fdo open r "$mnt/many/f00000000" close
exec 3>&-
wait "$opener"
expect_eq 0 $? "each of them is closed"
check "the mount has no open file left" wait_for 60 no_handles
umount_ckptfs
